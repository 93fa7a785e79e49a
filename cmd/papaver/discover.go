package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/reach"
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

// discovered is the last line of `discover --json`. What is offered is there only when everything agrees.
type discovered struct {
	Company   string   `json:"company"`
	Agrees    bool     `json:"agrees"`
	Published bool     `json:"published"` // false: the host answers that there is no poppy.json
	Failed    int      `json:"failed"`    // rules
	Versions  []string `json:"protocol_versions"`
	Name      string   `json:"name,omitempty"`
	Issuer    string   `json:"issuer,omitempty"`
	Join      string   `json:"join_endpoint,omitempty"`
	Endpoint  string   `json:"operations_endpoint,omitempty"`
}

// runDiscover asks for what is published now: no stored copy is used, and what is read replaces it.
func runDiscover(ctx context.Context, e env, args []string) error {
	f := newFlags("discover")
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
	way, err := reach.New(reach.Config{ConnectTo: given.connectTo, CACerts: given.cacerts})
	if err != nil {
		return err
	}
	var cache *company.Cache // none for test hosts: their documents must not stand for the real ones later
	if len(given.connectTo) == 0 {
		if cache, err = f.documents(e); err != nil {
			return err
		}
	}
	report := company.Examine(ctx, way.Client(documentTimeout), where, company.Options{Cache: cache.Anew()})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out := lines{w: e.stdout}
	if f.json {
		writeReport(&out, where, report)
	} else {
		printReport(e, where, report)
	}
	if report.Company == nil {
		return exitCode(exitError)
	}
	return out.failed()
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

func writeReport(out *lines, where company.Address, r *company.Report) {
	for _, f := range r.Findings {
		out.write(lineOf(f))
	}
	end := discovered{Company: where.Domain(), Agrees: r.Company != nil, Versions: []string{}}
	end.Failed, end.Published = failures(r)
	for _, v := range r.Versions {
		end.Versions = append(end.Versions, plaintext.Whole(v).String())
	}
	if c := r.Company; c != nil {
		end.Name, end.Issuer = plaintext.Whole(c.Name).String(), plaintext.Whole(c.Issuer).String()
		end.Join, end.Endpoint = plaintext.Whole(c.JoinEndpoint).String(), plaintext.Whole(c.OperationsEndpoint).String()
	}
	out.write(end)
}

func printReport(e env, where company.Address, r *company.Report) {
	domain := plaintext.Domain(where.Domain())
	if r.Company != nil {
		printOffer(e, r)
	}
	for _, f := range r.Findings {
		line := lineOf(f)
		mark := map[company.Verdict]string{company.OK: "ok   ", company.Failed: "FAIL ", company.NotReached: "-    "}[line.Verdict]
		fmt.Fprintf(e.stdout, "%s%s\n", mark, line.Rule)
		switch line.Verdict {
		case company.OK:
			fmt.Fprintf(e.stdout, "       found:  %s\n", line.Found)
		case company.Failed:
			fmt.Fprintf(e.stdout, "       at:     %s\n       found:  %s\n       change: %s\n", line.URL, line.Found, line.Change)
		case company.NotReached:
			fmt.Fprintln(e.stdout, "       not reached: an earlier rule failed")
		}
	}
	switch failed, published := failures(r); {
	case r.Company != nil:
		fmt.Fprintf(e.stdout, "%s: everything agrees\n", domain)
	case !published:
		fmt.Fprintf(e.stdout, "%s publishes no poppy.json: it is browsed as an ordinary site, by a signed-out visitor\n", domain)
	default:
		fmt.Fprintf(e.stdout, "%s: %d of %d rules failed, so nothing that it offers is used\n", domain, failed, len(r.Findings))
	}
}

// printOffer says in plain words what the Company offers.
func printOffer(e env, r *company.Report) {
	c := r.Company
	say := func(label, value string) {
		fmt.Fprintf(e.stdout, "  %-18s %s\n", label, plaintext.Whole(value))
	}
	if c.Name == "" {
		fmt.Fprintf(e.stdout, "%s gives itself no name\n", plaintext.Domain(c.Domain))
	} else {
		fmt.Fprintf(e.stdout, "%s calls itself %s\n", plaintext.Domain(c.Domain), plaintext.Quote(c.Name))
	}
	for _, v := range r.Versions {
		say("protocol version", v)
	}
	say("issuer", c.Issuer)
	if c.Joinable() {
		say("join", c.JoinEndpoint)
	} else {
		say("join", "none: it is browsed as an ordinary site, by a signed-out visitor")
	}
	switch {
	case c.OperationsEndpoint != "":
		say("operations", c.OperationsEndpoint)
	case c.OperationsListed:
		say("operations", "none on its website")
	default:
		say("operations", "none in our version")
	}
	fmt.Fprintln(e.stdout)
}
