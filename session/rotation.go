package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/profile"
)

const (
	// DefaultOverlap is how long a new key is published before it signs. Companies keep a key set for up to an hour
	// (PROTOCOL 1.0, section 5); the rest is for the person who uploads it.
	DefaultOverlap = 24 * time.Hour
	// MaxOverlap is the longest wait that Rotate accepts.
	MaxOverlap = 90 * 24 * time.Hour
	// maxKeys bounds the key set, which Companies read with bounds of their own.
	maxKeys = 8
	// clockLeeway is by how much a Company's clock may be behind ours.
	clockLeeway = 5 * time.Minute
)

var (
	// ErrKeyWaits is returned by Rotate while an earlier new key does not sign yet.
	ErrKeyWaits = errors.New("a next key waits already")
	// ErrUnknownKey is returned by Revoke for a kid that the identity does not have.
	ErrUnknownKey = errors.New("this identity has no such key")
	// ErrLastKey is returned by Revoke when no key that is current or next would be left.
	ErrLastKey = errors.New("no other key may sign")
	// ErrTooManyKeys is returned by Rotate when the key set is full.
	ErrTooManyKeys = errors.New("too many keys are published")
)

// KeyState says what a published key is for at a moment.
type KeyState string

// The states.
const (
	Next     KeyState = "next"     // it does not sign yet
	Current  KeyState = "current"  // it signs; exactly one key does
	Previous KeyState = "previous" // it signs no more, and what it signed can still be verified
)

// KeyStatus is a key and its state at a moment.
type KeyStatus struct {
	Key
	State KeyState `json:"state"`
	// Retired is when a previous key ceased to sign, or the current one will because a next one waits.
	Retired *time.Time `json:"retired,omitempty"`
	// Needed is until when a statement that the key signed may be alive; nil while nothing ends its signing. After it
	// nobody needs the key any more, and the next Rotate removes it.
	Needed *time.Time `json:"needed,omitempty"`
}

// KeyStatuses returns the keys with their states at now, newest last.
func (id *Identity) KeyStatuses(now time.Time) []KeyStatus {
	current := id.current(now)
	statuses := make([]KeyStatus, len(id.keys))
	for i, k := range id.keys {
		status := KeyStatus{Key: k.Key, State: Next}
		switch {
		case i == current:
			status.State = Current
		case i < current:
			status.State = Previous
		}
		if i+1 < len(id.keys) {
			retired := id.keys[i+1].Activates
			needed := retired.Add(longestStatement() + clockLeeway)
			status.Retired, status.Needed = &retired, &needed
		}
		statuses[i] = status
	}
	return statuses
}

// longestStatement is for how long anything that a long-term key signs is valid, in whatever profile.
func longestStatement() time.Duration {
	var longest time.Duration
	for _, p := range profile.All() {
		longest = max(longest, p.DelegationLife, p.SessionLife, p.ClientAssertionLife, p.AssertionLife)
	}
	return longest
}

// current is the index of the key that signs at now: the newest whose time has come. A clock that was set back before
// all of them gets the oldest, which Companies have known for longest. Keys stand in the order of their times.
func (id *Identity) current(now time.Time) int {
	current := 0
	for i, k := range id.keys {
		if !k.Activates.After(now) {
			current = i
		}
	}
	return current
}

// signer is the key that signs at now. The file is read anew, since another process may have made or revoked a key
// while this one ran: a key is never used for longer than what was signed with it before is valid.
func (id *Identity) signer(now time.Time) (*Signer, error) {
	fresh, err := Load(id.dir)
	if err != nil {
		return nil, fmt.Errorf("the key to sign with: %w", err)
	}
	if fresh.clientID != id.clientID {
		return nil, fmt.Errorf("the key to sign with: the identity in %s is another one by now", id.dir)
	}
	signer, err := fresh.keys[fresh.current(now)].open(id.seals)
	if err != nil {
		return nil, fmt.Errorf("the key to sign with: %w", err)
	}
	return signer, nil
}

// Rotate makes a new key for the identity in dir. It stands in the documents to publish at once and signs when overlap
// has passed, which the clock alone decides: nothing has to run at that moment. Previous keys that nobody needs any
// more are removed. It returns ErrNoIdentity, ErrKeyWaits and ErrTooManyKeys, and [lock.ErrLocked] when the home has a lock
// that seals does not open. The caller holds the home's lock.
//
// The documents are written first: a crash in between leaves a published key that nobody has, never one that signs
// and is not published. [Identity.Mend] and the next change mend it.
func Rotate(dir string, seals lock.Seals, overlap time.Duration, now time.Time, random io.Reader) (*Identity, error) {
	return rotate(dir, seals, overlap, now, random, durable.WriteFile)
}

func rotate(dir string, seals lock.Seals, overlap time.Duration, now time.Time, random io.Reader, write writeFile) (*Identity, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return nil, fmt.Errorf("overlap %v: it is 0 to %v", overlap, MaxOverlap)
	}
	id, err := Load(dir)
	if err != nil {
		return nil, err
	}
	now = now.UTC().Truncate(time.Second)
	if newest := id.keys[len(id.keys)-1]; newest.Activates.After(now) {
		return nil, fmt.Errorf("%w: %s signs from %s", ErrKeyWaits, newest.Thumbprint, newest.Activates.Format(time.RFC3339))
	}
	var kept []identityKey
	for i, status := range id.KeyStatuses(now) {
		if status.State != Previous || !status.Needed.Before(now) {
			kept = append(kept, id.keys[i])
		}
	}
	if len(kept) >= maxKeys {
		return nil, fmt.Errorf("%w: %d; revoke a previous one", ErrTooManyKeys, len(kept))
	}
	key, err := newKey(now, now.Add(overlap), seals, random)
	if err != nil {
		return nil, err
	}
	if len(kept) < len(id.keys) {
		// They leave the identity before they leave the documents, so that a crash leaves none that is only in the former.
		id.keys = kept
		if err := id.replace(write); err != nil {
			return nil, err
		}
	}
	id.keys = append(kept, key)
	if err := id.writePublic(write); err != nil {
		return nil, err
	}
	if err := id.replace(write); err != nil {
		return nil, err
	}
	return id, nil
}

// Revoke removes the key kid from the identity in dir and from the documents to publish, and returns the status it
// had. When it was the current one, the next one is current at once. A previous key never signs again, so ErrLastKey
// is returned when only such ones would be left; ErrUnknownKey is for a kid the identity does not have. The caller
// holds the home's lock.
//
// The identity is written first: a crash in between leaves a published key that nobody has any more. The file's old
// content is unlinked, not overwritten: a disk or a backup may still hold it. A Session that was delegated to by the
// key keeps that delegation until it is renewed.
func Revoke(dir, kid string, now time.Time) (*Identity, KeyStatus, error) {
	return revoke(dir, kid, now, durable.WriteFile)
}

func revoke(dir, kid string, now time.Time, write writeFile) (*Identity, KeyStatus, error) {
	id, err := Load(dir)
	if err != nil {
		return nil, KeyStatus{}, err
	}
	now = now.UTC().Truncate(time.Second)
	at := slices.IndexFunc(id.keys, func(k identityKey) bool { return k.Thumbprint == kid })
	if at < 0 {
		return nil, KeyStatus{}, fmt.Errorf("key %q: %w", kid, ErrUnknownKey)
	}
	status := id.KeyStatuses(now)[at]
	if status.State == Current {
		if at == len(id.keys)-1 {
			return nil, status, fmt.Errorf("key %s: %w", kid, ErrLastKey)
		}
		id.activate(at+1, now)
	}
	id.keys = slices.Delete(id.keys, at, at+1)
	if err := id.replace(write); err != nil {
		return nil, status, err
	}
	return id, status, id.writePublic(write)
}

// activate lets the key after the current one sign from now on. A clock that was set back does not put that before it was
// made.
func (id *Identity) activate(i int, now time.Time) {
	id.keys[i].Activates = now
	if id.keys[i].Created.After(now) {
		id.keys[i].Created = now
	}
}

// replace writes the changed identity over the one in its folder, in one step.
func (id *Identity) replace(write writeFile) error {
	data, err := id.marshal()
	if err != nil {
		return err
	}
	if err := removeLeftovers(id.dir); err != nil {
		return err
	}
	if err := write(filepath.Join(id.dir, identityFile), []byte(data.Reveal())); err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	return nil
}

// removeLeftovers removes the temporary copies that a crash has left of the identity: they hold private keys.
func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("identity folder: %w", err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "."+identityFile+".tmp-") {
			if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
				return fmt.Errorf("identity's leftover: %w", err)
			}
		}
	}
	return nil
}
