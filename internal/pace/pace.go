// Package pace leaves others alone for as long as they ask. An answer 429 or 503 with Retry-After (RFC 9110, section
// 10.2.3; RFC 6585) holds every later request to the same Company, on whatever client, until then. It only waits: a
// request that was answered is never made again here.
package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// LongestWait is how long a request waits at most: one that would have to wait longer is not sent.
	LongestWait = 10 * time.Minute
	// longestHold is how long a hold lasts at most: more is taken for a mistake.
	longestHold = 24 * time.Hour
	// firstSilent is the hold of a 429 without Retry-After. Each further one doubles it, up to longestSilent.
	firstSilent   = 5 * time.Second
	longestSilent = time.Minute
	// Those who waited go on one after another, each at a moment by chance in this time after the end of the hold.
	leastSpread = time.Second
	mostSpread  = 5 * time.Second
	// notable is by how much a hold must grow to be told once more.
	notable = time.Second
	// maxSeconds stands for every longer Retry-After.
	maxSeconds = 1 << 31
)

// ErrHeld is in the error of a request that was not sent, because the Company's hold outlasts its context or LongestWait.
var ErrHeld = errors.New("not sent, since it asks to be left alone for longer than this can wait")

// HeldError is the error of a request that was not sent. It unwraps to [ErrHeld].
type HeldError struct {
	Company string
	Left    time.Duration // how long the hold still lasts
	Err     error         // the context's, when that ended while the request waited; else nil
}

// Error names the Company and the time.
func (e *HeldError) Error() string {
	s := fmt.Sprintf("%s: %v: %v", e.Company, ErrHeld, e.Left.Round(time.Second))
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns ErrHeld and the context's error.
func (e *HeldError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrHeld}
	}
	return []error{ErrHeld, e.Err}
}

// Hold is one Company's wish to be left alone.
type Hold struct {
	Company string
	Status  int           // 429 or 503
	Asked   time.Duration // by Retry-After; 0 when it said nothing
	For     time.Duration // how long no request is sent, from now; at most a day
}

// Config is what a [Pace] is made of. Company is required.
type Config struct {
	// Company names the Company that a request's host belongs to; requests with the empty name are not paced. It is
	// called by many goroutines at once.
	Company func(host string) string
	// Told hears of each hold when it begins or grows, in the goroutine of the request whose answer asked for it. It
	// must not wait. May be nil.
	Told func(Hold)
	// Now is the clock that dates are compared with; time.Now when nil.
	Now func() time.Time
	// Chance gives numbers in [0, 1) and is called by many goroutines at once; math/rand/v2's when nil.
	Chance func() float64
}

// Pace holds requests by Company. Safe for concurrent use.
type Pace struct {
	cfg Config

	mu    sync.Mutex
	holds map[string]hold // of those that asked for one and gave no good answer since
}

type hold struct {
	began, until time.Time
	silent       int // how many 429 without Retry-After came one after another
}

// New returns a Pace without any hold.
func New(cfg Config) *Pace {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Chance == nil {
		cfg.Chance = rand.Float64
	}
	return &Pace{cfg: cfg, holds: make(map[string]hold)}
}

// Wrap returns a transport that sends by base and shares the holds with every other one of p. Its RoundTrip waits
// while the Company is held. When the hold outlasts LongestWait or the request's deadline it does not wait at all, and
// when the request's context ends it waits no longer: a *[HeldError], and nothing was sent.
func (p *Pace) Wrap(base http.RoundTripper) http.RoundTripper { return transport{p, base} }

type transport struct {
	pace *Pace
	base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	company := t.pace.cfg.Company(req.URL.Hostname())
	if company == "" {
		return t.base.RoundTrip(req)
	}
	if err := t.pace.wait(req.Context(), company); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // as every RoundTripper must
		}
		return nil, err
	}
	sent := t.pace.cfg.Now()
	res, err := t.base.RoundTrip(req)
	if err == nil {
		t.pace.heard(company, sent, res)
	}
	return res, err
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] reach the base.
func (t transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Heard takes note of an answer that came by another way than a wrapped transport, such as a browser's: its status, and
// its Retry-After as sent, empty when there was none.
func (p *Pace) Heard(company string, status int, retryAfter string) {
	header := make(http.Header)
	if retryAfter != "" {
		header.Set("Retry-After", retryAfter)
	}
	p.heard(company, p.cfg.Now(), &http.Response{StatusCode: status, Header: header})
}

// Wait returns when the Company is not held, before a request that goes another way than a wrapped transport. Its error
// is a *[HeldError], as that of a RoundTrip.
func (p *Pace) Wait(ctx context.Context, company string) error { return p.wait(ctx, company) }

// wait returns when the Company is not held. Another's answer may hold it again in the meantime, so it looks again.
func (p *Pace) wait(ctx context.Context, company string) error {
	began := p.cfg.Now()
	for {
		left, spread := p.left(company)
		if left <= 0 {
			return nil
		}
		waited := p.cfg.Now().Sub(began)
		if deadline, ok := ctx.Deadline(); waited+left > LongestWait || ok && time.Until(deadline) < left {
			return &HeldError{Company: company, Left: left}
		}
		timer := time.NewTimer(left + time.Duration(p.cfg.Chance()*float64(spread)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return &HeldError{Company: company, Left: left, Err: ctx.Err()}
		}
	}
}

// left is how long the Company is held, and over which time those who wait for the end go on.
func (p *Pace) left(company string) (left, spread time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.holds[company]
	return h.until.Sub(p.cfg.Now()), min(max(h.until.Sub(h.began)/4, leastSpread), mostSpread)
}

// heard takes note of an answer to a request that was sent at a time.
func (p *Pace) heard(company string, sent time.Time, res *http.Response) {
	now := p.cfg.Now()
	asked, stated := retryAfter(res.Header, now)
	limited := res.StatusCode == http.StatusTooManyRequests
	if !limited && !(res.StatusCode == http.StatusServiceUnavailable && stated) {
		p.good(company, sent)
		return
	}
	hold, told := p.hold(company, sent, now, asked, stated)
	if told && p.cfg.Told != nil {
		hold.Status = res.StatusCode
		p.cfg.Told(hold)
	}
}

// hold begins or lengthens the Company's hold, and reports whether that is worth telling.
func (p *Pace) hold(company string, sent, now time.Time, asked time.Duration, stated bool) (Hold, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.holds[company]
	length := min(asked, longestHold)
	if !stated {
		if !sent.After(h.began) {
			return Hold{}, false // it was under way when the hold began, and says nothing new
		}
		length = min(firstSilent<<min(h.silent, 8), longestSilent)
		h.silent++
	} else {
		h.silent = 0
	}
	running := max(h.until.Sub(now), 0)
	if length > running {
		if running == 0 {
			h.began = now
		}
		h.until = now.Add(length)
	}
	p.holds[company] = h
	return Hold{Company: company, Asked: asked, For: length}, length-running >= notable
}

// good forgets a hold that is over, once the Company answers again.
func (p *Pace) good(company string, sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h, ok := p.holds[company]; ok && !sent.Before(h.until) {
		delete(p.holds, company)
	}
}

// retryAfter reads both forms of Retry-After, and reports whether it says anything. A date is compared with the
// answer's own, so that two clocks that differ do no harm. No time and what is past say nothing.
func retryAfter(header http.Header, now time.Time) (after time.Duration, stated bool) {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		after = time.Duration(min(seconds, maxSeconds)) * time.Second
		return after, after > 0
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	after = max(at.Sub(now), 0)
	return after, after > 0
}

// RetryAfter reads an answer's Retry-After in both of its forms (RFC 9110, section 10.2.3), for those who keep to it in their
// own way: how long to wait, and at most longest. A date is compared with the answer's own Date, and with now where it has
// none. What is neither, or is in the past, is 0.
func RetryAfter(header http.Header, now time.Time, longest time.Duration) time.Duration {
	after, _ := retryAfter(header, now)
	return min(after, longest)
}
