package tui

// idleKeys are the keys of the line-by-line way while no question is read.
func (m *plainModel) idleKeys(waiting bool) []binding {
	var keys []binding
	if waiting {
		keys = append(keys, binding{[]string{"l"}, actList, "l", kWaitingQuestions})
	}
	if m.cfg.Accounts != nil {
		keys = append(keys, binding{[]string{"c"}, actCompanies, "c", kCompanies})
	}
	return append(keys, endKeys(!m.cfg.UntilDone)...)
}

// idle says what there is to see and to press, when that is not what was said last.
func (m *plainModel) idle() {
	if !m.seen {
		return
	}
	if len(m.inbox.tasks) == 0 && !m.cfg.UntilDone && !m.told["nothing"] {
		m.told["nothing"] = true
		m.say(wNothing)
	}
	waiting := len(m.inbox.waiting()) > 0
	if !m.told["keys"] || waiting != m.saidWaiting {
		m.told["keys"], m.saidWaiting = true, waiting
		m.out = append(m.out, foot(m.painter, m.width(), "", m.idleKeys(waiting))...)
	}
}

// help is the help of the line-by-line way, whose keys are its own.
func (m *plainModel) help() []line {
	var out []line
	for _, part := range []struct {
		title words
		keys  []binding
	}{{wOnQuestion, plainKeys()}, {wBetweenQuestions, m.idleKeys(true)}} {
		out = append(out, line{ours(part.title, strong)})
		for _, l := range foot(m.painter, m.width()-2, "", part.keys) {
			out = append(out, append(say("  "), l...))
		}
	}
	for _, text := range helpText() {
		out = append(out, flow(say(text), m.width(), nil, nil)...)
	}
	if m.cfg.Accounts != nil {
		out = append(out, flow(say(wPlainCompanies), m.width(), nil, nil)...)
		out = append(out, flow(say(wPlainSignIn), m.width(), nil, nil)...)
	}
	return out
}
