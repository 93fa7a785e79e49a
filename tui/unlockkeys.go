package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// unlockAt says that the passphrase is asked for where the User is.
func (m *model) unlockAt() bool {
	return m.unlock != nil && (m.place == atQuestion) == (m.unlock.needed.errand == toAnswer) && (m.place == atQuestion || m.place == atCompanies)
}

// locked asks for the passphrase, unless what it was needed for is no more.
func (m *model) locked(msg lockedMsg, now time.Time) tea.Cmd {
	if msg.errand != toAnswer {
		c := &m.companies
		mine := c.stage == stageBusy && msg.serial == c.serial
		if msg.errand == toSignIn {
			mine = c.stage == stageSigning && c.signing.bridge == msg.bridge
		}
		if mine && m.place == atCompanies {
			m.unlock = newUnlocking(msg)
		} else if mine { // a question is on the screen
			m.toList(say(noteAskedMeanwhile))
		}
		return nil
	}
	m.inbox.unsent(msg.question.id)
	if m.place == atQuestion { // another one came to the front: the first is asked again when this one is answered
		return nil
	}
	q, open := m.inbox.question(msg.question.id)
	switch {
	case !open:
		m.note = m.inbox.ended(msg.question.id)
	case !q.same(msg.question):
		m.open(q, noteChanged, now)
	default:
		m.open(q, "", now)
		m.unlock = newUnlocking(msg)
	}
	m.come(now)
	return m.wake(now)
}

// unlockKey is a key while the passphrase is asked for. None of it answers but Enter behind the right one, and that gives the
// answer whose key was pressed before.
func (m *model) unlockKey(k tea.KeyMsg, does action, now time.Time) tea.Cmd {
	u := m.unlock
	if does == actLeave {
		m.dropUnlock()
		if u.needed.errand != toAnswer {
			return m.toCompanies(say(noteNotOpened))
		}
		m.note = noteNoPassphrase
		m.show(now)
		return m.wake(now)
	}
	if by := steps(does, m.h/2); by != 0 {
		u.scroll(by, m.painter, m.charset, m.w, m.h)
		return nil
	}
	if u.typed(k, does) {
		return u.try(m.d)
	}
	return nil
}

// opened goes on with what the lock was opened for.
func (m *model) opened(msg openedMsg, now time.Time) tea.Cmd {
	u := m.unlock
	if u == nil || msg.by != u { // it was left meanwhile
		return nil
	}
	if msg.err != nil {
		u.refused(msg.err)
		return nil
	}
	m.dropUnlock()
	m.keeper.keep(msg.key, now)
	switch u.needed.errand {
	case toReadOffers:
		return m.readOffers()
	case toSignIn:
		return m.signIn()
	case toSignOut:
		return m.signOut(m.companies.leaving)
	}
	return m.answer(u.needed.approve, u.needed.question, now)
}

// dropUnlock ends the asking for the passphrase, and wipes what was typed.
func (m *model) dropUnlock() {
	if m.unlock != nil {
		m.unlock.field.wipe()
		m.unlock = nil
	}
}

// putAside forgets the key and what was typed of the passphrase: who comes back may be somebody else.
func (m *model) putAside() {
	m.keeper.forget()
	if m.unlock != nil && m.unlock.needed.errand != toAnswer {
		m.toList(say(noteNotOpened))
	}
	m.dropUnlock()
}
