package opsweb

import (
	"fmt"
	"net/url"

	"github.com/papaver-agent/papaver/operation"
)

// place is a page's address as people say it: host and path. What follows a question mark can hold anything.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "a page"
	}
	return u.Host + u.EscapedPath()
}

// differences are the lines, each beginning "Differs:", that the User is to see beside the terms: what the terms and
// the summary say against each other and against the act, what changed since the revision before, and a reference that
// came from somewhere else than the Company.
func (r *round) differences() []string {
	met := r.held.URL()
	var lines []string
	if r.gone() {
		met, lines = r.resumed.url(), r.resumed.differences(r.op)
	} else {
		lines = append([]string{}, operation.Differences(r.op, r.facts())...) // never null in an event
	}
	if r.previous != nil {
		lines = append(lines, operation.Revised(r.previous.Terms, r.op.Terms)...)
		if r.previous.ExpiresAtSent != r.op.ExpiresAtSent {
			lines = append(lines, fmt.Sprintf("Differs: the deadline changed: %s → %s", r.previous.ExpiresAtSent, r.op.ExpiresAtSent))
		}
	}
	if r.alive != nil && r.alive.revision != r.op.Revision {
		lines = append(lines, fmt.Sprintf("Differs: the approval of revision %s is recorded already and can be used until %s, whatever is answered here", r.alive.revision, r.alive.ends))
	}
	if host := hostOf(met); !r.site.company.Holds(host) {
		lines = append(lines, fmt.Sprintf("Differs: the reference came from %s, not from the Company's domain", host))
	}
	return lines
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// originOf is a response's origin as a browser writes it; empty for an address that has none.
func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// facts is what our act gave, for the comparison. What was typed as a secret is in none of it.
func (r *round) facts() operation.ActFacts {
	a := r.act()
	if a == nil {
		return operation.ActFacts{None: true}
	}
	facts := operation.ActFacts{Label: a.Control.Name, Values: a.Form}
	for _, path := range a.Act.Selectors {
		facts.Words = append(facts.Words, path...)
	}
	if u, err := url.Parse(a.Page); err == nil {
		facts.Words = append(facts.Words, u.Path)
	}
	if u, err := url.Parse(a.Act.URL); err == nil {
		facts.Words = append(facts.Words, u.Path)
	}
	return facts
}
