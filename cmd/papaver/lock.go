package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/session"
)

// lockCommand is what all words of papaver lock work with.
type lockCommand struct {
	env
	flags *flags
	home  home.Home
}

// lockLine is what papaver lock says with --json.
type lockLine struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"` // locked or unlocked
	Key     string    `json:"key,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Sealed  bool      `json:"sealed"` // the long-term keys
}

func runLock(ctx context.Context, e env, args []string) error {
	c := &lockCommand{env: e, flags: newFlags("lock")}
	words, err := c.flags.parse(e, args, 1, 1)
	if err != nil {
		return err
	}
	dir, err := c.flags.homeDir(e)
	if err != nil {
		return err
	}
	if c.home, err = home.Open(dir); err != nil {
		return err
	}
	switch words[0] {
	case "status":
		return c.status()
	case "set":
		return c.set(ctx)
	case "remove":
		return c.remove(ctx)
	default:
		return usagef("papaver lock has set, status and remove, not %q", words[0])
	}
}

// status says whether there is a lock, and what it protects.
func (c *lockCommand) status() error {
	line := lockLine{Time: c.now(), Event: "unlocked"}
	id, err := session.Load(c.home.Identity())
	if err == nil {
		line.Sealed = id.Sealed()
	} else if !errors.Is(err, session.ErrNoIdentity) {
		return err
	}
	l, err := lock.Load(c.home.Answers())
	switch {
	case errors.Is(err, lock.ErrNone) && line.Sealed:
		return &trouble.Error{
			What: "this home's keys are sealed, and its lock is gone", Done: "nothing", Undone: "nothing can be done with this home",
			Next: "put the file " + filepath.Join(c.home.Answers(), "lock.json") + " back from a copy; somebody took it away",
		}
	case err == nil:
		line.Event, line.Key, line.Created = "locked", l.Fingerprint(), l.Created()
	case !errors.Is(err, lock.ErrNone):
		return err
	}
	if c.flags.json {
		out := lines{w: c.stdout}
		out.write(line)
		return out.failed()
	}
	if line.Event == "unlocked" {
		fmt.Fprint(c.stdout, "This home has no lock: every program that runs as you can answer in your place.\npapaver lock set makes one.\n")
		return nil
	}
	fmt.Fprintf(c.stdout, "locked since %s\nkey %s\n\nAn answer counts only with a signature that your passphrase opens. The same passphrase\nseals the agent's long-term keys and the Account Tokens that are kept in this home.\n",
		l.Created().Local().Format("2006-01-02 15:04"), l.Fingerprint())
	if !line.Sealed && id != nil {
		fmt.Fprint(c.stdout, "The agent's long-term keys are not sealed yet: run papaver lock set.\n")
	}
	return nil
}

// set makes the lock, or gives it another passphrase.
func (c *lockCommand) set(ctx context.Context) error {
	return c.change(ctx, func(asker *hiddenPrompt, key *lock.Key, append func(kind string, k *lock.Key) error) error {
		if key == nil {
			return c.make(ctx, asker, append)
		}
		fresh, err := asker.twice(ctx, "The new passphrase: ")
		if err != nil {
			return err
		}
		if err := append(lock.KindChanged, key); err != nil {
			return err
		}
		if err := key.Change(c.home.Answers(), fresh, lock.Work); err != nil {
			return err
		}
		// What an interrupted papaver lock set left in the open is sealed now.
		if err := c.reseal(ctx, lock.SealsOf(c.home.Answers(), key), lock.SealsOf(c.home.Answers(), key)); err != nil {
			return err
		}
		return c.status()
	})
}

func (c *lockCommand) make(ctx context.Context, asker *hiddenPrompt, append func(string, *lock.Key) error) error {
	passphrase, err := asker.twice(ctx, fmt.Sprintf("A passphrase of %d characters or more: ", lock.MinPassphrase))
	if err != nil {
		return err
	}
	key, err := lock.Make(c.home.Answers(), passphrase, lock.Work, c.now(), rand.Reader)
	if err != nil {
		return err
	}
	if err := append(lock.KindSet, key); err != nil {
		return errors.Join(err, key.Remove(c.home.Answers())) // nothing is sealed yet
	}
	if err := c.reseal(ctx, lock.Seals{}, lock.SealsOf(c.home.Answers(), key)); err != nil {
		return &trouble.Error{What: "not everything of this home could be sealed", Err: err,
			Done: "the lock is made, and answers need it", Undone: "the long-term keys or some Account Tokens still stand in the open",
			Next: "see to the cause, then run papaver lock set again"}
	}
	if !c.flags.json {
		fmt.Fprint(c.stderr, "There is no way back to a forgotten passphrase. Copies of this home from before today still hold its keys in the open.\n\n")
	}
	return c.status()
}

// remove takes the lock away again.
func (c *lockCommand) remove(ctx context.Context) error {
	return c.change(ctx, func(_ *hiddenPrompt, key *lock.Key, append func(string, *lock.Key) error) error {
		if key == nil {
			return &trouble.Error{What: "this home has no lock", Done: "nothing", Undone: "nothing was removed", Next: "papaver lock set makes one"}
		}
		if err := append(lock.KindRemoved, key); err != nil {
			return err
		}
		if err := c.reseal(ctx, lock.SealsOf(c.home.Answers(), key), lock.Seals{}); err != nil {
			return &trouble.Error{What: "the lock could not be removed", Err: err, Done: "some keys or Account Tokens stand in the open again",
				Undone: "the lock is still there", Next: "see to the cause, then run papaver lock remove again"}
		}
		if err := key.Remove(c.home.Answers()); err != nil {
			return err
		}
		return c.status()
	})
}

// reseal writes what the home seals as the seals to say. What stands in the open already needs nothing of from.
func (c *lockCommand) reseal(ctx context.Context, from, to lock.Seals) error {
	if err := session.Reseal(c.home.Identity(), from, to); err != nil {
		return err
	}
	accounts, err := account.Open(account.Config{Dir: c.home.Accounts(), Seals: from, Now: c.now})
	if err != nil {
		return err
	}
	return accounts.Reseal(ctx, to)
}

// change does a change of the lock: on a terminal, with the passphrase of the lock there is, while no task runs, and with
// a line in the ledger before it.
func (c *lockCommand) change(ctx context.Context, do func(*hiddenPrompt, *lock.Key, func(string, *lock.Key) error) error) error {
	unlock, err := c.home.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if running := liveRuns(c.home.Run()); len(running) > 0 {
		return &trouble.Error{What: "tasks of this home are running: " + strings.Join(running, ", "), Done: "nothing", Undone: "the lock is as it was",
			Next: "let them end or stop them, then try again: what they know of the lock would be wrong"}
	}
	asker, err := newHiddenPrompt()
	if err != nil {
		return err
	}
	defer asker.close()
	key, err := asker.open(ctx, c.home)
	if err != nil {
		return err
	}
	return do(asker, key, func(kind string, k *lock.Key) error { return c.note(ctx, kind, k) })
}

// note writes a change of the lock down.
func (c *lockCommand) note(ctx context.Context, kind string, k *lock.Key) (err error) {
	owner, err := randomid.Short(rand.Reader)
	if err != nil {
		return err
	}
	l, err := ledger.Open(ctx, ledger.Config{Dir: c.home.Ledger(), Owner: owner, Now: c.now, Index: opsweb.Index()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	note, err := k.Note(kind)
	if err != nil {
		return err
	}
	_, err = l.Append(ctx, ledger.Entry{Kind: kind, Data: note})
	return err
}

// liveRuns are the runs of the home whose processes live.
func liveRuns(dir string) []string {
	locks, err := filepath.Glob(filepath.Join(dir, "*.lock"))
	if err != nil {
		return nil // the pattern is ours
	}
	var running []string
	for _, path := range locks {
		run := strings.TrimSuffix(filepath.Base(path), ".lock")
		done, err := attach.Take(dir, run)
		if errors.Is(err, attach.ErrRuns) {
			running = append(running, run)
		} else if err == nil {
			done()
		}
	}
	return running
}
