package skew_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/internal/skew"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a machine with a clock that can be set, and one Company.
type world struct {
	t      *testing.T
	clocks *skew.Clocks
	told   []skew.Difference
	moved  int

	mu     sync.Mutex
	steady time.Duration
	ours   time.Duration // of our clock, from the steady one
	shops  time.Duration // of the Company's
	trip   time.Duration // of a request
	header http.Header
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, header: make(http.Header)}
	w.clocks = skew.New(skew.Config{
		Company: func(host string) string { return strings.TrimSuffix(host, ".other") },
		Told:    func(d skew.Difference) { w.told = append(w.told, d) },
		Moved:   func() { w.moved++ },
		Now:     func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return noon.Add(w.steady + w.ours) },
		Steady:  func() time.Duration { w.mu.Lock(); defer w.mu.Unlock(); return w.steady },
	})
	return w
}

// RoundTrip answers with the Company's Date, in the middle of the trip.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steady += w.trip / 2
	header := w.header.Clone()
	if header.Get("Date") == "" {
		header.Set("Date", noon.Add(w.steady+w.shops).UTC().Format(http.TimeFormat))
	}
	w.steady += w.trip - w.trip/2
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
}

func (w *world) ask() {
	w.t.Helper()
	res, err := (&http.Client{Transport: w.clocks.Wrap(w)}).Get("https://shop.test/")
	if err != nil {
		w.t.Fatal(err)
	}
	_ = res.Body.Close()
}

// later lets time pass, and the clock be set.
func (w *world) later(d, set time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steady += d
	w.ours += set
}

// right checks that the Company's time is known to a few seconds, and is never taken for an earlier one.
func (w *world) right(within time.Duration) {
	w.t.Helper()
	w.mu.Lock()
	want := noon.Add(w.steady + w.shops)
	w.mu.Unlock()
	if got := w.clocks.Time("shop.test"); got.Before(want.Add(-time.Second)) || got.Sub(want) > within {
		w.t.Errorf("the Company's time is taken for %v off", got.Sub(want))
	}
}

func TestTheCompanysTimeIsKnownWhateverOurClockSays(t *testing.T) {
	for name, c := range map[string]struct{ ours, shops, trip time.Duration }{
		"both right":            {},
		"a slow answer":         {trip: 4 * time.Second},
		"ours is behind":        {ours: -7 * time.Minute},
		"ours is ahead":         {ours: 7 * time.Minute, trip: time.Second},
		"the Company's is late": {shops: -3 * time.Hour, trip: 2 * time.Second},
		"ours is of 1970":       {ours: -56 * 365 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ours, w.shops, w.trip = c.ours, c.shops, c.trip
			if _, known := w.clocks.Ahead("shop.test"); known || !w.clocks.Time("shop.test").Equal(noon.Add(c.ours)) {
				t.Error("a clock that nobody compared is known")
			}
			w.ask()
			exact := c.trip + 2*time.Second
			w.right(exact)
			if off := (c.ours - c.shops).Abs(); (len(w.told) == 1) != (off >= skew.Notable) || off == 0 && !w.clocks.Time("shop.test").Equal(noon.Add(w.steady)) {
				t.Errorf("told %+v", w.told)
			}
			// Set and slept while nobody asks; only what is set moves the two apart.
			for _, step := range []struct{ later, set time.Duration }{{time.Hour, 0}, {time.Second, 10 * time.Minute}, {time.Minute, -20 * time.Minute}, {8 * time.Hour, time.Minute}} {
				w.later(step.later, step.set)
				w.right(exact)
			}
			w.ask()
			w.right(exact)
		})
	}
}

func TestASettingOfOurClockIsToldOnceAndSoIsItsEnd(t *testing.T) {
	w := newWorld(t)
	w.ask()
	look := func() { w.clocks.Ahead("shop.test") }
	for _, step := range []struct {
		set    time.Duration
		notice func()
	}{{10 * time.Minute, look}, {0, look}, {0, w.ask}, {2 * time.Second, look}, {0, w.ask}, {-10*time.Minute - 2*time.Second, w.ask}, {0, look}, {-time.Hour, w.ask}} {
		w.later(time.Minute, step.set)
		step.notice()
	}
	type told struct{ ahead, set time.Duration }
	var got []told
	for _, d := range w.told {
		got = append(got, told{d.Ahead.Round(5 * time.Second), d.Set.Round(5 * time.Second)})
	}
	if want := []told{{10 * time.Minute, 10 * time.Minute}, {0, -10 * time.Minute}, {-time.Hour, -time.Hour}}; !slices.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// What waits for a moment of the Company's clock is told by an answer that puts that moment elsewhere, and by no other.
func TestAnAnswerThatPutsTheCompanysTimeElsewhereIsToldHoweverSmallTheDifference(t *testing.T) {
	w := newWorld(t)
	for i, step := range []struct {
		shops time.Duration // the Company's clock, of the steady one
		moved int           // in all
	}{{0, 0}, {0, 0}, {-4 * time.Second, 1}, {-4 * time.Second, 1}, {0, 2}, {0, 2}} {
		w.shops = step.shops
		w.later(time.Minute, 0)
		w.ask()
		if w.moved != step.moved {
			t.Errorf("after answer %d: told %d times, want %d", i+1, w.moved, step.moved)
		}
	}
}

func TestADateThatTellsNothingOfNowIsNotTakenForTheTime(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		trip   time.Duration
	}{
		"none":             {http.Header{"Date": {"soon"}}, 0},
		"a cache's answer": {http.Header{"Age": {"600"}}, 0},
		"a long trip":      {http.Header{}, 6 * time.Second},
	} {
		w := newWorld(t)
		w.ours, w.trip, w.header = time.Hour, c.trip, c.header
		w.ask()
		if _, known := w.clocks.Ahead("shop.test"); known || len(w.told) > 0 {
			t.Errorf("%s: told %v", name, w.told)
		}
	}
}

// The machine's own steady clock goes on.
func TestTheSteadyClockGoesOn(t *testing.T) {
	c := skew.New(skew.Config{Company: func(host string) string { return host }})
	res, err := (&http.Client{Transport: c.Wrap(dated{})}).Get("https://shop.test/")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if ahead, known := c.Ahead("shop.test"); !known || ahead != 0 {
		t.Errorf("ahead %v, %t", ahead, known)
	}
}

type dated struct{}

func (dated) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}, Body: http.NoBody, Request: req}, nil
}
