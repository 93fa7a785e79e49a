package lock

import (
	"errors"

	"github.com/papaver-agent/papaver/internal/secret"
)

// ErrLocked is returned where the lock must be open and is not: the passphrase is needed.
var ErrLocked = errors.New("this home is locked: the User's passphrase is needed")

// Seals is how a home keeps its long-term keys and Account Tokens: sealed while it has a lock, else in the open. The zero
// value is that of a home without one. It is immutable and safe for concurrent use.
type Seals struct {
	dir string
	key *Key
}

// SealsOf is that of the home whose lock's folder is dir, with the lock open by key, or not when key is nil.
func SealsOf(dir string, key *Key) Seals { return Seals{dir: dir, key: key} }

// Lock is the home's lock, which must be open; nil when the home has none. ErrLocked when it is not open: what is
// only written in the file could be a stranger's, and what is sealed for that one is the stranger's. ErrChanged when the
// home's lock is not the open one any more.
func (s Seals) Lock() (*Lock, error) {
	if s.dir == "" {
		return nil, nil
	}
	now, err := Load(s.dir)
	switch {
	case errors.Is(err, ErrNone) && s.key == nil:
		return nil, nil
	case errors.Is(err, ErrNone):
		return nil, ErrChanged
	case err != nil:
		return nil, err
	case s.key == nil:
		return nil, ErrLocked
	case now.Fingerprint() != s.key.lock.Fingerprint():
		return nil, ErrChanged
	}
	return &s.key.lock, nil
}

// Seal closes text when the home has a lock; sealed is nil when it has none. Its errors are those of Lock.
func (s Seals) Seal(text secret.Text) (sealed []byte, err error) {
	l, err := s.Lock()
	if l == nil || err != nil {
		return nil, err
	}
	return l.Seal([]byte(text.Reveal()))
}

// Unseal opens what Seal closed; ErrLocked when the lock is not open, or gone.
func (s Seals) Unseal(sealed []byte) (secret.Text, error) {
	if s.key == nil {
		return secret.Text{}, ErrLocked
	}
	return s.key.Unseal(sealed)
}
