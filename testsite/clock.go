package testsite

import (
	"net/http"
	"sync/atomic"
	"time"
)

// movedClock is the Company's clock: another one, moved ahead by what the control port asked for. It is safe for
// concurrent use.
type movedClock struct {
	base  func() time.Time
	ahead atomic.Int64 // nanoseconds
}

func (c *movedClock) now() time.Time { return c.base().Add(time.Duration(c.ahead.Load())) }

// Advance moves the Company's clock ahead, for everything but its certificates.
func (s *Site) Advance(d time.Duration) { s.clock.ahead.Add(int64(d)) }

// dated has every answer dated by the Company's clock.
func (s *Site) dated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
		next.ServeHTTP(w, r)
	})
}

// Profile is the version of the protocol that the Company speaks.
func (s *Site) Profile() string { return s.profile.Version }
