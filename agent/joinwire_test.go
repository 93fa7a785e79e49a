package agent_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/testsite"
)

// seen is a request as the site's log has it, with the status of its answer.
type seen struct {
	method, path, body string
	header             http.Header
	status             int
}

// browsed are the requests that a browser made, in order.
func (w *world) browsed() []seen {
	w.t.Helper()
	res, err := http.Post(w.site.Control()+"/log", "application/json", strings.NewReader("{}"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var log struct {
		Exchanges []struct {
			Request struct {
				Method, URL, Body string
				Headers           [][2]string
			}
			Response struct{ Status int }
		}
	}
	data, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &log); err != nil {
		w.t.Fatal(err)
	}
	var requests []seen
	for _, e := range log.Exchanges {
		s := seen{method: e.Request.Method, body: e.Request.Body, header: make(http.Header), status: e.Response.Status}
		for _, h := range e.Request.Headers {
			s.header.Add(h[0], h[1])
		}
		if u, err := url.Parse(e.Request.URL); err == nil {
			s.path = u.RequestURI()
		}
		if strings.Contains(s.header.Get("User-Agent"), "Chrome") {
			requests = append(requests, s)
		}
	}
	return requests
}

// assertionOf takes a browser assertion apart, unverified: the site verifies it.
func assertionOf(t *testing.T, join seen) (header, claims map[string]any) {
	t.Helper()
	form, err := url.ParseQuery(join.body)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(form.Get("assertion"), ".")
	if len(form["assertion"]) != 1 || len(parts) != 3 {
		t.Fatalf("the form is %q", join.body)
	}
	for i, into := range []*map[string]any{&header, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return header, claims
}

// What the browser sends to join, in every version. The site verifies the signature down from the published keys.
//
// Clauses: S01-5.03, S01-5.05, S01-5.06, S01-5.07, S01-5.08, S01-5.12, S01-5.13, S01-5.14, S01-5.15, S01-5.16, S01-5.18
func TestTheBrowserJoinsBeforeItOpensAnyPage(t *testing.T) {
	for _, tc := range []struct{ version, session string }{{"1.0", "sid"}, {"0.2", "session_id"}, {"0.1", "session_id"}} {
		t.Run(tc.version, func(t *testing.T) {
			w := newWorldOf(t, testsite.Config{Profile: tc.version, Control: "127.0.0.1:0"})
			l := &log{}
			a := w.start(l)
			w.page(w.visit(a), orders)
			w.page(w.visit(a), orders) // another Session, and another assertion
			requests := w.browsed()
			joins := slices.DeleteFunc(slices.Clone(requests), func(s seen) bool { return s.path != "/poppy/browser-session" })
			if len(joins) != 2 || requests[0].path != "/poppy/browser-session" {
				t.Fatalf("%d joins, and the first request is for %s", len(joins), requests[0].path)
			}
			h, err := home.Open(w.home)
			if err != nil {
				t.Fatal(err)
			}
			users, err := session.Users(h.Identity())
			if err != nil {
				t.Fatal(err)
			}
			var jtis, ids []any
			for _, join := range joins {
				if join.method != http.MethodPost || join.header.Get("Content-Type") != "application/x-www-form-urlencoded" || join.status != http.StatusSeeOther {
					t.Errorf("the join is %s with %s, answered with %d", join.method, join.header.Get("Content-Type"), join.status)
				}
				if join.header.Get("Sec-Fetch-Mode") != "navigate" || join.header.Get("Sec-Fetch-Dest") != "document" || join.header.Get("Referer") != "" {
					t.Errorf("the join's headers are %v", join.header)
				}
				head, claims := assertionOf(t, join)
				if head["typ"] != "poppy-browser+jwt" || claims["iss"] != "https://agent.test/agent.json" || claims["sub"] != users["https://auth.stormline.test"] ||
					claims["aud"] != "https://stormline.test/poppy/browser-session" || claims["return_to"] != "https://stormline.test/" {
					t.Errorf("the assertion is %v, %v", head, claims)
				}
				issued, _ := claims["iat"].(float64)
				expires, _ := claims["exp"].(float64)
				if life := expires - issued; life <= 0 || life > 60 {
					t.Errorf("the assertion lives for %v s", life)
				}
				jti, _ := claims["jti"].(string)
				if raw, err := base64.RawURLEncoding.DecodeString(jti); err != nil || len(raw) < 16 {
					t.Errorf("jti %q", jti)
				}
				jtis, ids = append(jtis, claims["jti"]), append(ids, claims[tc.session])
			}
			if jtis[0] == jtis[1] || ids[0] == ids[1] || ids[1] != l.sid() {
				t.Errorf("jti %q, Sessions %q, joined %s", jtis, ids, l.sid())
			}
			w.counted(0, 0)
		})
	}
}

// Clauses: S01-5.29, C10-9.06
func TestAfterARefusedJoinNoPageIsOpened(t *testing.T) {
	w := newWorldOf(t, testsite.Config{Control: "127.0.0.1:0"})
	w.site.RefuseJoins(1)
	a := w.start(&log{})
	_, err := a.Visit(t.Context(), w.site.Company())
	said, ok := errors.AsType[*trouble.Error](err)
	if !ok {
		t.Fatalf("a refused join ends with %v", err)
	}
	if !strings.Contains(said.Next, "papaver signin stormline.test") { // it may join signed-in browsers only
		t.Errorf("what to do next: %s", said.Next)
	}
	requests := w.browsed()
	for i, s := range requests {
		if (i == 0) != (s.path == "/poppy/browser-session") && s.path != "/favicon.ico" && !strings.HasPrefix(s.path, "/assets/") {
			t.Errorf("request %d is for %s", i, s.path)
		}
	}
	if len(requests) == 0 {
		t.Error("no request is in the log")
	}
	if left, _ := filepath.Glob(filepath.Join(w.home, "run", "*")); len(left) == 0 {
		t.Error("the run has ended") // it goes on: only the visit was refused
	}
}
