package tui

import (
	"cmp"
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/lock"
)

// ForgetAfter is how long a UI keeps the home's lock open while nothing is answered, when nothing else is said.
const ForgetAfter = 15 * time.Minute

// keeper keeps the home's lock open between answers, and forgets it. The key's own bytes go when the memory is used again:
// Go can't overwrite them.
type keeper struct {
	read  func() (lock.Lock, error) // nil where there is never a lock
	after time.Duration
	key   *lock.Key
	used  time.Time // by the wall clock, so that the sleep of the machine counts
}

func newKeeper(cfg Config, now time.Time) keeper {
	return keeper{read: cfg.Lock, after: cmp.Or(cfg.ForgetAfter, ForgetAfter), key: cfg.Key, used: now.Round(0)}
}

func (k *keeper) keep(key *lock.Key, now time.Time) { k.key, k.used = key, now.Round(0) }

func (k *keeper) forget() { k.key = nil }

// pass forgets the key when it was not used for long, or the clock went back behind its last use.
func (k *keeper) pass(now time.Time) {
	if unused := now.Round(0).Sub(k.used); unused >= k.after || unused < -k.after {
		k.forget()
	}
}

// open is the key to go on with: nil at a home without a lock. closed is the lock that the passphrase is needed for first. It
// reads a file, so it belongs in a command.
func (k keeper) open() (key *lock.Key, closed *lock.Lock, err error) {
	if k.read == nil {
		return k.key, nil, nil
	}
	l, err := k.read()
	switch {
	case errors.Is(err, lock.ErrNone):
		return k.key, nil, nil // one that was taken away is still asked for by the runs that know it
	case err != nil:
		return nil, nil, err
	case k.key == nil, k.key.Lock().Fingerprint() != l.Fingerprint():
		return nil, &l, nil
	default:
		return k.key, nil, nil
	}
}

// need is open for an errand at a Company. ask is the message to return when the passphrase is needed first.
func (k keeper) need(errand lockedMsg) (key *lock.Key, ask tea.Msg, err error) {
	key, closed, err := k.open()
	if closed != nil {
		errand.lock = *closed
		return nil, errand, nil
	}
	return key, nil, err
}

// errand is what the lock has to be open for.
type errand int

const (
	toAnswer errand = iota
	toReadOffers
	toSignIn
	toSignOut
)

// The messages of the lock: it has to be opened first; it was opened, or not.
type (
	lockedMsg struct {
		lock     lock.Lock
		errand   errand
		question question // to answer it
		approve  bool
		serial   int     // of the job at a Company
		bridge   *bridge // of the sign-in
	}
	openedMsg struct {
		by  *unlocking
		key *lock.Key
		err error
	}
)

// unlocking is the screen that asks for the passphrase: whose, what for, and what was typed, which nothing shows.
type unlocking struct {
	needed  lockedMsg
	field   field
	opening bool  // the passphrase is tried, which takes a second
	wrong   words // what came of the one before
	top     int
}

// newUnlocking asks for what msg needs the lock open for.
func newUnlocking(msg lockedMsg) *unlocking {
	return &unlocking{needed: msg, field: field{secret: true}}
}

// try opens the lock with what was typed.
func (u *unlocking) try(d *device) tea.Cmd {
	typed := u.field.give()
	l := u.needed.lock
	u.opening, u.wrong = true, ""
	return d.do(func(context.Context) tea.Msg {
		defer clear(typed)
		key, err := l.Open(secret.New(string(typed)))
		return openedMsg{u, key, err}
	})
}

// refused takes in that the lock was not opened.
func (u *unlocking) refused(err error) {
	u.opening = false
	switch {
	case errors.Is(err, lock.ErrPassphrase):
		u.wrong = noteWrongPassphrase
	case errors.Is(err, lock.ErrChanged):
		u.wrong = noteLockChanged
	default:
		u.wrong = noteLockDamaged
	}
}

// keys is the key table.
func (u *unlocking) keys() []binding {
	leave := kNothingAnswered
	if u.needed.errand != toAnswer {
		leave = kBack
	}
	if u.opening {
		return []binding{{[]string{"esc"}, actLeave, "Esc", leave}}
	}
	keys := fieldKeys(true, leave)
	if u.needed.errand == toAnswer {
		keys[0].says = kSignAndSend
	}
	return keys
}

// typed takes what was typed or pasted, and reports whether the passphrase is given.
func (u *unlocking) typed(k tea.KeyMsg, does action) (given bool) {
	switch {
	case u.opening:
	case does == actNone:
		u.field.take(k)
	case does == actOpen:
		return len(u.field.text) > 0
	default:
		u.field.edit(does)
	}
	return false
}

// says are the lines above the field.
func (u *unlocking) says(w int) []line {
	var out []line
	if q := u.needed.question; u.needed.errand == toAnswer {
		out = append(out, flow(line{ours(pressedWords(u.needed.approve), strong)}, w, nil, nil)...)
		out = append(out, labelled(wCompany, q.company.introduce(), w)...)
		out = append(out, labelled(wAct, q.does(), w)...)
		out = append(out, line{})
		out = append(out, flow(say(wLockedAnswer), w, nil, nil)...)
	} else {
		out = append(out, flow(say(wLockedAccounts), w, nil, nil)...)
	}
	return append(out, flow(say(wPassphraseRules), w, nil, nil)...)
}

// view is the screen.
func (u *unlocking) view(p painter, cs charset, w, h int, now time.Time) []line {
	bottom := u.bottom(p, cs, w)
	body := u.says(w)
	out := scrolled(p, w, h, wTitlePassphrase, body, bottom, min(u.top, max(len(body)-roomFor(h, bottom), 0)))
	if u.needed.errand == toAnswer {
		left := u.needed.question.deadline.Sub(now)
		urgency := plain
		if left < time.Minute {
			urgency = alert
		}
		out[0] = spread(line{ours(wTitlePassphrase, strong)}, line{ours(timeLeft(left), urgency)}, w)
	}
	return out
}

func (u *unlocking) bottom(p painter, cs charset, w int) []line {
	var out []line
	if u.wrong != "" {
		out = append(out, flow(line{ours(u.wrong, alert)}, w, nil, nil)...)
	}
	if u.opening {
		out = append(out, flow(line{ours(wOpeningLock, strong)}, w, nil, nil)...)
	} else {
		out = append(out, line{ours(wPassphraseField, strong)})
		out = append(out, u.field.lines(cs, w, 2)...)
	}
	return append(out, foot(p, w, "", u.keys())...)
}

// scroll moves what is said above the field.
func (u *unlocking) scroll(by int, p painter, cs charset, w, h int) {
	last := max(len(u.says(w))-roomFor(h, u.bottom(p, cs, w)), 0)
	u.top = max(min(u.top+by, last), 0)
}
