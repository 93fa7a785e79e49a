package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/session"
)

// What the lock protects, and what nothing does (SECURITY.md tells of each).
const (
	unlockedProtects = "none: whatever runs as you can open papaver tui and answer in your place, and a copy of this home is as good as the home; papaver lock set makes one"
	lockedProtects   = "set %s, key %s: an answer needs your passphrase, which seals the agent's long-term keys and the Account Tokens in this home too. " +
		"It is no help against a debugger on papaver, a papaver that was replaced, the keys in the memory of one that runs, a program that types into your terminal or imitates it, " +
		"or guesses at a copy of this home, each of which costs about a second"
)

// checkLock says what is protected, and finds a lock that is not whole or not the User's.
func checkLock(_ context.Context, p patient) (string, error) {
	h, err := home.Open(p.dir)
	if err != nil {
		return "", sick{err.Error(), "chmod 700 the folder, or name another with --home"}
	}
	id, err := session.Load(h.Identity())
	sealed := err == nil && id.Sealed() // an identity that can't be read is the keys' own check
	whole := err == nil || errors.Is(err, session.ErrNoIdentity)
	l, err := lock.Load(h.Answers())
	switch {
	case errors.Is(err, lock.ErrNone) && sealed:
		return "", sick{"the keys of this home are sealed, and its lock is gone: somebody took it away", "put the file answers/lock.json back from a copy of yours"}
	case err != nil && !errors.Is(err, lock.ErrNone):
		return "", sick{err.Error(), "put the file answers/lock.json back from a copy of yours"}
	}
	var answers opsweb.AnswerCheck
	_, unread := ledger.Scan(filepath.Join(h.Ledger(), ledger.FileName), func(r ledger.Record) error { answers.Sees(r); return nil })
	if unread == nil { // else the ledger's own check tells
		if t := new(verified).signatures(h, answers); t != nil {
			return "", sick{t.Error(), t.Next}
		}
	}
	if err != nil {
		return unlockedProtects, nil
	}
	if !sealed && id != nil && whole {
		return "", sick{"it is set, and the agent's long-term keys still stand in the open", "papaver lock set"}
	}
	return fmt.Sprintf(lockedProtects, l.Created().Local().Format(time.DateOnly), l.Fingerprint()[:16]), nil
}
