// Package skew compares this machine's clock with those of Companies, by the Date of their answers (RFC 9110, section
// 6.6.1). When an operation ends is the Company's word, so the Company's clock decides whether it has ended; ours may be
// wrong, or be set at any moment.
//
// Nothing that we sign is dated by a Company's clock: one that could move our dates could have statements made for later.
package skew

import (
	"net/http"
	"sync"
	"time"
)

const (
	// Notable is from which difference on two clocks are told to differ.
	Notable = 10 * time.Second
	// longestTrip is how long the head of an answer may take that is still taken for the time.
	longestTrip = 5 * time.Second
	// dateStep is how exact a Date is.
	dateStep = time.Second
)

// Difference is what is to be told of two clocks.
type Difference struct {
	Company string
	// Ahead is by how much our clock is ahead of the Company's, negative when it is behind.
	Ahead time.Duration
	// Set is by how much our clock was set forward since it was compared, negative when it was set back; 0 when it went on
	// as clocks do.
	Set time.Duration
}

// Config is what a [Clocks] is made of. Company is required.
type Config struct {
	// Company names the Company that a request's host belongs to; answers to requests with the empty name are not read. It
	// is called by many goroutines at once.
	Company func(host string) string
	// Told hears when a clock is found to differ by Notable or more, when that changed by as much, and when it no longer
	// does, in the goroutine that found it. It must not wait, and not call the Clocks. May be nil.
	Told func(Difference)
	// Moved hears that Ahead says something else of a Company than before its last answer, in the goroutine that found it. It
	// must not wait, and not call the Clocks. May be nil. That our own clock was set is told by [Watch].
	Moved func()
	// Now is this machine's clock; time.Now when nil.
	Now func() time.Time
	// Steady is the time since some moment, by a clock that nobody sets and that goes on while the machine sleeps; the
	// machine's own when nil.
	Steady func() time.Duration
}

// Clocks knows how our clock and those of Companies differ. Safe for concurrent use.
type Clocks struct {
	cfg Config

	mu       sync.Mutex
	readings map[string]reading // by Company
}

// reading is one comparison.
type reading struct {
	at     time.Duration // by the steady clock
	ours   time.Time     // our clock then
	ahead  time.Duration // ours of the Company's; 0 when both may have been the same
	told   time.Duration // the difference that was last told
	toldOf time.Duration // the setting that was last told
}

// New returns a Clocks that has compared nothing.
func New(cfg Config) *Clocks {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Steady == nil {
		cfg.Steady = steady
	}
	return &Clocks{cfg: cfg, readings: make(map[string]reading)}
}

// Wrap returns a transport that sends by base and reads the Date of each answer.
func (c *Clocks) Wrap(base http.RoundTripper) http.RoundTripper { return transport{c, base} }

type transport struct {
	clocks *Clocks
	base   http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := t.clocks.cfg.Steady()
	res, err := t.base.RoundTrip(req)
	if err == nil {
		t.clocks.heard(t.clocks.cfg.Company(req.URL.Hostname()), res.Header, t.clocks.cfg.Steady()-sent)
	}
	return res, err
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] reach the base.
func (t transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// heard takes the Date of an answer whose request was sent a trip ago. It was made in that time, unless a cache kept it.
func (c *Clocks) heard(company string, header http.Header, trip time.Duration) {
	date, err := http.ParseTime(header.Get("Date"))
	if company == "" || err != nil || header.Get("Age") != "" || trip < 0 || trip > longestTrip {
		return
	}
	c.mu.Lock()
	at, ours := c.cfg.Steady(), c.cfg.Now().Round(0)
	// The Company's clock showed date, or up to a step more, at some moment of the trip.
	least, most := ours.Add(-trip).Sub(date)-dateStep, ours.Sub(date)
	r := reading{at: at, ours: ours}
	if least > 0 || most < 0 {
		r.ahead = least // of what it may be, this makes the Company's time the latest
	}
	before, compared := c.readings[company]
	r.told, r.toldOf = before.told, 0
	set, moved := time.Duration(0), r.ahead != 0
	if compared {
		set = before.set(at, ours) - before.toldOf
		moved = r.ahead != before.aheadAt(at, ours)
	}
	c.readings[company] = r
	c.mu.Unlock()
	if moved && c.cfg.Moved != nil {
		c.cfg.Moved()
	}
	c.tell(company, r.ahead, set, 0)
}

// set is by how much our clock was set since the reading.
func (r reading) set(at time.Duration, ours time.Time) time.Duration {
	return ours.Sub(r.ours) - (at - r.at)
}

// aheadAt is by how much our clock is ahead at a moment, as far as the reading tells.
func (r reading) aheadAt(at time.Duration, ours time.Time) time.Duration {
	set := r.set(at, ours)
	if set.Abs() < dateStep {
		set = 0 // a clock is always being put right a little
	}
	return r.ahead + set
}

// Ahead is by how much our clock is ahead of a Company's at this moment, negative when it is behind, and false when the two
// were never compared. It is 0 when both may be the same. What is not certain is decided so that the Company's time is rather
// the later one.
func (c *Clocks) Ahead(company string) (time.Duration, bool) {
	c.mu.Lock()
	r, ok := c.readings[company]
	if !ok {
		c.mu.Unlock()
		return 0, false
	}
	at, ours := c.cfg.Steady(), c.cfg.Now().Round(0)
	ahead := r.aheadAt(at, ours)
	set := ahead - r.ahead
	news := set - r.toldOf
	c.mu.Unlock()
	c.tell(company, ahead, news, set)
	return ahead, true
}

// Time is what a Company's clock shows at this moment: ours when the two were never compared.
func (c *Clocks) Time(company string) time.Time {
	ahead, _ := c.Ahead(company)
	return c.cfg.Now().Add(-ahead)
}

// tell tells a difference when it is news. set is a new setting of our clock, and whole all of it since the last reading.
func (c *Clocks) tell(company string, ahead, set, whole time.Duration) {
	c.mu.Lock()
	r := c.readings[company]
	far, was := ahead.Abs() >= Notable, r.told.Abs() >= Notable
	news := far != was || far && (ahead-r.told).Abs() >= Notable || set.Abs() >= Notable
	if news {
		r.told, r.toldOf = ahead, whole
		c.readings[company] = r
	}
	c.mu.Unlock()
	if !news || c.cfg.Told == nil {
		return
	}
	if set.Abs() < Notable {
		set = 0
	}
	c.cfg.Told(Difference{Company: company, Ahead: ahead, Set: set})
}
