package browser_test

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/testsite"
	"github.com/papaver-agent/papaver/testsite/capture"
)

// mixRows are what each Session's context plays, all at once: a document, a script, a frame of another site, windows,
// workers, and a window that has gone when its answer comes.
var mixRows = []string{"form", "fetch-post", "cross-site-frame-fetch", "popup-frame", "popup-fetch", "worker", "shared-worker", "closing-keepalive"}

// Four Sessions in one Chromium, two at each of two Companies, act at once: what comes is each one's own, by its context, its
// Session, its Company, its URL and its act.
//
// Clauses: OPS3-4.36, OPS3-4.39
func TestSessionsInOneChromiumNeverMix(t *testing.T) { eachDriver(t, testSessionsNeverMix) }

func testSessionsNeverMix(t *testing.T, driver browser.Driver) {
	sites := []*testsite.Site{bundledSite(t, ""), bundledSite(t, "fernhill.test")}
	l := newLab(t, driver, sites...)
	id := agentIdentity(t)
	type party struct {
		context *browser.Context
		site    *testsite.Site
		sid     string
		made    []*browser.Made
	}
	var parties []*party
	for n := range 4 {
		p := &party{site: sites[n%2]}
		var err error
		if p.context, p.sid, err = l.joined(t, id, p.site); err != nil {
			t.Fatal(err)
		}
		parties = append(parties, p)
	}
	var acting sync.WaitGroup
	for _, p := range parties {
		acting.Go(func() {
			for _, row := range mixRows {
				for _, act := range []browser.Act{
					{Kind: browser.Navigate, URL: p.site.Company() + capture.Page(p.sid, row)},
					{Kind: browser.Click, Selectors: [][]string{{"#go"}}, Timeout: capturePatience},
				} {
					made, err := p.context.Do(t.Context(), act)
					if err != nil {
						t.Errorf("%s: %v", row, err)
						return
					}
					p.made = append(p.made, made)
				}
				if !l.counted(t, p.context, row) {
					seen, _ := l.of(p.context)
					t.Errorf("%s at %s: missed, asked for %d times; seen are %+v", row, p.site.Company(), p.site.Capture().Asked(p.sid, row), seen)
				}
			}
		})
	}
	acting.Wait()
	for n, p := range parties {
		seen, _ := l.of(p.context)
		if len(seen) < len(mixRows) {
			t.Errorf("party %d: %d sightings", n, len(seen))
		}
		for _, s := range seen {
			ours := strings.Contains(s.URL, "/"+p.sid+"/") && strings.HasSuffix("https://"+s.Company, path.Base(p.site.Company())) && s.Sid == p.sid
			if !ours || s.Context != p.context.ID() || s.Why != "" && s.Why != opsweb.SeenBefore {
				t.Errorf("party %d has %+v", n, s)
			}
			if s.Act == nil || s.Cause != opsweb.ByAct || s.Act.Number > len(p.made) || !strings.HasSuffix(p.made[s.Act.Number-1].Page, "/"+s.Ref+"/page") {
				t.Errorf("party %d: %s is of the act %+v", n, s.URL, s.Act)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.seen[""] {
		t.Errorf("of no context: %+v", s)
	}
	if len(l.seen) != len(parties) {
		t.Errorf("there are sightings of %d contexts", len(l.seen))
	}
}

// counted waits until a context's reference of a row was used.
func (l *lab) counted(t *testing.T, c *browser.Context, row string) bool {
	ctx, cancel := context.WithTimeout(t.Context(), capturePatience)
	defer cancel()
	for {
		seen, more := l.of(c)
		for _, s := range seen {
			if s.Accepted && s.Ref == row {
				return true
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return false
		}
	}
}

// One browser context is joined to one Session: a second one in it takes the first one's place, and the first one's
// references are refused from then on.
func TestABrowserContextHasOneSession(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := bundledSite(t, "")
		l := newLab(t, driver, site)
		id := agentIdentity(t)
		c, first, err := l.joined(t, id, site)
		if err != nil {
			t.Fatal(err)
		}
		second := l.join(t, id, site, c)
		for _, sid := range []string{first, second} {
			do(t, c, browser.Act{Kind: browser.Navigate, URL: site.Company() + capture.Page(sid, "fetch")})
			do(t, c, browser.Act{Kind: browser.Click, Selectors: [][]string{{"#go"}}, Timeout: capturePatience})
		}
		if !l.counted(t, c, "fetch") {
			t.Fatal("the second Session's was not used")
		}
		seen, _ := l.of(c)
		got := make([]string, len(seen))
		for n, s := range seen {
			got[n] = fmt.Sprint(s.Sid == second, " ", s.Why)
		}
		if want := []string{"true " + string(opsweb.OtherSid), "true "}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("sightings: %q", got)
		}
	})
}
