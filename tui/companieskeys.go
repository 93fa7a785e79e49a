package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"
)

// arrowKeys scroll where the space bar does something else.
func arrowKeys() []binding { return scrollKeys()[:4] }

// companiesKeys are the keys of the list of Companies. several says that there is a choice, address says that the chosen one can be signed in to, signed that
// it can be signed out of.
func companiesKeys(several, address, signed bool) []binding {
	var keys []binding
	if several {
		keys = chooseKeys()
	}
	switch {
	case address && signed:
		keys = append(keys, binding{[]string{"s"}, actSignIn, "s", kSignInAgain})
	case address:
		keys = append(keys, binding{[]string{"s"}, actSignIn, "s", kSignIn})
	}
	if signed {
		keys = append(keys, binding{[]string{"o"}, actSignOut, "o", kSignOut})
	}
	return append(keys,
		binding{[]string{"n"}, actNew, "n", kSignInAtAnother},
		binding{[]string{"?"}, actHelp, "?", kHelp},
		binding{[]string{"q", "esc"}, actLeave, "q", kBack},
	)
}

func confirmKeys() []binding {
	return []binding{{[]string{"y"}, actSure, "y", kSignOut}, {[]string{"q", "esc"}, actLeave, "q", kBack}}
}

// fieldKeys are the keys while text is typed: none is a letter.
func fieldKeys(scrolls bool, leave words) []binding {
	keys := []binding{
		{[]string{"enter"}, actOpen, "Enter", kGoOn},
		{[]string{"backspace", "ctrl+h"}, actBackspace, "Backspace", kDelete},
		{[]string{"ctrl+u"}, actClear, "Ctrl+U", kClear},
	}
	if scrolls {
		keys = append(keys, arrowKeys()...)
	}
	return append(keys, binding{[]string{"esc"}, actLeave, "Esc", leave})
}

func chooseKeys() []binding {
	return []binding{{[]string{"up"}, actUp, "↑", kChoose}, {[]string{"down"}, actDown, "↓", kChoose}}
}

// typeKeys are the keys of the choice of a type. some says that one is offered.
func typeKeys(some bool) []binding {
	var keys []binding
	if some {
		keys = append(chooseKeys(), binding{[]string{"enter", " "}, actOpen, "Enter", kGoOn})
	}
	return append(keys, binding{[]string{"q", "esc"}, actLeave, "q", kBack})
}

func scopeKeys() []binding {
	return append(chooseKeys(),
		binding{[]string{" "}, actMark, "space", kMark},
		binding{[]string{"enter"}, actOpen, "Enter", kSignIn},
		binding{[]string{"q", "esc"}, actLeave, "q", kBack},
	)
}

func endedKeys(failed bool) []binding {
	var keys []binding
	if failed {
		keys = append(keys, binding{[]string{"s"}, actSignIn, "s", kTryAgain})
	}
	return append(append(keys, arrowKeys()...), binding{[]string{"q", "esc", "enter"}, actLeave, "q", kBack})
}

// companiesKey does what a key press means on the screen of Companies. None of it can become an answer.
func (m *model) companiesKey(k tea.KeyMsg, does action) tea.Cmd {
	c := &m.companies
	m.note, c.said = "", nil
	if c.typing() && does == actNone {
		c.field.take(k)
	}
	switch c.stage {
	case stageList:
		return m.listedKey(does)
	case stageConfirm:
		c.stage = stageList
		if at, ok := c.at(); ok && does == actSure {
			return m.signOut(at)
		}
	case stageAddress:
		return m.addressKey(does)
	case stageBusy:
		if does == actLeave {
			return m.toCompanies(nil)
		}
	case stageType:
		c.picked = moved(c.picked, does, len(c.offers))
		switch does {
		case actOpen:
			return m.pick()
		case actLeave:
			return m.toCompanies(nil)
		}
	case stageScope:
		return m.scopeKey(does)
	case stageSigning:
		return m.signingKey(does)
	case stageEnded:
		switch does {
		case actSignIn:
			return m.signIn()
		case actLeave:
			return m.toCompanies(nil)
		}
		m.scrollCompanies(does)
	}
	return nil
}

// moved is a choice among n after a key.
func moved(at int, does action, n int) int {
	by := map[action]int{actUp: -1, actDown: 1, actPageUp: -chooseStep, actPageDown: chooseStep}[does]
	return max(min(at+by, n-1), 0)
}

func (m *model) listedKey(does action) tea.Cmd {
	c := &m.companies
	c.chosen = moved(c.chosen, does, len(c.entries()))
	at, some := c.at()
	switch does {
	case actSignIn:
		if some {
			c.choice = Choice{Address: at.known.address, Account: at.account.raw}
			c.who = at.known.company
			return m.readOffers()
		}
	case actSignOut:
		if some && at.signed {
			c.stage, c.failed = stageConfirm, nil
		}
	case actNew:
		c.stage, c.failed, c.top = stageAddress, nil, 0
		c.field = field{address: true}
		if !some || at.known.address != c.choice.Address { // what was typed last, and could not be read
			c.field.text = []byte(c.choice.Address)
		}
	case actHelp:
		m.help = m.newHelp()
	case actLeave:
		c.failed = nil
		m.place = atTasks
	}
	return nil
}

func (m *model) addressKey(does action) tea.Cmd {
	c := &m.companies
	switch does {
	case actOpen:
		if len(c.field.text) > 0 {
			c.choice = Choice{Address: string(c.field.text)}
			return m.readOffers()
		}
	case actLeave:
		return m.toCompanies(nil)
	default:
		c.field.edit(does)
	}
	return nil
}

// edit does what a key of a field means.
func (f *field) edit(does action) {
	switch does {
	case actBackspace:
		f.back()
	case actClear:
		f.wipe()
	}
}

func (m *model) scopeKey(does action) tea.Cmd {
	c := &m.companies
	o := c.offers[c.picked]
	c.mark = moved(c.mark, does, len(o.scopes))
	switch does {
	case actMark:
		if len(o.wanted) > 0 {
			o.wanted[c.mark] = !o.wanted[c.mark]
		}
	case actOpen:
		if c.choice.Scope = o.scope(); len(c.choice.Scope) > 0 {
			return m.signIn()
		}
		m.note = noteNoScope
	case actLeave:
		if len(c.offers) == 1 {
			return m.toCompanies(nil)
		}
		c.stage, c.top = stageType, 0
	}
	return nil
}

func (m *model) signingKey(does action) tea.Cmd {
	c := &m.companies
	s := c.signing
	warned := s.warned
	s.warned = false
	switch does {
	case actLeave:
		if !warned {
			s.warned = true
			return nil
		}
		c.field.wipe()
		c.stage, c.top = stageStopping, 0
		c.stop()
	case actOpen:
		if len(c.field.text) == 0 {
			return nil
		}
		s.asks, s.sending = asksNothing, true
		return s.bridge.answer(m.d, c.field.give())
	case actBrowse:
		if m.cfg.Browse == nil {
			return nil
		}
		link := s.raw
		return m.d.do(func(ctx context.Context) tea.Msg { return browsedMsg{m.cfg.Browse(ctx, link)} })
	default:
		if s.asks != asksNothing {
			c.field.edit(does)
		}
		m.scrollCompanies(does)
	}
	return nil
}

func (m *model) scrollCompanies(does action) {
	c := &m.companies
	if by := steps(does, m.h/2); by != 0 {
		c.top = max(min(c.top+by, c.last(m.painter, m.charset, m.w, m.h, m.note, m.keys(), m.now)), 0)
	}
}
