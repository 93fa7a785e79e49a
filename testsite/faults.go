package testsite

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Faults says where the Company behaves otherwise than a correct and lucky one. The zero value is a correct Company.
// Counts go down by one each time they apply.
type Faults struct {
	// Declines holds, for each kind of action ("exchange", "address", "membership", "gift"), how its next approval is
	// declined. A decline is correct behaviour.
	Declines map[string]Decline
	// Prices holds amounts ("80.00") by kind ("exchange", "gift") that hold from the next look-up's answer on, so that an
	// approval of what that answer said is answered with new terms.
	Prices map[string]string
	// Performing is for how many look-ups the next performed operation is still being performed.
	Performing int

	RefuseJoins      int // joins answered with 400
	RedirectJoins    int // joins answered with 307, which would post the assertion elsewhere
	ForgetReferences int // look-ups answered with invalid_request
	OmitHeaders      int // website 403s without Poppy-Operation
	MalformHeaders   int // website 403s whose Poppy-Operation doesn't parse
	Undecodable      int // operations sent with a duplicate member
	LoseAnswers      int // approvals recorded, with the connection cut before the answer
	LoseResults      int // actions performed, with the connection cut before the browser's answer
	Redirects        int // endpoint requests answered with 307 to another place
	Unavailable      int // endpoint requests answered with 503

	// RetryAfter goes with Unavailable, in whole seconds. 0 sends no Retry-After.
	RetryAfter time.Duration
	// Disagree names a member of the discovery documents that doesn't agree with the others, or is empty: one of
	// Disagreements().
	Disagree string
}

// Decline is how an approval is declined (Operations v3, section 6). Both members may be empty.
type Decline struct {
	Reason       string // for the User
	Instructions string // of an alternative
	URL          string // of the alternative's web reference
}

// Disagreements lists what Faults.Disagree and Site.Disagree take.
func Disagreements() []string {
	return []string{"organization.domain", "auth.issuer", "resource", "authorization_servers", "issuer", "poppy_domains", "protected_resources"}
}

// faults holds the present Faults. It is safe for concurrent use.
type faults struct {
	mu sync.Mutex
	f  Faults
}

// change edits the faults.
func (b *faults) change(edit func(*Faults)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	edit(&b.f)
}

// take says whether a counted fault applies now, and counts it down.
func (b *faults) take(count func(*Faults) *int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := count(&b.f)
	if *n <= 0 {
		return false
	}
	*n--
	return true
}

// The switches. Each stands on the control port under its row's name in switches.

// Decline makes the next approval of the kind be declined.
func (s *Site) Decline(kind string, d Decline) {
	s.faults.change(func(f *Faults) { f.Declines = with(f.Declines, kind, d) })
}

// ChangePrice makes the amount ("80.00") hold for the kind from the next look-up's answer on.
func (s *Site) ChangePrice(kind, amount string) {
	s.faults.change(func(f *Faults) { f.Prices = with(f.Prices, kind, amount) })
}

// SetOperationLife sets how long revisions made from now on can be approved.
func (s *Site) SetOperationLife(life time.Duration) { s.life.Store(int64(life)) }

// HoldPerforming makes the next performed operation stay performing for so many look-ups. Nothing else ends it.
func (s *Site) HoldPerforming(lookUps int) {
	s.faults.change(func(f *Faults) { f.Performing = lookUps })
}

// RefuseJoins answers the next n joins with 400.
func (s *Site) RefuseJoins(n int) { s.faults.change(func(f *Faults) { f.RefuseJoins = n }) }

// RedirectJoins answers the next n joins with 307.
func (s *Site) RedirectJoins(n int) { s.faults.change(func(f *Faults) { f.RedirectJoins = n }) }

// ForgetReferences answers the next n look-ups with invalid_request.
func (s *Site) ForgetReferences(n int) { s.faults.change(func(f *Faults) { f.ForgetReferences = n }) }

// OmitHeaders sends the website's next n 403s without Poppy-Operation.
func (s *Site) OmitHeaders(n int) { s.faults.change(func(f *Faults) { f.OmitHeaders = n }) }

// MalformHeaders sends the website's next n 403s with a Poppy-Operation that doesn't parse.
func (s *Site) MalformHeaders(n int) { s.faults.change(func(f *Faults) { f.MalformHeaders = n }) }

// SendUndecodable sends the next n operations with a duplicate member.
func (s *Site) SendUndecodable(n int) { s.faults.change(func(f *Faults) { f.Undecodable = n }) }

// LoseAnswers records the next n approvals and cuts the connection instead of answering.
func (s *Site) LoseAnswers(n int) { s.faults.change(func(f *Faults) { f.LoseAnswers = n }) }

// LoseResults performs the next n approved actions and cuts the browser's connection instead of answering.
func (s *Site) LoseResults(n int) { s.faults.change(func(f *Faults) { f.LoseResults = n }) }

// RedirectEndpoint answers the next n endpoint requests with 307.
func (s *Site) RedirectEndpoint(n int) { s.faults.change(func(f *Faults) { f.Redirects = n }) }

// Unavailable answers the next n endpoint requests with 503, and Retry-After unless that is 0.
func (s *Site) Unavailable(n int, retryAfter time.Duration) {
	s.faults.change(func(f *Faults) { f.Unavailable, f.RetryAfter = n, retryAfter })
}

// Disagree makes one member of the discovery documents disagree with the others; "" makes all agree again. It returns
// an error for a member that isn't one of Disagreements.
func (s *Site) Disagree(member string) error {
	if member != "" && !slices.Contains(Disagreements(), member) {
		return fmt.Errorf("disagree: no member %q", member)
	}
	s.faults.change(func(f *Faults) { f.Disagree = member })
	return nil
}

// switchRow is one switch of the control port: POST /name with form values.
type switchRow struct {
	name string
	set  func(*Site, url.Values) error
}

// switches is the control port's table. Counts are in n, which is 1 when missing.
var switches = []switchRow{
	{"decline", func(s *Site, v url.Values) error {
		kind, err := kindOf(v)
		s.Decline(kind, Decline{Reason: v.Get("reason"), Instructions: v.Get("instructions"), URL: v.Get("url")})
		return err
	}},
	{"price", func(s *Site, v url.Values) error {
		kind, err := kindOf(v)
		if _, parsed := cents(v.Get("amount")); err == nil && !parsed {
			err = fmt.Errorf("amount: %q isn't like 80.00", v.Get("amount"))
		}
		if err == nil {
			s.ChangePrice(kind, v.Get("amount"))
		}
		return err
	}},
	{"life", func(s *Site, v url.Values) error {
		life, err := time.ParseDuration(v.Get("life"))
		if err == nil {
			s.SetOperationLife(life)
		}
		return err
	}},
	{"performing", counted((*Site).HoldPerforming)},
	{"refuse-join", counted((*Site).RefuseJoins)},
	{"redirect-join", counted((*Site).RedirectJoins)},
	{"invalid-request", counted((*Site).ForgetReferences)},
	{"omit-header", counted((*Site).OmitHeaders)},
	{"malform-header", counted((*Site).MalformHeaders)},
	{"undecodable", counted((*Site).SendUndecodable)},
	{"lose-answer", counted((*Site).LoseAnswers)},
	{"lose-result", counted((*Site).LoseResults)},
	{"redirect-endpoint", counted((*Site).RedirectEndpoint)},
	{"unavailable", func(s *Site, v url.Values) error {
		after, err := time.ParseDuration(v.Get("retry_after"))
		if v.Get("retry_after") == "" {
			after, err = 0, nil
		}
		if err != nil {
			return err
		}
		return counted(func(s *Site, n int) { s.Unavailable(n, after) })(s, v)
	}},
	{"disagree", func(s *Site, v url.Values) error { return s.Disagree(v.Get("member")) }},
}

// counted makes a switch of a method that takes a count.
func counted(set func(*Site, int)) func(*Site, url.Values) error {
	return func(s *Site, v url.Values) error {
		n := 1
		if given := v.Get("n"); given != "" {
			var err error
			if n, err = strconv.Atoi(given); err != nil || n < 0 {
				return fmt.Errorf("n: %q isn't a count", given)
			}
		}
		set(s, n)
		return nil
	}
}

// kindOf reads the kind of action of a switch.
func kindOf(v url.Values) (string, error) {
	if kind := v.Get("kind"); prefixOf(kind) != "" {
		return kind, nil
	}
	return "", fmt.Errorf("kind: %q isn't exchange, address, membership or gift", v.Get("kind"))
}

// with gives a copy of m that holds the pair, so that a map in a Config is never written to.
func with[V any](m map[string]V, key string, value V) map[string]V {
	c := make(map[string]V, len(m)+1)
	for k, v := range m {
		c[k] = v
	}
	c[key] = value
	return c
}

// takeKeyed takes the entry of a kind out of a map of the faults.
func takeKeyed[V any](b *faults, kind string, of func(*Faults) *map[string]V) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := of(&b.f)
	value, found := (*m)[kind]
	if found {
		rest := with(*m, kind, value)
		delete(rest, kind)
		*m = rest
	}
	return value, found
}
