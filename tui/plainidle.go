package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

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

// idleKey is a key while no question is open.
func (m *plainModel) idleKey(does action, k tea.KeyMsg, now time.Time) tea.Cmd {
	if q, ok := m.chosen(k); ok {
		m.choices = nil
		m.ask(q, now)
		return nil
	}
	m.choices = nil
	switch does {
	case actList:
		switch waiting := m.inbox.grouped(); len(waiting) {
		case 0:
		case 1:
			m.ask(waiting[0], now)
		default:
			m.offerChoices(waiting, now)
		}
	case actHelp:
		m.out = append(m.out, m.help()...)
	case actCompanies:
		return readKnown(m.d, m.cfg.Accounts)
	case actLeave:
		m.leaving = true
	}
	return nil
}

// maxChoices is how many questions a digit can choose from.
const maxChoices = 9

// offerChoices prints the waiting questions with a number each.
func (m *plainModel) offerChoices(waiting []question, now time.Time) {
	m.say(titleWords(len(waiting)))
	m.choices = nil
	for i, q := range waiting[:min(len(waiting), maxChoices)] {
		m.choices = append(m.choices, q.id)
		lead := say(count(i+1) + ". ")
		l := append(append(q.company.introduce(), ours(": ", plain)), q.does()...)
		m.out = append(m.out, flow(append(l, ours(", "+timeLeft(q.deadline.Sub(now)), plain)), m.width(), lead, say("   "))...)
	}
	m.say(chooseWords(len(m.choices)))
}

// chosen is the question whose number was pressed.
func (m *plainModel) chosen(k tea.KeyMsg) (question, bool) {
	if k.Type != tea.KeyRunes || k.Alt || k.Paste || len(k.Runes) != 1 {
		return question{}, false
	}
	at := int(k.Runes[0] - '1')
	if at < 0 || at >= len(m.choices) {
		return question{}, false
	}
	return m.inbox.question(m.choices[at])
}

// companies prints the Companies that the home knows. Signing in has commands of its own, which go line by line: a
// screen reader follows them as they are.
func (m *plainModel) companies(msg knownMsg) {
	c := companies{loaded: true, chosen: -1}
	c.take(m.inbox.charset, msg)
	body, _, _ := c.listLines(m.painter, m.width(), m.cfg.Now())
	m.out = append(append(m.out, line{ours(wTitleCompanies, strong)}), body...)
	m.say(wPlainSignIn)
}
