package browser

import (
	"context"
	"net/http"
	"time"
)

// Limited is a response that says that requests come too often, or that the server is too busy, and when to come again.
type Limited struct {
	Context ContextID
	Status  int // 429 or 503
	// RetryAfter is the Retry-After header as sent (RFC 9110, section 10.2.3): seconds or a date, nothing of it checked.
	RetryAfter string
	URL        string // of the request
	At         time.Time
}

const retryAfter = "Retry-After"

// limits reports whether a response says when to come again. It looks at the status first, which is all that any other
// response costs.
func limits(p Paused) bool {
	return (p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable) && len(p.values(retryAfter)) > 0
}

// limited tells of a response that limits, when a context of ours received it.
func (b *Browser) limited(ctx context.Context, p Paused) {
	at, known := b.spotOf(ctx, p)
	b.mu.Lock()
	_, ours := b.contexts[at.context]
	b.mu.Unlock()
	if known && ours {
		b.cfg.OnLimited(Limited{Context: at.context, Status: p.Status, RetryAfter: p.values(retryAfter)[0], URL: p.URL, At: b.cfg.Now()})
	}
}
