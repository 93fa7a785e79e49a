package testsite

import (
	"net/http"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/testsite/authserver"
)

// ruleRateLimit is broken by an agent that doesn't wait after a 429.
const ruleRateLimit = "request-before-retry-after"

// limits answers the next few requests whose sender is verified with 429, when told to (draft 0.1, section 4.3). It is
// safe for concurrent use.
type limits struct {
	now    func() time.Time
	broken func(rule, seen string)

	mu    sync.Mutex
	times int
	after time.Duration
	until map[string]time.Time // by client
}

// set makes the next requests be answered with 429.
func (l *limits) set(times int, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times, l.after = times, after
}

// wait says for how long a client's request has to wait.
func (l *limits) wait(client string) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now().Before(l.until[client]) {
		l.broken(ruleRateLimit, "a request before Retry-After was over")
	}
	delete(l.until, client)
	if l.times <= 0 {
		return 0
	}
	l.times--
	l.until[client] = l.now().Add(l.after)
	return l.after
}

// RateLimit answers the next so many requests whose sender is verified with 429 and Retry-After.
func (s *Site) RateLimit(times int, after time.Duration) { s.limits.set(times, after) }

// limited answers 429 and says so when the client has to wait.
func (s *Site) limited(w http.ResponseWriter, client string) bool {
	wait := s.limits.wait(client)
	if wait <= 0 {
		return false
	}
	authserver.RetryAfter(w.Header(), wait)
	writeJSON(w, http.StatusTooManyRequests, errorBody{Error: "rate_limited"})
	return true
}
