package tui

import (
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	// tickTime is how often the times on the screen change.
	tickTime = time.Second
	// asleepTime is a pause between two ticks that no running process has: it was suspended, or the machine slept.
	asleepTime = 3 * time.Second
)

// tick comes back in a second where a time on the screen changes by then, or the lock is to be forgotten.
func (m *model) tick(now time.Time) tea.Cmd {
	if m.ticking || !m.passes() {
		return nil
	}
	m.ticking, m.lastTick = true, now
	if m.place != atQuestion { // there only its countdown changes, with the tick
		m.now = now
	}
	return m.d.after(tickTime, tickMsg{})
}

// passes says that something passes with the time: a deadline, a task under way, a sign-in, the lock that stays open.
func (m *model) passes() bool {
	return m.place == atQuestion || m.place == atCompanies || m.keeper.key != nil || len(m.inbox.waiting()) > 0 || slices.ContainsFunc(m.inbox.tasks, func(t task) bool { return !t.over() })
}
