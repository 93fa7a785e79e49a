package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// send sends the User's answer to q to the desk, unless q has expired.
func (m *plainModel) send(approve bool, q question, now time.Time) tea.Cmd {
	if !now.Before(q.deadline) {
		m.inbox.leave(q.id)
		m.say(noteExpired)
		m.next(now)
		return nil
	}
	m.inbox.sending(q.id)
	m.keeper.pass(now)
	return sendAnswer(m.d, m.cfg.Feed, m.keeper, approve, q)
}

// locked asks for the passphrase, unless the question whose answer it shall sign has changed.
func (m *plainModel) locked(msg lockedMsg, now time.Time) {
	m.inbox.unsent(msg.question.id)
	if m.asking != nil { // another one is being read: the first is asked again after it
		return
	}
	switch q, open := m.inbox.question(msg.question.id); {
	case !open:
		m.say(m.inbox.ended(msg.question.id))
	case !q.same(msg.question):
		m.say(noteChanged)
	default:
		m.unlock = newUnlocking(msg)
		m.out = append(append(m.out, line{}, line{ours(wTitlePassphrase, strong)}), m.unlock.says(m.width())...)
		m.say(wPlainPassphrase)
	}
	m.next(now)
}

func (m *plainModel) unlockKey(k tea.KeyMsg, does action, now time.Time) tea.Cmd {
	u := m.unlock
	if does == actLeave {
		m.dropUnlock()
		m.say(noteNoPassphrase)
		m.next(now)
		return nil
	}
	if u.typed(k, does) {
		m.say(wOpeningLock)
		return u.try(m.d)
	}
	return nil
}

// opened sends the answer that the lock was opened for.
func (m *plainModel) opened(msg openedMsg, now time.Time) tea.Cmd {
	u := m.unlock
	if u == nil || msg.by != u { // it was left meanwhile
		return nil
	}
	if msg.err != nil {
		u.refused(msg.err)
		m.say(u.wrong)
		m.say(wPlainPassphrase)
		return nil
	}
	m.dropUnlock()
	m.keeper.keep(msg.key, now)
	return m.send(u.needed.approve, u.needed.question, now)
}

// dropUnlock ends the asking for the passphrase, and wipes what was typed.
func (m *plainModel) dropUnlock() {
	if m.unlock != nil {
		m.unlock.field.wipe()
		m.unlock = nil
	}
}

// putAside forgets the key and what was typed of the passphrase: who comes back may be somebody else.
func (m *plainModel) putAside() {
	m.keeper.forget()
	m.dropUnlock()
}
