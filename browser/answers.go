package browser

import (
	"net/http"
	"slices"
	"sync"
)

const (
	maxFrames  = 4096 // whose last document is remembered
	maxRefused = 256  // refusals whose repeats are looked for
)

// answers is what is remembered of the responses to every frame, to tell whether the request of one that refused has to be
// made again, and how. Safe for concurrent use.
type answers struct {
	mu        sync.Mutex
	documents map[TargetID]Paused // the last response to a navigation of each frame, without its headers
	order     []TargetID          // of documents, oldest first
	refusals  []*watchedRefusal
}

// watchedRefusal is a response with the watched header, and what came of its request being made again since.
type watchedRefusal struct {
	paused   Paused
	repeated bool          // it got another answer
	arrived  chan struct{} // closed when that is a document, and no redirect
	underWay RequestID     // of the last repeat that has no answer yet; empty for none
}

// repeats reports whether a request is that of the refusal once more.
func (r *watchedRefusal) repeats(frame TargetID, method, url string) bool {
	return r.paused.Frame == frame && r.paused.Method == method && r.paused.URL == url
}

// sent takes a request that is sent.
func (a *answers) sent(s SentRequest) {
	if s.ID == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.refusals {
		if r.repeats(s.Frame, s.Method, s.URL) {
			r.underWay = s.ID
		}
	}
}

func newAnswers() *answers { return &answers{documents: make(map[TargetID]Paused)} }

// saw takes a response. One with the watched header is a refusal, whose request may come again.
func (a *answers) saw(p Paused, watched bool) {
	p.Headers = nil
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.refusals {
		// A response that is no refusal and no failure, to the same request of the same frame.
		if r.repeats(p.Frame, p.Method, p.URL) && p.Status != http.StatusForbidden && !p.failed() {
			if !r.repeated && p.Resource == "Document" && p.Status < http.StatusMultipleChoices {
				close(r.arrived)
			}
			r.repeated = true
		}
		if p.Request != "" && r.underWay == p.Request {
			r.underWay = ""
		}
	}
	if watched {
		a.refusals = append(a.refusals, &watchedRefusal{paused: p, arrived: make(chan struct{})})
		if len(a.refusals) > maxRefused {
			a.refusals = slices.Delete(a.refusals, 0, 1)
		}
	}
	if p.Resource != "Document" {
		return
	}
	if _, known := a.documents[p.Frame]; !known {
		a.order = append(a.order, p.Frame)
	}
	a.documents[p.Frame] = p
	if len(a.order) > maxFrames {
		delete(a.documents, a.order[0])
		a.order = slices.Delete(a.order, 0, 1)
	}
}

// document is the last response to a navigation of a frame.
func (a *answers) document(frame TargetID) Paused {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.documents[frame]
}

// repeated reports whether the request of a refusal was made again since, and got an answer that is no refusal and no
// failure, or none yet while its tab is busy: a request that was given up gets none.
func (a *answers) repeated(p Paused, busy bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.refusals, func(r *watchedRefusal) bool {
		return r.paused.ID == p.ID && (r.repeated || busy && r.underWay != "")
	})
}

// answered returns a channel that is closed when the request of a refused document was made again and got a document that is
// no refusal, no failure and no redirect. Of any other refusal it never is.
func (a *answers) answered(p Paused) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.refusals {
		if r.paused.ID == p.ID {
			return r.arrived
		}
	}
	return nil
}
