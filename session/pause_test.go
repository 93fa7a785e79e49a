package session_test

import (
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/session"
)

// Clauses: S01-4.3.27, S01-4.1.10
func TestAPlaceThatAsksToWaitIsLeftAloneForAsLong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		field  string
		want   time.Duration
	}{
		"seconds":           {429, "Retry-After: 30", 30 * time.Second},
		"a date":            {429, "Retry-After: Mon, 30 Nov 2026 12:02:00 GMT", 2 * time.Minute},
		"nothing":           {429, "X: y", 5 * time.Second},
		"nonsense":          {429, "Retry-After: soon", 5 * time.Second},
		"a week":            {429, "Retry-After: 604800", 24 * time.Hour},
		"not available":     {503, "Retry-After: 30", 30 * time.Second},
		"its age in 1970":   {429, "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT", 5 * time.Second},
		"a negative number": {429, "Retry-After: -5", 5 * time.Second},
	} {
		for _, path := range []string{"api.example.com/orders", "auth.example.com/oauth/token"} {
			clock := &clock{now: noon}
			f := newFake(t, drafts["0.1"], clock.Now)
			s := f.session("")
			if path == "api.example.com/orders" {
				f.must(s, "https://api.example.com/other")
			}
			asked := 0
			f.answers[path] = func(req *http.Request, _ url.Values) *http.Response {
				if asked++; asked > 1 {
					return nil
				}
				return reply(req, c.status, `{"error":"rate_limited"}`, c.field)
			}
			var limited *session.RateLimited
			if _, err := f.get(s, ordersAPI); !errors.As(err, &limited) || limited.After != c.want || limited.Status != c.status {
				t.Errorf("%s: %s: %+v, %v", path, name, limited, err)
				continue
			}
			clock.advance(c.want - time.Second)
			if _, err := f.get(s, ordersAPI); !errors.As(err, &limited) || limited.After != time.Second || asked != 1 {
				t.Errorf("%s: %s: a second early: asked %d times, %v", path, name, asked, err)
			}
			clock.advance(time.Second)
			if _, err := f.get(s, ordersAPI); err != nil || asked != 2 {
				t.Errorf("%s: %s: then: asked %d times, %v", path, name, asked, err)
			}
		}
	}
}

func TestPausesWithoutALengthGrowAndEndWithAGoodAnswer(t *testing.T) {
	t.Parallel()
	clock := &clock{now: noon}
	f := newFake(t, drafts["0.1"], clock.Now)
	s := f.session("")
	f.must(s, "https://api.example.com/other")
	limit := true
	f.answers["api.example.com/orders"] = func(req *http.Request, _ url.Values) *http.Response {
		if !limit {
			return nil
		}
		return reply(req, 429, ``)
	}
	paused := func() time.Duration {
		var limited *session.RateLimited
		if _, err := f.get(s, ordersAPI); !errors.As(err, &limited) {
			t.Fatalf("err = %v", err)
		}
		clock.advance(limited.After)
		return limited.After
	}
	for _, want := range []time.Duration{5, 10, 20, 40, 60, 60, 60, 60, 60, 60, 60} {
		if got := paused(); got != want*time.Second {
			t.Errorf("a pause of %v, want %v s", got, want)
		}
	}
	limit = false
	f.must(s, ordersAPI)
	limit = true
	if got := paused(); got != 5*time.Second {
		t.Errorf("after a good answer a pause of %v", got)
	}
}

// A lock-out of Mediated Sign-In stops neither the Session's renewal nor its APIs, which are at the same host.
func TestAPauseIsForThePlaceThatAskedForIt(t *testing.T) {
	t.Parallel()
	clock := &clock{now: noon}
	f := newFake(t, drafts["0.1"], clock.Now)
	f.c.APIs[0].URL = draftIssuer + "/api/openapi.json"
	s := f.session("")
	f.answers["auth.example.com/poppy/sign-in"] = func(req *http.Request, _ url.Values) *http.Response {
		return reply(req, 429, `{"error":"rate_limited"}`, "Retry-After: 7200")
	}
	var limited *session.RateLimited
	if _, err := f.get(s, draftIssuer+"/poppy/sign-in"); !errors.As(err, &limited) {
		t.Fatalf("err = %v", err)
	}
	clock.advance(90 * time.Minute)
	f.must(s, draftIssuer+"/api/orders") // renews the token first
	if _, err := f.get(s, draftIssuer+"/poppy/sign-in/si_1"); !errors.As(err, &limited) {
		t.Errorf("err = %v", err)
	}
	if n := len(f.requests("/poppy/sign-in")) + len(f.requests("/poppy/sign-in/si_1")); n != 1 {
		t.Errorf("the sign-in was asked %d times", n)
	}
}

func TestARenewalThatFailsLeavesATokenThatStillHolds(t *testing.T) {
	t.Parallel()
	clock := &clock{now: noon}
	f := newFake(t, drafts["0.1"], clock.Now)
	s := f.session("")
	f.must(s, ordersAPI)
	asked := 0
	f.answers["auth.example.com/oauth/token"] = func(req *http.Request, _ url.Values) *http.Response {
		asked++
		return reply(req, 500, ``)
	}
	clock.advance(59*time.Minute + 30*time.Second)
	for range 5 {
		f.must(s, ordersAPI)
	}
	if asked != 1 {
		t.Errorf("the renewal was tried %d times at once", asked)
	}
	clock.advance(15 * time.Second)
	f.must(s, ordersAPI)
	clock.advance(15 * time.Second)
	if _, err := f.get(s, ordersAPI); err == nil || asked != 3 {
		t.Errorf("after its end: asked %d times, %v", asked, err)
	}
}
