package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/published"
	"github.com/papaver-agent/papaver/session"
)

// withoutIdentity adds to ErrNoIdentity what makes one.
func withoutIdentity(err error) error {
	if errors.Is(err, session.ErrNoIdentity) {
		return fmt.Errorf("%w; papaver identity init makes one", err)
	}
	return err
}

func rotateIdentity(ctx context.Context, c *identityCommand, _ []string) error {
	if c.after < 0 || c.after > session.MaxOverlap {
		return usagef("--after %v: it is 0s to %v", c.after, session.MaxOverlap)
	}
	key, err := openLock(ctx, c.home.Dir(), false)
	if err != nil {
		return err
	}
	unlock, err := c.home.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	id, err := session.Rotate(c.home.Identity(), lock.SealsOf(c.home.Answers(), key), c.after, c.now(), rand.Reader)
	switch {
	case errors.Is(err, session.ErrNoIdentity):
		return withoutIdentity(err)
	case errors.Is(err, session.ErrKeyWaits):
		return &trouble.Error{What: "no key was made", Err: err, Done: "nothing", Undone: "the rotation",
			Next: "wait until the next key signs, or take it away: papaver identity revoke-key KID"}
	case errors.Is(err, session.ErrTooManyKeys):
		return &trouble.Error{What: "no key was made", Err: err, Done: "nothing", Undone: "the rotation",
			Next: "papaver identity show tells which keys nothing needs any more; papaver identity revoke-key KID removes one"}
	case err != nil:
		return &trouble.Error{What: "the rotation could not be written down", Err: err,
			Done:   "the key that signed before signs on; a new one may stand in the documents to publish already",
			Undone: "the rotation",
			Next:   "see to the disk; papaver identity show puts the documents right; then rotate again"}
	}
	if err := c.show(id, ""); err != nil || c.flags.json {
		return err
	}
	statuses := id.KeyStatuses(c.now())
	newest := statuses[len(statuses)-1]
	fmt.Fprintln(c.stdout)
	switch {
	case newest.State == session.Current:
		fmt.Fprintln(c.stdout, "The new key signs NOW: publish jwks.json at once. Until Companies have read it, up to an hour, they may refuse this agent.")
	case c.after < published.KeysKept:
		fmt.Fprintf(c.stdout, "Publish jwks.json at once: the new key signs from %s, and Companies may go on with the old key set for up to an hour.\n", moment(newest.Activates))
	default:
		fmt.Fprintf(c.stdout, "Publish jwks.json before %s, better an hour earlier: the new key signs from then on.\n", moment(newest.Activates))
	}
	return nil
}

func revokeKey(ctx context.Context, c *identityCommand, words []string) error {
	unlock, err := c.home.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	now := c.now()
	id, was, err := session.Revoke(c.home.Identity(), words[0], now)
	switch {
	case errors.Is(err, session.ErrNoIdentity):
		return withoutIdentity(err)
	case errors.Is(err, session.ErrUnknownKey):
		return fmt.Errorf("%w; papaver identity show lists them", err)
	case errors.Is(err, session.ErrLastKey):
		return &trouble.Error{What: "the key was not removed", Err: err, Done: "nothing", Undone: "the removal",
			Next: "papaver identity rotate --after 0s makes a key that signs at once; then revoke this one, and publish jwks.json"}
	case err != nil:
		return &trouble.Error{What: "the removal could not be written down whole", Err: err,
			Done:   "perhaps the key is gone from the identity, and never comes back",
			Undone: "the documents to publish may still have it",
			Next:   "see to the disk; papaver identity show puts the documents right and tells which keys are there; then revoke again what is left"}
	}
	if err := c.show(id, was.Thumbprint); err != nil || c.flags.json {
		return err
	}
	fmt.Fprintf(c.stdout, "\nRemoved %s, the %s key. %s\n", was.Thumbprint, was.State, consequence(id, was, now))
	fmt.Fprintln(c.stdout, "Publish jwks.json now: until Companies have read it, up to an hour, they accept what that key signs.")
	return nil
}

// consequence says what stops working.
func consequence(id *session.Identity, was session.KeyStatus, now time.Time) string {
	switch {
	case was.State == session.Current:
		current := ""
		for _, k := range id.KeyStatuses(now) {
			if k.State == session.Current {
				current = k.Thumbprint
			}
		}
		return fmt.Sprintf("From now on %s signs; where it is not published yet, this agent is refused until it is. "+
			"Tasks that are running were vouched for by the removed key and may be refused: end them and run them again.", current)
	case was.State == session.Next:
		return "It has not signed anything, so nothing stops working; the current key signs on."
	case was.Needed.Before(now):
		return "Nothing that it signed is valid any more, so nothing stops working."
	default:
		return fmt.Sprintf("Tasks that it vouched for may be refused until they renew that, at the latest at %s.", moment(*was.Needed))
	}
}
