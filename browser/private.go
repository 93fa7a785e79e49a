package browser

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/papaver-agent/papaver/internal/secret"
)

// leftOutValue stands where a secret stood.
const leftOutValue = "(a secret, left out)"

// private is what was entered as secrets in a context, so that nothing that is told of its pages repeats it. Safe for
// concurrent use.
type private struct {
	mu      sync.Mutex
	spelled []secret.Text // in each way that a page or an address may write it, the longest first
}

// add takes a secret that is about to be entered.
func (p *private) add(entered secret.Text) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, way := range spellings(entered.Reveal()) {
		if strings.TrimSpace(way) != "" && !slices.ContainsFunc(p.spelled, func(s secret.Text) bool { return s.Reveal() == way }) {
			p.spelled = append(p.spelled, secret.New(way))
		}
	}
	slices.SortStableFunc(p.spelled, func(a, b secret.Text) int { return len(b.Reveal()) - len(a.Reveal()) })
}

// spellings are a text as it is, with single spaces, as a Go string, and as forms and scripts write it into addresses.
func spellings(s string) []string {
	inQuery := url.QueryEscape(s)
	inForm := strings.NewReplacer("%2A", "*", "~", "%7E").Replace(inQuery) // the URL standard's application/x-www-form-urlencoded
	component := strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(inQuery)
	quoted := strconv.Quote(s)
	return []string{s, strings.Join(strings.Fields(s), " "), inQuery, inForm, component, url.PathEscape(s), quoted[1 : len(quoted)-1]}
}

// in reports whether a text holds a secret.
func (p *private) in(s string) bool { return p.leftOut(s) != s }

// leftOut is a text without the secrets in it.
func (p *private) leftOut(s string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pairs []string
	for _, way := range p.spelled {
		pairs = append(pairs, way.Reveal(), leftOutValue)
	}
	return strings.NewReplacer(pairs...).Replace(s) // at each place the first of them that fits
}

// outOf is an error whose text is without the secrets. What it wraps is the same.
func (p *private) outOf(err error) error {
	if err == nil || !p.in(err.Error()) {
		return err
	}
	return &untold{text: p.leftOut(err.Error()), err: err}
}

// untold is an error that would repeat a secret.
type untold struct {
	text string
	err  error
}

// Error implements error.
func (e *untold) Error() string { return e.text }

// Unwrap returns the error whose text is not repeated.
func (e *untold) Unwrap() error { return e.err }
