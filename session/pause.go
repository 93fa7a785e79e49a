package session

import (
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/internal/pace"
)

const (
	maxPause     = 24 * time.Hour  // a longer Retry-After is taken for a mistake and cut to this
	firstPause   = 5 * time.Second // after a 429 without Retry-After; doubled with each further one
	longestPause = time.Minute     // of those
)

// pauses remembers, for one Company, which of its places asked to be left alone, and until when. Safe for concurrent use.
type pauses struct {
	now func() time.Time

	mu     sync.Mutex
	places map[string]pause // at most one for each place in the Company's documents
}

type pause struct {
	until  time.Time
	status int
	silent int // how many 429 without Retry-After came one after another
}

func newPauses(now func() time.Time) *pauses {
	return &pauses{now: now, places: make(map[string]pause)}
}

// check returns a [*RateLimited] while place is paused.
func (p *pauses) check(place string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.places[place]
	if left := at.until.Sub(p.now()); left > 0 {
		return &RateLimited{Status: at.status, After: left}
	}
	return nil
}

// heard takes note of an answer of place: a [*RateLimited] when it asks to wait.
func (p *pauses) heard(place string, res *http.Response) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	after, at := pace.RetryAfter(res.Header, now, maxPause), p.places[place]
	switch {
	case res.StatusCode == http.StatusTooManyRequests && after == 0:
		after = min(firstPause<<min(at.silent, 8), longestPause)
		at.silent++
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusServiceUnavailable && after > 0:
		at.silent = 0
	default:
		if at.silent > 0 && res.StatusCode < http.StatusInternalServerError {
			delete(p.places, place)
		}
		return nil
	}
	at.status = res.StatusCode
	if until := now.Add(after); until.After(at.until) {
		at.until = until
	}
	p.places[place] = at
	return &RateLimited{Status: res.StatusCode, After: after}
}

func isJSON(header http.Header) bool {
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && media == "application/json"
}
