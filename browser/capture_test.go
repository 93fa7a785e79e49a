package browser_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/testsite"
	"github.com/papaver-agent/papaver/testsite/capture"
)

const (
	capturePatience = 10 * time.Second // from the press that causes a response to its sighting
	captureAtOnce   = 4                // rows that are played at the same time, each in a browser context of its own
)

// reasons are the bundled site's reasons in the judgement's words.
var reasons = map[capture.Reason]opsweb.Refusal{
	capture.OtherStatus: opsweb.NotA403, capture.Preflight: opsweb.Preflight, capture.Malformed: opsweb.Malformed, capture.NoSid: opsweb.NoSid,
	capture.NoRef: opsweb.NoRef, capture.OtherSid: opsweb.OtherSid, capture.BadRef: opsweb.BadRef, capture.Repeated: opsweb.SeenBefore,
	capture.Unjoined: opsweb.NotJoined,
}

// figures are what a driver made of the matrix.
type figures struct {
	counted int // rows whose reference was used, once
	refused int // rows whose response was seen, and refused for the right reason
	unseen  int // rows that are seen by nobody
	missed  int // rows of which not all came that should
	forged  int // references that were used and must not have been
}

// lab is a Chromium whose held responses go to the real judgement and its ledger, and Companies for it.
type lab struct {
	browser *browser.Browser
	ops     *opsweb.Operations
	ledger  string

	mu      sync.Mutex
	seen    map[string][]opsweb.Sighting // by the browser context that received them
	changed chan struct{}
}

// deaf is an operations endpoint that turns everybody away, so that what is accepted ends at once.
type deaf struct{}

func (deaf) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusUnauthorized, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

func newLab(t *testing.T, driver browser.Driver, sites ...*testsite.Site) *lab {
	t.Helper()
	t.Setenv("TMPDIR", shortTempDir(t))
	l := &lab{ledger: filepath.Join(t.TempDir(), "ledger"), seen: make(map[string][]opsweb.Sighting), changed: make(chan struct{})}
	var rules []string
	var keys []string
	for n, site := range sites {
		authority := filepath.Join(t.TempDir(), fmt.Sprint(n))
		if err := os.WriteFile(authority, site.Authority(), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := reach.New(reach.Config{ConnectTo: site.ConnectTo(), CACerts: []string{authority}})
		if err != nil {
			t.Fatal(err)
		}
		c := r.Chromium(t.Context())
		if len(c.Notices) > 0 {
			t.Fatal(c.Notices)
		}
		rules, keys = append(rules, c.HostResolverRules), append(keys, c.LeafKeys...)
	}
	book, err := ledger.Open(t.Context(), ledger.Config{Dir: l.ledger, Owner: "run_1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = book.Close() })
	l.ops, err = opsweb.New(t.Context(), opsweb.Config{Ledger: book, Client: &http.Client{Transport: deaf{}}, Notify: l.notified})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.ops.Close)
	began := time.Now()
	l.browser, err = browser.Start(t.Context(), browser.Config{
		Now:    func() time.Time { return began }, // so that on a busy machine what comes late is still of its act
		Driver: driver, NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0, Watch: opsweb.Header,
		HostResolverRules: strings.Join(rules, ", "), LeafKeys: keys, OnHeld: l.ops.Held,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.browser.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

func (l *lab) notified(h opsweb.Happening) {
	s, ok := h.Body.(opsweb.Sighting)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[string(s.Context)] = append(l.seen[string(s.Context)], s)
	close(l.changed)
	l.changed = make(chan struct{})
}

// of gives the sightings of a context, and a channel that is closed when there are more of any.
func (l *lab) of(c *browser.Context) ([]opsweb.Sighting, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen[string(c.ID())]), l.changed
}

// joined opens a browser context and has it count as joined to a new Session at the Company.
func (l *lab) joined(t *testing.T, id *session.Identity, site *testsite.Site) (*browser.Context, string, error) {
	c, err := l.browser.NewContext(t.Context())
	if err != nil {
		return nil, "", err
	}
	return c, l.join(t, id, site, c), nil
}

// join has a browser context count as joined to a new Session at the Company, and returns its ID.
func (l *lab) join(t *testing.T, id *session.Identity, site *testsite.Site, c *browser.Context) string {
	at := &company.Company{Domain: strings.TrimPrefix(site.Company(), "https://"), Issuer: "https://auth.test", OperationsEndpoint: site.Company() + "/operations", OperationsListed: true}
	s, err := session.New(session.Config{Profile: profile.V1(), Identity: id, Company: at, UserID: "usr_1"})
	if err != nil {
		t.Error(err)
		return ""
	}
	l.ops.Joined(c, at, s, profile.V1(), nil)
	return s.ID()
}

// agentIdentity is an agent's identity that no Company need know.
func agentIdentity(t *testing.T) *session.Identity {
	t.Helper()
	id, err := session.Init(t.TempDir(), session.Options{ClientID: "https://agent.test/agent.json", Name: "Test"}, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func bundledSite(t *testing.T, domain string) *testsite.Site {
	t.Helper()
	site, err := testsite.Start(t.Context(), testsite.Config{Domain: domain})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := site.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return site
}

// played is a row that was played in a context.
type played struct {
	row     capture.Row
	context *browser.Context
	sid     string
	err     error
	late    bool
}

// play drives a browser context through a row, until all came that should.
func (l *lab) play(t *testing.T, id *session.Identity, site *testsite.Site, row capture.Row) (p played) {
	p.row = row
	p.context, p.sid, p.err = l.joined(t, id, site)
	if p.err != nil {
		return p
	}
	if row.Verdict.Refused == capture.Unjoined {
		l.ops.Left(p.context)
	}
	acts := []browser.Act{
		{Kind: browser.Navigate, URL: site.Company() + capture.Page(p.sid, row.Name)},
		{Kind: browser.Click, Selectors: [][]string{{"#go"}}, Timeout: capturePatience},
	}
	if row.Verdict.Unseen != "" {
		acts = append(acts, browser.Act{Kind: browser.WaitText, Text: browser.Text{Is: "over"}, Timeout: capturePatience})
	}
	for _, act := range acts {
		if _, p.err = p.context.Do(t.Context(), act); p.err != nil {
			return p
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), capturePatience)
	defer cancel()
	for {
		seen, more := l.of(p.context)
		if row.Verdict.Unseen != "" || whole(row.Verdict, seen) {
			return p
		}
		select {
		case <-more:
		case <-ctx.Done():
			p.late = true
			return p
		}
	}
}

// whole reports whether all came that the verdict says.
func whole(v capture.Verdict, seen []opsweb.Sighting) bool {
	accepted := slices.ContainsFunc(seen, func(s opsweb.Sighting) bool { return s.Accepted })
	refused := slices.ContainsFunc(seen, func(s opsweb.Sighting) bool { return s.Why != "" && s.Why == reasons[v.Refused] })
	return (accepted || !v.Counts) && (refused || v.Refused == "")
}

// testCaptures runs the matrix with a driver: each row in a browser context of its own, all in one Chromium.
func testCaptures(t *testing.T, driver browser.Driver) (f figures) {
	site := bundledSite(t, "")
	l := newLab(t, driver, site)
	id := agentIdentity(t)
	rows := make(chan capture.Row)
	done := make(chan played)
	var players sync.WaitGroup
	for range captureAtOnce {
		players.Go(func() {
			for row := range rows {
				p := l.play(t, id, site, row)
				if row.Verdict.Unseen == "" && p.context != nil { // what may not come yet has time to the end
					if err := p.context.Close(t.Context()); p.err == nil {
						p.err = err
					}
				}
				done <- p
			}
		})
	}
	go func() {
		for _, row := range capture.Rows() {
			rows <- row
		}
		close(rows)
		players.Wait()
		close(done)
	}()
	var all []played
	for p := range done {
		all = append(all, p)
	}
	for _, p := range all {
		f.judge(t, l, site, p)
	}
	l.mu.Lock()
	for _, s := range l.seen[""] {
		t.Errorf("of no context: %+v", s)
	}
	l.mu.Unlock()
	l.ops.Close()
	l.inLedger(t, all)
	return f
}

// judge counts a row, and complains of what is not as it should be.
func (f *figures) judge(t *testing.T, l *lab, site *testsite.Site, p played) {
	t.Helper()
	if p.err != nil {
		t.Errorf("%s: %v", p.row.Name, p.err)
	}
	if p.context == nil {
		return
	}
	seen, _ := l.of(p.context)
	v := p.row.Verdict
	right := 0
	for _, s := range seen {
		switch {
		case s.Accepted && v.Counts && s.Ref == p.row.Name && right == 0:
			right++
		case s.Accepted:
			f.forged++
			t.Errorf("%s: the reference %q at %s was used", p.row.Name, s.Ref, s.URL)
		case s.Why == reasons[v.Refused], v.Counts && s.Why == opsweb.SeenBefore: // the page may try again
		default:
			t.Errorf("%s: %s was refused because %q", p.row.Name, s.URL, s.Why)
		}
		if s.Sid != p.sid && v.Refused != capture.Unjoined || !strings.Contains(s.URL, "/"+p.sid+"/"+p.row.Name+"/") {
			t.Errorf("%s: it is of the Session %q and not of %q: %s", p.row.Name, s.Sid, p.sid, s.URL)
		}
		if s.Frame == "" || s.Target == "" {
			t.Errorf("%s: the frame is %q, in the target %q", p.row.Name, s.Frame, s.Target)
		}
	}
	switch {
	case p.late || !whole(v, seen):
		f.missed++
		t.Errorf("%s: missed, asked for %d times; seen are %+v", p.row.Name, site.Capture().Asked(p.sid, p.row.Name), seen)
	case v.Unasked && site.Capture().Asked(p.sid, p.row.Name) > 0:
		t.Errorf("%s: it was asked for", p.row.Name)
	case v.Unseen != "" && len(seen) > 0:
		t.Errorf("%s: %d were seen of what nobody should see", p.row.Name, len(seen))
	case v.Unseen != "":
		f.unseen++
	case v.Counts:
		f.counted++
	default:
		f.refused++
	}
}

// inLedger holds the ledger against what was told: each sighting is a line of it, with all that is known of it.
func (l *lab) inLedger(t *testing.T, all []played) {
	t.Helper()
	records, _, err := ledger.Read(filepath.Join(l.ledger, ledger.FileName))
	if err != nil {
		t.Fatal(err)
	}
	lines := make(map[string]int)
	for _, rec := range records {
		var s opsweb.Sighting
		if rec.Kind != "sighting" {
			continue
		}
		if err := json.Unmarshal(rec.Data, &s); err != nil {
			t.Fatal(err)
		}
		lines[string(s.Context)]++
		if s.URL == "" || s.Origin == "" || s.Cause == "" || s.Frame == "" || (s.Accepted != (rec.Round != "")) {
			t.Errorf("the line %s of round %q", rec.Data, rec.Round)
		}
	}
	for _, p := range all {
		if p.context == nil {
			continue
		}
		if seen, _ := l.of(p.context); lines[string(p.context.ID())] != len(seen) {
			t.Errorf("%s: %d lines of %d sightings", p.row.Name, lines[string(p.context.ID())], len(seen))
		}
	}
}

// Each way of a response to a browser is a page of the bundled site, and what is seen is judged as in a run. All is seen
// that counts, and nothing else is used.
//
// Clauses: OPS3-4.19, OPS3-4.36, OPS3-4.37, OPS3-4.39, OPS3-4.40
func TestTheCaptureMatrix(t *testing.T) {
	table := "driver     rows  counted  refused  seen by nobody  missed  wrongly used\n"
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		f := testCaptures(t, driver)
		rows := len(capture.Rows())
		table += fmt.Sprintf("%-9s%6d%9d%9d%16d%8d%14d\n", path.Base(t.Name()), rows, f.counted, f.refused, f.unseen, f.missed, f.forged)
		if f.counted+f.refused+f.unseen != rows {
			t.Errorf("the rows are not accounted for: %+v", f)
		}
	})
	t.Log("\n" + table)
}
