package pace_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/internal/pace"
)

// server answers as its script says, and 200 after that.
type server struct {
	mu     sync.Mutex
	begin  time.Time
	script []answer
	takes  time.Duration // from a request to its answer
	sent   []request
}

type answer struct {
	status int
	header map[string]string
	takes  time.Duration // longer than the server's others
}

type request struct {
	host string
	at   time.Duration // from the beginning
}

func newServer(script ...answer) *server { return &server{begin: time.Now(), script: script} }

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.sent = append(s.sent, request{req.URL.Host, time.Since(s.begin)})
	a := answer{status: 200}
	if len(s.script) > 0 {
		a, s.script = s.script[0], s.script[1:]
	}
	s.mu.Unlock()
	<-time.After(s.takes + a.takes)
	header := make(http.Header)
	for name, value := range a.header {
		header.Set(name, value)
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: http.NoBody, Request: req}, nil
}

func (s *server) requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.sent...)
}

// companies: every host below example.com is one Company, and other.test is another.
func companies(host string) string {
	switch {
	case host == "example.com", strings.HasSuffix(host, ".example.com"):
		return "example.com"
	case host == "other.test":
		return host
	default:
		return ""
	}
}

// told remembers what the User was told.
type told struct {
	mu    sync.Mutex
	holds []pace.Hold
}

func (t *told) hear(h pace.Hold) { t.mu.Lock(); defer t.mu.Unlock(); t.holds = append(t.holds, h) }

func newPace(t *told, chance float64) *pace.Pace {
	return pace.New(pace.Config{Company: companies, Told: t.hear, Chance: func() float64 { return chance }})
}

func ask(t *testing.T, rt http.RoundTripper, url string) int {
	t.Helper()
	res, err := get(t.Context(), rt, url)
	if err != nil {
		t.Error(err)
		return 0
	}
	return res.StatusCode
}

func get(ctx context.Context, rt http.RoundTripper, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return rt.RoundTrip(req)
}

func after(status int, value string) answer {
	return answer{status: status, header: map[string]string{"Retry-After": value}}
}

// Clauses: S01-4.3.27
func TestACompanyIsLeftAloneForAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer answer
		want   time.Duration
		asked  time.Duration
	}{
		"seconds":                 {after(429, "30"), 30 * time.Second, 30 * time.Second},
		"not available":           {after(503, "30"), 30 * time.Second, 30 * time.Second},
		"a date":                  {after(429, time.Date(2000, 1, 1, 0, 2, 0, 0, time.UTC).Format(http.TimeFormat)), 2 * time.Minute, 2 * time.Minute},
		"a date of another clock": {answer{status: 429, header: map[string]string{"Retry-After": "Mon, 30 Nov 2026 12:02:00 GMT", "Date": "Mon, 30 Nov 2026 12:00:00 GMT"}}, 2 * time.Minute, 2 * time.Minute},
		"ten minutes":             {after(429, "600"), 10 * time.Minute, 10 * time.Minute},
		"nothing said":            {answer{status: 429}, 5 * time.Second, 0},
		"no time":                 {after(429, "0"), 5 * time.Second, 0},
		"a past date":             {after(429, "Thu, 01 Jan 1970 00:00:00 GMT"), 5 * time.Second, 0},
		"nonsense":                {after(429, "soon"), 5 * time.Second, 0},
		"a negative number":       {after(429, "-30"), 5 * time.Second, 0},
		"503 without a word":      {answer{status: 503}, 0, 0},
		"503 for no time":         {after(503, "0"), 0, 0},
		"200 with the header":     {after(200, "30"), 0, 0},
		"404 with the header":     {after(404, "30"), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, heard := newServer(tc.answer), &told{}
				p := newPace(heard, 0)
				first, second := p.Wrap(s), p.Wrap(s) // two clients
				if got := ask(t, first, "https://example.com/"); got != tc.answer.status {
					t.Errorf("the caller sees status %d", got)
				}
				ask(t, first, "https://other.test/")   // another Company
				ask(t, first, "https://nobody.test/")  // no Company
				ask(t, second, "https://example.com/") // waits
				ask(t, first, "https://api.example.com:8443/")
				sent := s.requests()
				if len(sent) != 5 {
					t.Fatalf("sent %v", sent) // nothing is made again
				}
				for i, want := range []time.Duration{0, 0, 0, tc.want, tc.want} {
					if sent[i].at != want {
						t.Errorf("request %d left after %v, want %v", i, sent[i].at, want)
					}
				}
				if tc.want == 0 {
					if len(heard.holds) != 0 {
						t.Errorf("told %+v", heard.holds)
					}
					return
				}
				if want := (pace.Hold{Company: "example.com", Status: tc.answer.status, Asked: tc.asked, For: tc.want}); len(heard.holds) != 1 || heard.holds[0] != want {
					t.Errorf("told %+v, want %+v", heard.holds, want)
				}
			})
		})
	}
}

func TestThoseWhoWaitGoOnOneAfterAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(after(429, "60"))
		p := pace.New(pace.Config{Company: companies}) // by real chance
		rt := p.Wrap(s)
		ask(t, rt, "https://example.com/")
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() { ask(t, rt, "https://example.com/") })
		}
		wait.Wait()
		moments := make(map[time.Duration]int)
		for _, r := range s.requests()[1:] {
			if r.at < time.Minute || r.at > time.Minute+5*time.Second {
				t.Errorf("one left after %v", r.at)
			}
			moments[r.at.Round(100*time.Millisecond)]++
		}
		if n := len(s.requests()); n != 101 || len(moments) < 20 {
			t.Errorf("%d requests, at %v", n, moments)
		}
	})
}

// The first that goes on is asked to wait again, and so all of the others wait again.
func TestANewHoldStopsThoseWhoStillWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, heard := newServer(after(429, "60"), after(503, "120")), &told{}
		var mu sync.Mutex
		n := 0
		chance := func() float64 { mu.Lock(); defer mu.Unlock(); n++; return float64(n%10) / 10 }
		rt := pace.New(pace.Config{Company: companies, Told: heard.hear, Chance: chance}).Wrap(s)
		ask(t, rt, "https://example.com/")
		var wait sync.WaitGroup
		for range 9 {
			wait.Go(func() { ask(t, rt, "https://example.com/") })
		}
		wait.Wait()
		sent := s.requests()
		if len(sent) != 10 {
			t.Fatalf("%d requests", len(sent))
		}
		again := sent[1].at
		for _, r := range sent[2:] {
			if r.at < again+2*time.Minute {
				t.Errorf("one left after %v, and the hold began at %v", r.at, again)
			}
		}
		if len(heard.holds) != 2 || heard.holds[1].Status != 503 {
			t.Errorf("told %+v", heard.holds)
		}
	})
}

func TestAnswersOfOneMomentAreOneHold(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]answer{"with a word": after(429, "60"), "without": {status: 429}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, heard := newServer(a, a, a, a, a, a), &told{}
				s.takes = 300 * time.Millisecond
				rt := newPace(heard, 0).Wrap(s)
				var wait sync.WaitGroup
				for range 6 {
					wait.Go(func() { ask(t, rt, "https://example.com/") })
				}
				wait.Wait()
				if len(heard.holds) != 1 {
					t.Errorf("told %+v", heard.holds)
				}
				ask(t, rt, "https://example.com/")
				want := time.Minute + s.takes
				if name == "without" {
					want = 5*time.Second + s.takes
				}
				if sent := s.requests(); sent[6].at != want {
					t.Errorf("the next left after %v, want %v", sent[6].at, want)
				}
			})
		})
	}
}

// What was under way when a hold began says nothing against it.
func TestALateAnswerDoesNotShortenAHold(t *testing.T) {
	t.Parallel()
	shorter := after(429, "10")
	for name, late := range map[string]answer{"a good one": {status: 200}, "a shorter wait": shorter} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late.takes = 2 * time.Second
				s := newServer(late, after(429, "60"))
				rt := newPace(&told{}, 0).Wrap(s)
				var wait sync.WaitGroup
				wait.Go(func() { ask(t, rt, "https://example.com/late") })
				synctest.Wait()
				ask(t, rt, "https://example.com/")
				wait.Wait()
				ask(t, rt, "https://example.com/")
				if sent := s.requests(); sent[2].at != time.Minute {
					t.Errorf("the next left after %v", sent[2].at)
				}
			})
		})
	}
}

func TestHoldsWithoutALengthGrowUntilTheCompanyAnswersAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := answer{status: 429}
		s := newServer(silent, silent, silent, silent, silent, silent, answer{status: 200}, silent, silent, after(429, "1"), silent)
		rt := newPace(&told{}, 0).Wrap(s)
		for range 12 {
			ask(t, rt, "https://example.com/")
		}
		sent := s.requests()
		for i, want := range []time.Duration{5, 10, 20, 40, 60, 60, 0, 5, 10, 1, 5} {
			if got := sent[i+1].at - sent[i].at; got != want*time.Second {
				t.Errorf("after answer %d a hold of %v, want %v s", i, got, want)
			}
		}
	})
}

// A hold that is longer than anybody waits is kept all the same.
//
// Clauses: S01-4.3.27
func TestALongHoldIsKeptByRefusingRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		asked string
		want  time.Duration
		told  time.Duration
	}{
		"eleven minutes": {"660", 11 * time.Minute, 11 * time.Minute},
		"an hour":        {"3600", time.Hour, time.Hour},
		"for ever":       {"99999999999999999999999", 24 * time.Hour, (1 << 31) * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, heard := newServer(after(429, tc.asked)), &told{}
				rt := newPace(heard, 0).Wrap(s)
				ask(t, rt, "https://example.com/")
				<-time.After(tc.want - pace.LongestWait - time.Second)
				begin := time.Now()
				if _, err := get(t.Context(), rt, "https://example.com/"); !errors.Is(err, pace.ErrHeld) || time.Since(begin) != 0 {
					t.Errorf("after %v: err = %v", time.Since(begin), err)
				}
				<-time.After(time.Second)
				ask(t, rt, "https://example.com/")
				if sent := s.requests(); len(sent) != 2 || sent[1].at != tc.want {
					t.Errorf("sent %v", sent)
				}
				if len(heard.holds) != 1 || heard.holds[0].For != tc.want || heard.holds[0].Asked != tc.told {
					t.Errorf("told %+v", heard.holds)
				}
			})
		})
	}
}

func TestARequestThatCannotWaitIsNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(after(429, "60"))
		rt := newPace(&told{}, 0).Wrap(s)
		ask(t, rt, "https://example.com/")
		begin := time.Now()

		// Its deadline is before the end of the hold, so it needs not wait at all.
		ctx, cancel := context.WithTimeout(t.Context(), 59*time.Second)
		defer cancel()
		body := &closing{Reader: strings.NewReader("x")}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://example.com/", body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rt.RoundTrip(req); !errors.Is(err, pace.ErrHeld) || !strings.Contains(err.Error(), "example.com") || time.Since(begin) != 0 {
			t.Errorf("after %v: err = %v", time.Since(begin), err)
		}
		if !body.closed {
			t.Error("its body is not closed")
		}

		// It is called off while it waits.
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		if _, err := get(ctx, rt, "https://example.com/"); !errors.Is(err, pace.ErrHeld) || !errors.Is(err, context.Canceled) || time.Since(begin) != 10*time.Second {
			t.Errorf("after %v: err = %v", time.Since(begin), err)
		}
		if n := len(s.requests()); n != 1 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// A client's own timeout is such a deadline too.
func TestAClientThatIsHeldSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(after(503, "60"))
		client := &http.Client{Transport: newPace(&told{}, 0).Wrap(s), Timeout: 15 * time.Second}
		for i := range 2 {
			res, err := client.Get("https://example.com/")
			if err == nil {
				_ = res.Body.Close()
			}
			if i == 0 && (err != nil || res.StatusCode != 503) || i == 1 && !errors.Is(err, pace.ErrHeld) {
				t.Errorf("request %d: %v", i, err)
			}
		}
	})
}

func TestWhatABrowserHeardHoldsEveryRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		p := pace.New(pace.Config{Company: func(string) string { return "shop" }, Chance: func() float64 { return 0 }})
		p.Heard("shop", http.StatusServiceUnavailable, "") // says nothing of when to come again
		if err := p.Wait(t.Context(), "shop"); err != nil || time.Since(s.begin) != 0 {
			t.Fatalf("Wait = %v after %v", err, time.Since(s.begin))
		}
		p.Heard("shop", http.StatusTooManyRequests, "7")
		res, err := p.Wrap(s).RoundTrip(mustRequest(t, "https://shop.test/"))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if got := s.sent[0].at; got != 7*time.Second {
			t.Errorf("sent after %v", got)
		}
		p.Heard("shop", http.StatusTooManyRequests, "3600")
		if err := p.Wait(t.Context(), "shop"); !errors.Is(err, pace.ErrHeld) {
			t.Errorf("Wait = %v", err)
		}
	})
}

func mustRequest(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestAHoldThatGrowsAndGrowsIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace.New(pace.Config{Company: func(string) string { return "shop" }, Chance: func() float64 { return 0 }})
		p.Heard("shop", http.StatusTooManyRequests, "300")
		ctx, stop := context.WithCancel(t.Context())
		var growing sync.WaitGroup
		growing.Go(func() { // each time, just before the hold is over
			ticker := time.NewTicker(299 * time.Second)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					p.Heard("shop", http.StatusTooManyRequests, "300")
				case <-ctx.Done():
					return
				}
			}
		})
		began := time.Now()
		err := p.Wait(t.Context(), "shop")
		waited := time.Since(began)
		stop()
		growing.Wait()
		if !errors.Is(err, pace.ErrHeld) || waited > pace.LongestWait {
			t.Errorf("Wait = %v after %v", err, waited)
		}
	})
}
