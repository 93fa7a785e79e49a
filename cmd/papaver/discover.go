package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/profile"
)

// documentTimeout bounds one request for a document, its answer included.
const documentTimeout = 15 * time.Second

// ruled is a rule's line of `discover --json`.
type ruled struct {
	Rule    string          `json:"rule"`
	URL     string          `json:"url,omitempty"`
	Verdict company.Verdict `json:"verdict"`
	Found   string          `json:"found,omitempty"`
	Change  string          `json:"change,omitempty"`
}

// runDiscover asks for what is published now: no stored copy is used, and what is read replaces it.
func runDiscover(ctx context.Context, e env, args []string) error {
	f := newFlags("discover")
	forced := f.addProfile("judge by the rules of this protocol `VERSION` (1.0, 0.2 or 0.1), whatever is listed")
	given := f.addWay()
	words, err := f.parse(e, args, 1, 1)
	if err != nil {
		return err
	}
	where, err := company.ParseAddress(words[0])
	if err != nil {
		return usageError{err.Error()}
	}
	if err := given.check(); err != nil {
		return err
	}
	how := company.Options{Profile: forced.forced}
	way, err := reach.New(reach.Config{ConnectTo: given.connectTo, CACerts: given.cacerts})
	if err != nil {
		return err
	}
	if len(given.connectTo) == 0 { // what a test host publishes must not stand for the real one's later
		cache, err := f.documents(e)
		if err != nil {
			return err
		}
		how.Cache = cache.Anew()
	}
	report := company.Examine(ctx, way.Client(documentTimeout), where, how)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out := lines{w: e.stdout}
	if f.json {
		writeReport(&out, where, report)
	} else {
		printReport(e.stdout, where, report, how.Profile != nil)
	}
	if report.Company == nil {
		return exitCode(exitError)
	}
	return out.failed()
}

// versions are those that we speak, the newest first.
func versions() []string {
	var all []string
	for _, p := range profile.All() {
		all = append(all, p.Version)
	}
	return all
}

// documents is the home's cache of what Companies publish.
func (f *flags) documents(e env) (*company.Cache, error) {
	dir, err := f.homeDir(e)
	if err != nil {
		return nil, err
	}
	h, err := home.Open(dir)
	if err != nil {
		return nil, err
	}
	return company.OpenCache(h.Companies(), e.now)
}

// failures counts the failed rules, and reports whether anything is published.
func failures(r *company.Report) (failed int, published bool) {
	published = true
	for _, f := range r.Findings {
		if f.Err != nil {
			failed++
			published = published && !errors.Is(f.Err, company.ErrNothingPublished)
		}
	}
	return failed, published
}

// lineOf is a finding with nothing in it that could move a cursor.
func lineOf(f company.Finding) ruled {
	line := ruled{Rule: f.Rule, URL: plaintext.Whole(f.URL).String(), Verdict: f.Verdict, Found: plaintext.Whole(f.Found).String()}
	if f.Err != nil {
		line.Change = f.Err.Change
	}
	return line
}

func printReport(w io.Writer, where company.Address, r *company.Report, forced bool) {
	domain := plaintext.Domain(where.Domain())
	if r.Company != nil {
		printOffer(w, r, forced)
	}
	at := ""
	for _, f := range r.Findings {
		line := lineOf(f)
		if line.URL != at && line.URL != "" {
			at = line.URL
			fmt.Fprintln(w, at)
		}
		mark := map[company.Verdict]string{company.OK: "ok   ", company.Failed: "FAIL ", company.NotReached: "-    "}[line.Verdict]
		reason := ""
		if line.Verdict == company.NotReached {
			reason = " (not reached: an earlier rule failed)"
		}
		fmt.Fprintf(w, "  %s%s%s\n", mark, line.Rule, reason)
		switch line.Verdict {
		case company.OK:
			fmt.Fprintf(w, "         found:  %s\n", line.Found)
		case company.Failed:
			fmt.Fprintf(w, "         found:  %s\n         change: %s\n", line.Found, line.Change)
		}
	}
	failed, published := failures(r)
	switch {
	case r.Company != nil:
		fmt.Fprintf(w, "%s: everything agrees, by the rules of protocol %s\n", domain, r.Profile.Version)
	case !published:
		fmt.Fprintf(w, "%s publishes no poppy.json: it is browsed as an ordinary site, by a signed-out visitor\n", domain)
	case r.Profile == nil && errors.Is(r.Failure(), company.ErrVersion):
		fmt.Fprintf(w, "%s lists no version that we speak, so nothing that it offers is used; --profile VERSION judges it by the rules of one\n", domain)
	case r.Profile == nil:
		fmt.Fprintf(w, "%s: poppy.json cannot be read, so nothing that it offers is used\n", domain)
	default:
		fmt.Fprintf(w, "%s: %d of %d rules of protocol %s failed, so nothing that it offers is used\n", domain, failed, len(r.Findings), r.Profile.Version)
	}
}
