package session

import (
	"errors"

	"github.com/papaver-agent/papaver/profile"
)

// ErrNotContinued is returned where a Session can't be continued by its ID alone, because a token starts it.
var ErrNotContinued = errors.New("a Session that a token started can't be continued by another run")

// Earlier returns the Session that the same agent named id in an earlier run, for the same User at the same Company: to
// ask what became of what was begun in it. Its errors are ErrNotContinued and those of [New].
func (s *Session) Earlier(id string) (*Session, error) {
	if s.profile.Start == profile.StartToken {
		return nil, ErrNotContinued
	}
	e, err := New(s.cfg)
	if err != nil {
		return nil, err
	}
	e.id = id
	return e, nil
}
