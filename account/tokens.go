package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/lock"
)

// This file is the one place where a token goes to disk or into the keyring, and comes from there.

// reveal reads the tokens of a record from where they are kept.
func (s *Store) reveal(ctx context.Context, r *record) (tokens, error) {
	text := secret.New(string(r.Tokens))
	var err error
	switch {
	case r.Sealed != nil:
		if text, err = s.cfg.Seals.Unseal(r.Sealed); err != nil {
			return tokens{}, fmt.Errorf("account at %s: %w", r.Domain, err)
		}
	case r.Place == PlaceKeyring:
		ring, err := s.keyring()
		if err != nil {
			return tokens{}, err
		}
		if text, err = ring.Get(ctx, r.Entry); err != nil {
			return tokens{}, err
		}
	}
	t, err := decodeTokens(text)
	if err != nil {
		return tokens{}, fmt.Errorf("account at %s: %w; when you remove it with papaver signout --forget, you sign in again", r.Domain, err)
	}
	return t, nil
}

// save puts the tokens where the record says, then the record on disk. When it returns nil both are there.
func (s *Store) save(ctx context.Context, r *record, t tokens) error {
	text, err := t.encode()
	if err != nil {
		return err
	}
	r.Unrevoked = len(t.replaced)
	r.Tokens, r.Sealed = nil, nil
	if r.Place == PlaceFile {
		if r.Sealed, err = s.cfg.Seals.Seal(text); err != nil {
			return fmt.Errorf("account at %s: %w", r.Domain, err)
		}
		if r.Sealed == nil {
			r.Tokens = json.RawMessage(text.Reveal())
		}
	} else {
		ring, err := s.keyring()
		if err != nil {
			return err
		}
		if r.Entry == "" {
			if r.Entry, err = randomid.Long(s.cfg.Rand, "account-"); err != nil {
				return err
			}
		}
		if err := ring.Set(ctx, r.Entry, text); err != nil {
			return err
		}
	}
	return r.write(s.path(r.key()))
}

// mark writes the record alone. The tokens stay where they are.
func (s *Store) mark(r *record) error { return r.write(s.path(r.key())) }

// remove takes the tokens and the record away.
func (s *Store) remove(ctx context.Context, r *record) error {
	path := s.path(r.key())
	return errors.Join(s.removeEntry(ctx, r), os.Remove(path), durable.SyncDir(filepath.Dir(path)))
}

// removeEntry takes a record's entry out of the keyring, when it has one.
func (s *Store) removeEntry(ctx context.Context, r *record) error {
	if r.Place != PlaceKeyring {
		return nil
	}
	ring, err := s.keyring()
	if err == nil {
		err = ring.Delete(ctx, r.Entry)
	}
	if err != nil && !errors.Is(err, ErrNoEntry) {
		return fmt.Errorf("the token stays in the keyring as %s: %w", r.Entry, err)
	}
	return nil
}

// keyring is the one that was configured.
func (s *Store) keyring() (Keyring, error) {
	if s.cfg.Keyring == nil {
		return nil, &KeyringError{Err: errors.New("none is configured")}
	}
	return s.cfg.Keyring, nil
}

// Check finds out whether tokens can be kept at a place, before the User takes the trouble to sign in: it writes, reads
// and removes an entry that holds nothing. Its errors are *[KeyringError].
func (s *Store) Check(ctx context.Context, p Place) error {
	if p != PlaceKeyring {
		return nil
	}
	ring, err := s.keyring()
	if err != nil {
		return err
	}
	entry, err := randomid.Long(s.cfg.Rand, "probe-")
	if err != nil {
		return err
	}
	if err := ring.Set(ctx, entry, secret.New(entry)); err != nil {
		return err
	}
	back, err := ring.Get(ctx, entry)
	if err == nil && back.Reveal() != entry {
		err = &KeyringError{Err: errors.New("it gives back something else than was put in")}
	}
	return errors.Join(err, ring.Delete(ctx, entry))
}

func (r *record) key() Key { return Key{Issuer: r.Issuer, Label: r.Label} }

// Reseal writes every account whose token is in its file as a home with the seals to keeps it; the store's own open what
// is sealed now. It waits for whoever uses a token. Accounts in the keyring stay as they are. An error says which account
// was not written; those before it were.
func (s *Store) Reseal(ctx context.Context, to lock.Seals) error {
	accounts, err := s.List()
	if err != nil {
		return err
	}
	other := &Store{cfg: s.cfg}
	other.cfg.Seals = to
	for _, a := range accounts {
		if a.Place != PlaceFile {
			continue
		}
		if err := s.reseal(ctx, a.Key, other); err != nil && !errors.Is(err, ErrNone) { // signed out meanwhile
			return err
		}
	}
	return nil
}

func (s *Store) reseal(ctx context.Context, k Key, to *Store) error {
	unlock, err := s.lock(ctx, k)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := s.load(k)
	if err != nil {
		return err
	}
	t, err := s.reveal(ctx, r)
	if err != nil {
		return err
	}
	return to.save(ctx, r, t)
}
