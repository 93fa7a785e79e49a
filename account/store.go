package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/lock"
)

const (
	// lockWait is longer than one exchange with a Company may take, so that a second process waits for the first.
	lockWait   = 90 * time.Second
	fileSuffix = ".json"
	lockSuffix = ".lock"
	placeFile  = "place"
)

// Config is what a [Store] is made of. Dir is required.
type Config struct {
	Dir string // HOME/accounts
	// Keyring keeps the tokens of accounts that are kept there. Without one such an account can't be used.
	Keyring Keyring
	Seals   lock.Seals // of the home
	Now     func() time.Time
	Rand    io.Reader
}

// Store is the accounts of a home. Safe for concurrent use, also by several processes.
type Store struct {
	cfg Config
}

// Open makes the folder when it is missing. Its errors are those of [durable.MkdirAll].
func Open(cfg Config) (*Store, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if err := durable.MkdirAll(cfg.Dir); err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	return &Store{cfg: cfg}, nil
}

// List returns the accounts, ordered by domain and label. One file that can't be read hides no other: the error then
// comes beside the rest.
func (s *Store) List() ([]Account, error) {
	entries, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("accounts: %w", err)
	}
	var accounts []Account
	var errs []error
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), fileSuffix) || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		r, err := readRecord(filepath.Join(s.cfg.Dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // signed out meanwhile
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		accounts = append(accounts, r.account())
	}
	slices.SortFunc(accounts, func(a, b Account) int {
		return cmp.Or(cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Issuer, b.Issuer), cmp.Compare(a.Label, b.Label))
	})
	return accounts, errors.Join(errs...)
}

// Find returns what is known of an account, or ErrNone.
func (s *Store) Find(k Key) (Account, error) {
	if err := k.check(); err != nil {
		return Account{}, err
	}
	r, err := s.load(k)
	if err != nil {
		return Account{}, err
	}
	return r.account(), nil
}

// Preferred is where the tokens of new accounts are kept when the User says nothing: what the file HOME/accounts/place
// holds, which is the word file or keyring and made by the User; without it, the account's file.
func (s *Store) Preferred() (Place, error) {
	path := filepath.Join(s.cfg.Dir, placeFile)
	f, err := durable.OpenFile(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return PlaceFile, nil
	}
	if err != nil {
		return "", fmt.Errorf("accounts: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	word, err := io.ReadAll(io.LimitReader(f, 64))
	if err != nil {
		return "", fmt.Errorf("accounts: %w", err)
	}
	switch p := Place(strings.TrimSpace(string(word))); p {
	case PlaceFile, PlaceKeyring:
		return p, nil
	default:
		return "", fmt.Errorf("%s holds neither the word file nor the word keyring", path)
	}
}

// path is the file of an account. Its name says nothing of the account, and no issuer can choose it.
func (s *Store) path(k Key) string {
	sum := sha256.Sum256([]byte(k.Issuer + "\x00" + k.Label))
	return filepath.Join(s.cfg.Dir, hex.EncodeToString(sum[:16])+fileSuffix)
}

// lock takes the account's lock. Whoever has it is the only one that uses the token or changes the file.
func (s *Store) lock(ctx context.Context, k Key) (unlock func(), err error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	unlock, err = home.LockFile(ctx, strings.TrimSuffix(s.path(k), fileSuffix)+lockSuffix, lockWait)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return unlock, err
}

// load reads an account's record, or gives ErrNone.
func (s *Store) load(k Key) (*record, error) {
	r, err := readRecord(s.path(k))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	if r.Issuer != k.Issuer || r.Label != k.Label {
		return nil, fmt.Errorf("account %s is not the one its name says", s.path(k))
	}
	return r, nil
}
