package agent

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/pace"
)

// refusals are what a website refused to the present act for a while (429, or 503 with Retry-After). Safe for concurrent
// use.
type refusals struct {
	mu   sync.Mutex
	urls []string
}

// maxRefusals bounds what one act's page can have us remember.
const maxRefusals = 64

func (r *refusals) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.urls = nil
}

func (r *refusals) add(url string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.urls) < maxRefusals {
		r.urls = append(r.urls, url)
	}
}

func (r *refusals) have(address string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.urls, func(other string) bool { return canonical(other) == canonical(address) })
}

// canonical is an address as a browser spells it, without its fragment.
func canonical(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Host, u.Fragment = strings.ToLower(strings.TrimSuffix(u.Host, ":443")), ""
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String()
}

// visits are the visits of a run. Safe for concurrent use.
type visits struct {
	mu       sync.Mutex
	list     []*Visit
	expected []*company.Company // of visits that are not yet among them
}

// expect has the requests to a Company whose visit is about to begin paced as that visit's, until the function that is
// returned is called.
func (s *visits) expect(c *company.Company) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected = append(s.expected, c)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.expected = slices.DeleteFunc(s.expected, func(other *company.Company) bool { return other == c })
	}
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

// find returns the first visit that is meant, or nil.
func (s *visits) find(meant func(*Visit) bool) *Visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.IndexFunc(s.list, meant); at >= 0 {
		return s.list[at]
	}
	return nil
}

// company names the Company that a host belongs to, so that all requests to one are paced together: the Company of a
// visit whose documents name the host, else the host itself.
func (s *visits) company(host string) string {
	if v := s.find(func(v *Visit) bool { return names(v.company, host) }); v != nil {
		return v.company.Domain
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.IndexFunc(s.expected, func(c *company.Company) bool { return names(c, host) }); at >= 0 {
		return s.expected[at].Domain
	}
	return host
}

// names reports whether a host is the Company's, or one that its documents have us ask.
func names(c *company.Company, host string) bool {
	return c.Holds(host) || slices.ContainsFunc([]string{c.Issuer, c.JoinEndpoint, c.OperationsEndpoint, c.Server.Token, c.Server.Revocation, c.Server.Device}, func(at string) bool {
		u, err := url.Parse(at)
		return err == nil && u.Hostname() == host
	})
}

// limited takes a response that says when to come again. Only the Company's own hold its website back.
func (a *Agent) limited(l browser.Limited) {
	v := a.visits.find(func(v *Visit) bool { return v.context.ID() == l.Context })
	u, err := url.Parse(l.URL)
	if v == nil || err != nil || !names(v.company, u.Hostname()) {
		return
	}
	v.refused.add(l.URL)
	a.pace.Heard(v.company.Domain, l.Status, l.RetryAfter)
}

// held tells the User that a Company wants to be left alone, and for how long.
func (a *Agent) held(h pace.Hold) {
	until := a.cfg.Now().Add(h.For)
	a.progress.doing(h.Company + " asks to be left alone until " + until.Format("15:04:05"))
	a.emit(Event{Time: a.cfg.Now(), Name: "waiting", Body: Waiting{Company: h.Company, Status: h.Status, Until: until}})
}
