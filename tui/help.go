package tui

// helpView is the help: every screen's keys from the key table, and the rules of an answer.
type helpView struct{ top int }

func (v helpView) body(p painter, w int) []line {
	var out []line
	for _, part := range []struct {
		title words
		keys  []binding
	}{
		{"On a question", questionKeys()},
		{"On the tasks", taskKeys(true, true)},
		{"On the list of questions", listKeys()},
	} {
		out = append(out, line{ours(part.title, strong)})
		for _, l := range foot(p, w-2, "", part.keys) {
			out = append(out, append(say("  "), l...))
		}
		out = append(out, line{})
	}
	for _, text := range helpText() {
		out = append(out, flow(say(text), w, nil, nil)...)
		out = append(out, line{})
	}
	return out
}

func (v helpView) view(p painter, w, h int) []line {
	bottom := foot(p, w, "", helpKeys())
	body := v.body(p, w)
	return scrolled(p, w, h, wTitleHelp, body, bottom, min(v.top, max(len(body)-roomFor(h, bottom), 0)))
}
