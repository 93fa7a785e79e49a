package session

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// DefaultOverlap is how long a new key is published before it signs. Companies keep a key set for up to an hour
	// (PROTOCOL 1.0, section 5); the rest is for the person who uploads it.
	DefaultOverlap = 24 * time.Hour
	// MaxOverlap is the longest wait that Rotate accepts.
	MaxOverlap = 90 * 24 * time.Hour
	// maxKeys bounds the key set, which Companies read with bounds of their own.
	maxKeys = 8
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

const (
	// Next is published and does not sign yet.
	Next KeyState = "next"
	// Current is published and signs. Exactly one key is.
	Current KeyState = "current"
	// Previous is published, so that what it signed can be verified, and signs no more.
	Previous KeyState = "previous"
)

// KeyStatus is a key and its state at a moment.
type KeyStatus struct {
	Key
	State   KeyState   `json:"state"`
	Retired *time.Time `json:"retired,omitempty"` // when a previous key ceased to sign
}

// KeyStatuses returns the keys with their states at now, newest last.
func (id *Identity) KeyStatuses(now time.Time) []KeyStatus {
	current := id.current(now)
	statuses := make([]KeyStatus, len(id.keys))
	for i, k := range id.keys {
		statuses[i] = KeyStatus{Key: k.Key, State: Next}
		switch {
		case i == current:
			statuses[i].State = Current
		case i < current:
			retired := id.keys[i+1].Activates
			statuses[i].State, statuses[i].Retired = Previous, &retired
		}
	}
	return statuses
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

// Rotate makes a new key for the identity in dir. It stands in the documents to publish at once and signs when
// overlap has passed, which the clock alone decides: nothing has to run at that moment. It returns ErrNoIdentity,
// ErrKeyWaits and ErrTooManyKeys. The caller holds the home's lock.
//
// The documents are written first: a crash in between leaves a published key that nobody has, never one that signs
// and is not published. The next change mends it.
func Rotate(dir string, overlap time.Duration, now time.Time, random io.Reader) (*Identity, error) {
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
	if len(id.keys) >= maxKeys {
		return nil, fmt.Errorf("%w: %d; revoke a previous one", ErrTooManyKeys, len(id.keys))
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return nil, fmt.Errorf("identity key: %w", err)
	}
	public, err := publicJWK(&private.PublicKey)
	if err != nil {
		return nil, err
	}
	kid, _ := public["kid"].(string)
	id.keys = append(id.keys, identityKey{Key: Key{Thumbprint: kid, Created: now, Activates: now.Add(overlap)}, private: private})
	if err := id.writePublic(); err != nil {
		return nil, err
	}
	return id, id.replace()
}

// Revoke removes the key kid from the identity in dir and from the documents to publish, and reports the state it had.
// When it was the current one, the next one is current at once. A previous key never signs again, so ErrLastKey is
// returned when only such ones would be left; ErrUnknownKey for a kid the identity does not have, after the documents
// have been written anew, which mends what a crash has left. The caller holds the home's lock.
//
// The identity is written first: a crash in between leaves a published key that nobody has any more. The file's old
// content is unlinked, not overwritten: a disk or a backup may still hold it. A process that runs keeps what it has
// loaded until it ends.
func Revoke(dir, kid string, now time.Time) (*Identity, KeyState, error) {
	id, err := Load(dir)
	if err != nil {
		return nil, "", err
	}
	now = now.UTC().Truncate(time.Second)
	at := slices.IndexFunc(id.keys, func(k identityKey) bool { return k.Thumbprint == kid })
	if at < 0 {
		return nil, "", errors.Join(fmt.Errorf("key %q: %w", kid, ErrUnknownKey), id.writePublic())
	}
	state := id.KeyStatuses(now)[at].State
	if state == Current {
		if at == len(id.keys)-1 {
			return nil, "", fmt.Errorf("key %s: %w; make a new one first", kid, ErrLastKey)
		}
		id.keys[at+1].Activates = now
		if at > 0 && id.keys[at-1].Activates.After(now) { // the clock was set back
			id.keys[at+1].Activates = id.keys[at-1].Activates
		}
	}
	id.keys = slices.Delete(id.keys, at, at+1)
	if err := id.replace(); err != nil {
		return nil, "", err
	}
	return id, state, id.writePublic()
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
