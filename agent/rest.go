package agent

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/retryafter"
)

// longestRest is how long a Company's website is left alone at most, whatever it asks for.
const longestRest = 10 * time.Minute

// rest is how long a Company's website is to be left alone (draft 0.1, section 4.3). Safe for concurrent use.
type rest struct {
	mu     sync.Mutex
	until  time.Time
	status int
	urls   []string // that were refused since the present act began
}

// maxRefusedURLs bounds what one act's page can have us remember.
const maxRefusedURLs = 64

func (r *rest) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.urls = nil
}

// heard takes note of a response that says when to come again.
func (r *rest) heard(l browser.Limited) {
	after := retryafter.Read(l.RetryAfter, l.At, longestRest)
	r.mu.Lock()
	defer r.mu.Unlock()
	if until := l.At.Add(after); after > 0 && until.After(r.until) {
		r.until, r.status = until, l.Status
	}
	if len(r.urls) < maxRefusedURLs {
		r.urls = append(r.urls, l.URL)
	}
}

// asked reports whether the website asked to be left alone for a while.
func (r *rest) asked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.until.IsZero()
}

// refused reports whether a request for url was refused since the present act began.
func (r *rest) refused(url string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.urls, url)
}

func (r *rest) end() (until time.Time, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until, r.status
}

// wait returns when the website may be asked again, and tells the User how long that takes.
func (v *Visit) wait(ctx context.Context) error {
	a := v.agent
	until, status := v.rest.end()
	left := until.Sub(a.cfg.Now())
	if left <= 0 {
		return nil
	}
	a.progress.doing(fmt.Sprintf("waiting %s: %s asks to be left alone", left.Round(time.Second), v.company.Domain))
	a.emit(Event{Time: a.cfg.Now(), Name: "waiting", Body: Waiting{Company: v.company.Domain, Status: status, Until: until}})
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting until %s may be asked again: %w", v.company.Domain, ctx.Err())
	}
}

// visits are the visits of a run by their browser contexts. Safe for concurrent use.
type visits struct {
	mu   sync.Mutex
	list []*Visit
}

func (s *visits) add(v *Visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, v)
}

func (s *visits) remove(v *Visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = slices.DeleteFunc(s.list, func(other *Visit) bool { return other == v })
}

// limited takes a response that says when to come again. Only the Company's own holds its website back.
func (s *visits) limited(l browser.Limited) {
	s.mu.Lock()
	at := slices.IndexFunc(s.list, func(v *Visit) bool { return v.context.ID() == l.Context })
	var v *Visit
	if at >= 0 {
		v = s.list[at]
	}
	s.mu.Unlock()
	if v == nil {
		return
	}
	u, err := url.Parse(l.URL)
	if err == nil && (v.company.Holds(u.Host) || l.URL == v.company.JoinEndpoint) {
		v.rest.heard(l)
	}
}
