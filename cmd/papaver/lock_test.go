package main

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/session"
)

// says runs papaver at a terminal, types each text when its prompt stands there, and returns what the terminal got.
func (b *bench) converses(status int, talk [][2]string, args ...string) string {
	b.t.Helper()
	u := b.sit(200, 60, nil, args...)
	for _, t := range talk {
		u.sees(t[0])
		u.types(t[1] + "\n")
	}
	u.exits(status)
	return plainText(u.screen.String())
}

// standing is what papaver lock status --json says.
func (b *bench) standing() event {
	b.t.Helper()
	return readEvents(b.t, b.run(0, "lock", "status", "--json"))[0]
}

// The passphrase is asked for twice, never shown, and seals the keys; both ends of the lock are in the ledger.
func TestALockIsSetAndRemovedWithThePassphrase(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if s := b.standing(); s.name() != "unlocked" || s["sealed"] != false {
		t.Errorf("status: %v", s)
	}
	said := b.converses(0, [][2]string{
		{"A passphrase of 8 characters or more: ", "short"},
		{"(?s)too short.*A passphrase of 8 characters or more: ", passphrase},
		{"The same once more: ", "something else"},
		{"(?s)The two differ.*A passphrase of 8 characters or more: ", passphrase},
		{"The same once more: ", passphrase},
	}, "lock", "set")
	if !strings.Contains(said, "locked since") || !strings.Contains(said, "There is no way back to a forgotten passphrase") || strings.Contains(said, passphrase) {
		t.Errorf("it said\n%s", said)
	}
	if s := b.standing(); s.name() != "locked" || s["sealed"] != true {
		t.Errorf("status: %v", s)
	}
	if out := b.run(0, "ledger", "verify"); !strings.Contains(out, "locked with the key "+b.standing().text("key")) {
		t.Errorf("ledger verify says\n%s", out)
	}
	if said := b.converses(0, [][2]string{{"The passphrase of this home: ", passphrase}}, "lock", "remove"); !strings.Contains(said, "This home has no lock") {
		t.Errorf("it said\n%s", said)
	}
	if s := b.standing(); s.name() != "unlocked" || s["sealed"] != false {
		t.Errorf("status: %v", s)
	}
	b.run(0, "ledger", "verify")
	out := b.start("ledger", "list")
	out.exits(0)
	if text := out.stdout.String(); !strings.Contains(text, "the lock was set\n") || !strings.Contains(text, "the lock was removed\n") {
		t.Errorf("ledger list says\n%s", text)
	}
}

// A lock set that died after any of its steps is told, and the next one ends it and takes a new passphrase.
func TestAnInterruptedLockSetIsMendedByTheNext(t *testing.T) {
	t.Parallel()
	const later = "another one, and longer"
	for name, noted := range map[string]bool{"the lock made": false, "the lock made and written down": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			h := b.opened()
			key, err := lock.Make(h.Answers(), secret.New(passphrase), quickWork, time.Now(), rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			note, err := key.Note(lock.KindSet)
			if err != nil {
				t.Fatal(err)
			}
			if noted {
				appendTo(t, h.Ledger(), ledger.Entry{Kind: lock.KindSet, Data: note})
				b.run(0, "ledger", "verify")
			} else {
				appendTo(t, h.Ledger(), ledger.Entry{Kind: "something-else"})
				p := b.start("ledger", "verify")
				p.exits(1)
				p.says("of which the ledger knows nothing", "run papaver lock set")
			}
			if s := b.standing(); s.name() != "locked" || s["sealed"] != false {
				t.Errorf("status: %v", s)
			}
			b.converses(0, [][2]string{
				{"The passphrase of this home: ", passphrase}, {"The new passphrase: ", later}, {"The same once more: ", later},
			}, "lock", "set")
			if s := b.standing(); s.name() != "locked" || s["sealed"] != true || s.text("key") != key.Lock().Fingerprint() {
				t.Errorf("status: %v", s)
			}
			b.run(0, "ledger", "verify")
			l, err := lock.Load(filepath.Join(b.home, "answers"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Open(secret.New(later)); err != nil {
				t.Errorf("the new passphrase: %v", err)
			}
		})
	}
}

// The doctor says plainly what is protected and what is not, and finds a lock that is not the User's.
func TestTheDoctorSaysWhatTheLockProtects(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make  func(b *bench)
		says  []string
		cures bool
	}{
		"no lock": {func(*bench) {}, []string{"whatever runs as you can open papaver tui", "papaver lock set makes one"}, false},
		"a lock": {func(b *bench) { b.locked() }, []string{
			"an answer needs your passphrase", "debugger", "replaced", "in the memory of one that runs", "types into your terminal", "guesses at a copy",
		}, false},
		"not all is sealed": {func(b *bench) {
			if err := session.Reseal(b.opened().Identity(), lock.SealsOf(b.opened().Answers(), b.locked()), lock.Seals{}); err != nil {
				b.t.Fatal(err)
			}
		}, []string{"still stand in the open"}, true},
		"it was taken away": {func(b *bench) { b.locked(); remove(b.t, filepath.Join(b.home, "answers", "lock.json")) }, []string{"its lock is gone"}, true},
		"it is damaged": {func(b *bench) {
			b.locked()
			overwrite(b.t, filepath.Join(b.home, "answers", "lock.json"), []byte("{}"))
		}, []string{"lock.json"}, true},
		"the ledger knows nothing of it": {func(b *bench) { b.locked(); rewrite(b.t, filepath.Join(b.home, "ledger")) }, []string{"of which the ledger knows nothing"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.t = t
			tc.make(b)
			found, err := checkLock(t.Context(), patient{dir: b.home})
			if err != nil {
				found = err.Error()
			}
			if ill, ok := errors.AsType[sick](err); ok != tc.cures || ok && ill.cure == "" {
				t.Errorf("found %q, %v", found, err)
			}
			for _, part := range tc.says {
				if !strings.Contains(found, part) {
					t.Errorf("it does not say %q: %s", part, found)
				}
			}
		})
	}
}
