package opsweb

import (
	"slices"

	"github.com/papaver-agent/papaver/browser"
)

// maxSuccessors is how many references that came beside its own a round keeps.
const maxSuccessors = 8

// successor is a reference that came when the browser made a round's act again.
type successor struct {
	reference Reference
	held      browser.Held
	own       bool // the round's very request brought it, not another one of the same page
	same      bool // it names the round's own operation
}

// ownLocked reports whether h is the round's very request, made again.
func (r *round) ownLocked(h browser.Held) bool {
	return r.held.Method() == h.Method() && r.held.URL() == h.URL()
}

func (r *round) succeeds(s successor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keepLocked(s)
}

// keepLocked keeps a reference, with r.mu held. A newer one of the very request takes the older one's place; when there are
// too many, the oldest of another request goes.
func (r *round) keepLocked(s successor) {
	if s.own {
		r.dropOwnLocked()
	}
	if len(r.next) >= maxSuccessors {
		oldest := max(0, slices.IndexFunc(r.next, func(s successor) bool { return !s.own }))
		r.next = slices.Delete(r.next, oldest, oldest+1)
	}
	r.next = append(r.next, s)
}

func (r *round) dropOwnLocked() {
	r.next = slices.DeleteFunc(r.next, func(s successor) bool { return s.own })
}

// dropOwn forgets what the round's own request brought so far.
func (r *round) dropOwn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropOwnLocked()
}

// takeSuccessor returns the reference that the round's own request brought, or else the newest of the others; nil when there
// is none.
func (r *round) takeSuccessor() *successor {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.next) == 0 {
		return nil
	}
	at := slices.IndexFunc(r.next, func(s successor) bool { return s.own })
	if at < 0 {
		at = len(r.next) - 1
	}
	s := r.next[at]
	r.next = slices.Delete(r.next, at, at+1)
	return &s
}
