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
)

// This file is the one place where a token goes to disk or into the keyring, and comes from there.

// reveal reads the tokens of a record from where they are kept.
func (s *Store) reveal(ctx context.Context, r *record) (tokens, error) {
	text := secret.New(string(r.Tokens))
	if r.Place == PlaceKeyring {
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
	r.Tokens = nil
	if r.Place == PlaceFile {
		r.Tokens = json.RawMessage(text.Reveal())
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
