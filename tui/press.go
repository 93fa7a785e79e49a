package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// key does what a key press means where the User is.
func (m *model) key(k tea.KeyMsg, now time.Time) tea.Cmd {
	does := meaning(m.keys(), k)
	if does == actStop {
		if m.cfg.UntilDone {
			m.ending = ErrInterrupted
		}
		return tea.Quit
	}
	if does == actSuspend {
		m.putAside()
		return m.d.suspend()
	}
	switch {
	case m.tooSmall():
		return nil
	case m.help != nil:
		m.helpKey(does, now)
	case m.unlockAt():
		return m.unlockKey(k, does, now)
	case m.place == atQuestion:
		m.heed(k)
		return m.questionKey(does, now)
	case m.place == atCompanies:
		return m.companiesKey(k, does)
	case m.place == atReceipts:
		return m.receiptsKey(k, does)
	case m.place == atList:
		m.listKey(does, now)
	default:
		return m.tasksKey(does)
	}
	return m.wake(now)
}

// keys is the key table of the screen.
func (m *model) keys() []binding {
	switch {
	case m.help != nil:
		return helpKeys()
	case m.unlockAt():
		return m.unlock.keys()
	case m.place == atQuestion:
		return questionKeys()
	case m.place == atCompanies:
		return m.companies.keys(m.cfg.Browse != nil)
	case m.place == atReceipts:
		return m.receipts.keys()
	case m.place == atList:
		return listKeys()
	default:
		return taskKeys(len(m.inbox.waiting()) > 0, !m.cfg.UntilDone, m.cfg.Accounts != nil, m.cfg.History != nil)
	}
}

// heed notices the key that shows that the User does not go on typing what the question interrupted: no text has it.
func (m *model) heed(k tea.KeyMsg) {
	switch k.Type {
	case tea.KeyUp, tea.KeyDown, tea.KeyPgUp, tea.KeyPgDown:
		m.held, m.arming.held = false, false
	}
}

func (m *model) questionKey(does action, now time.Time) tea.Cmd {
	switch does {
	case actApprove, actDeny:
		if m.arming.press(does == actApprove, now) {
			return m.d.after(settleTime, wakeMsg{})
		}
	case actHelp:
		m.help = m.newHelp()
		m.arming.disturb(now)
	case actLeave:
		m.inbox.leave(m.shown.q.id)
		m.leave(noteLeft)
		m.come(now)
	default:
		if by := steps(does, m.shown.frame.room); by != 0 {
			m.shown.scroll(by, now)
		}
		m.arming.moved(m.shown.end(), now)
	}
	return m.wake(now)
}

// steps is how far a scrolling key moves on a screen with room lines.
func steps(does action, room int) int {
	page := max(room-1, 1) // one line stays, so that the eye finds its place
	switch does {
	case actUp:
		return -1
	case actDown:
		return 1
	case actPageUp:
		return -page
	case actPageDown:
		return page
	default:
		return 0
	}
}

func (m *model) newHelp() *helpView {
	return &helpView{stays: !m.cfg.UntilDone, companies: m.cfg.Accounts != nil, history: m.cfg.History != nil}
}

func (m *model) helpKey(does action, now time.Time) {
	switch does {
	case actLeave:
		m.help = nil
		m.arming.disturb(now.Add(drawTime)) // the question is drawn again
	default:
		last := max(len(m.help.body(m.painter, m.w))-roomFor(m.h, foot(m.painter, m.w, "", helpKeys())), 0)
		m.help.top = min(max(m.help.top+steps(does, m.h-4), 0), last)
	}
}

func (m *model) listKey(does action, now time.Time) {
	waiting := m.inbox.grouped()
	m.chosen = max(min(m.chosen, len(waiting)-1), 0)
	switch does {
	case actUp, actDown, actPageUp, actPageDown:
		m.chosen = moved(m.chosen, does, len(waiting))
	case actOpen:
		if len(waiting) > 0 {
			m.open(waiting[m.chosen], "", now)
		}
	case actHelp:
		m.help = m.newHelp()
	case actLeave:
		m.place, m.note = atTasks, ""
	}
}

func (m *model) tasksKey(does action) tea.Cmd {
	switch does {
	case actList:
		m.place, m.note, m.chosen = atList, "", 0
	case actCompanies:
		m.place, m.note = atCompanies, ""
		return m.toCompanies(nil)
	case actReceipts:
		m.place, m.note, m.receipts = atReceipts, "", receipts{}
		return readReceipts(m.d, m.cfg.History)
	case actHelp:
		m.help = m.newHelp()
	case actLeave:
		return tea.Quit
	default:
		v := m.tasksNow()
		if by := steps(does, m.h-4); by != 0 {
			top := v.first(m.painter, m.w, m.h, m.now)
			m.tasks.pinned, m.tasks.top = true, max(top+by, 0)
			last := tasksView{tasks: v.tasks, waiting: v.waiting, note: v.note, stays: v.stays, signs: v.signs, history: v.history}.first(m.painter, m.w, m.h, m.now)
			m.tasks.pinned = m.tasks.top < last
		}
	}
	return nil
}
