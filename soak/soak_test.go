package soak

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/browser/roddriver"
	"github.com/papaver-agent/papaver/opsweb"
)

var (
	length = flag.Duration("for", 6*time.Second, "how long the acts go on, both drivers together")
	draw   = flag.Bool("write", false, "draw the figures into docs/soak.md")
)

const (
	samples   = 12       // looks at our own process while a driver runs
	maxGrowth = 24 << 20 // bytes of live memory that a driver's half may add
	spareFDs  = 4        // files that may be open more than before: the runtime's own
	endLimit  = time.Minute
	paper     = "../docs/soak.md"
	repeated  = "repeat-after-performed" // a rule of the Company's
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if domain := os.Getenv(siteOf); domain != "" {
		if err := serve(domain); err != nil {
			fmt.Fprintln(os.Stderr, domain+":", err)
			return 1
		}
		return 0
	}
	dir, err := os.MkdirTemp("", "k") // short: Chromium's sockets are below it
	if err != nil {
		fmt.Fprintln(os.Stderr, "a folder for the soak:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// TestNothingIsMissedMixedOrLeftOverALongTime is the soak. Sent and sighted references are compared one by one: a missed one
// was sent in an answer and never sighted, a mixed one was sighted in another Session than the Company sent it for.
//
// Clauses: OPS3-4.36, OPS3-4.37
func TestNothingIsMissedMixedOrLeftOverALongTime(t *testing.T) {
	w := newWorld(t)
	var halves []half
	for _, d := range []struct {
		name   string
		driver browser.Driver
	}{{"chromedp", chromedpdriver.Driver{}}, {"rod", roddriver.Driver{}}} {
		halves = append(halves, w.half(d.name, d.driver, *length/2))
	}
	performed := 0
	for _, s := range w.sites {
		r, err := s.report()
		if err != nil {
			t.Fatal(err)
		}
		performed += len(r.Performances)
		for _, v := range append(r.Broken, r.Notes...) {
			if v.Rule == repeated {
				continue // the same is wanted again and again, as no User would
			}
			t.Errorf("%s saw a broken rule: %s %s (%s): %s", s.Company, v.Severity, v.Rule, v.Clause, v.Seen)
		}
	}
	told := 0
	for _, h := range halves {
		told += h.outcomes[opsweb.Performed]
		h.judge(t)
	}
	if performed != told {
		t.Errorf("the Companies performed %d operations, the agent tells of %d", performed, told)
	}
	text := table(halves)
	t.Log("\n" + text)
	if *draw {
		if err := write(paper, text); err != nil {
			t.Error(err)
		}
	}
}

// half is what one driver came to.
type half struct {
	driver         string
	took           time.Duration
	acts           int
	outcomes       map[opsweb.Outcome]int
	count          *count
	missed, unsent int
	sizes          []size // before, while it ran, after Close
	left           []string
}

// size is what our own process takes.
type size struct {
	live, resident         uint64 // bytes, after a collection
	goroutines, files, kid int
}

// half runs four Sessions in one Chromium for that long: at each Company two, whose tasks touch different things.
func (w *world) half(name string, driver browser.Driver, long time.Duration) half {
	w.t.Helper()
	w.count = newCount()
	h := half{driver: name, outcomes: make(map[opsweb.Outcome]int), count: w.count}
	h.sizes = append(h.sizes, w.measure())
	a, stop := w.start(driver)
	type joined struct {
		visit   *agent.Visit
		company string
		do      task
	}
	var sessions []joined
	for _, s := range w.sites {
		for _, do := range []task{exchangeAndAddress, membershipAndGift} {
			v, err := a.Visit(w.t.Context(), s.Company)
			if err != nil {
				w.t.Fatal(err)
			}
			sessions = append(sessions, joined{v, s.Company, do})
		}
	}
	h.sizes = append(h.sizes, w.measure())
	ctx, cancel := context.WithTimeout(w.t.Context(), long)
	defer cancel()
	began := time.Now()
	var mu sync.Mutex
	var working sync.WaitGroup
	for _, j := range sessions {
		working.Go(func() {
			acts, outcomes := w.work(ctx, j.visit, j.company, j.do)
			mu.Lock()
			defer mu.Unlock()
			h.acts += acts
			for o, n := range outcomes {
				h.outcomes[o] += n
			}
		})
	}
	w.watch(ctx, &h, long/samples)
	working.Wait()
	h.took = time.Since(began)
	h.sizes = append(h.sizes, w.measure())
	w.end(a, stop)
	w.collect()
	h.missed, h.unsent = len(w.count.sent), len(w.count.sighted)
	h.sizes = append(h.sizes, w.measure())
	h.left = w.left()
	return h
}

// watch collects what the Companies sent and looks at our own process until ctx ends.
func (w *world) watch(ctx context.Context, h *half, every time.Duration) {
	ticker := time.NewTicker(min(every, 20*time.Second)) // the Companies' logs keep 2,000 exchanges
	defer ticker.Stop()
	next := time.Now().Add(every)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		w.collect()
		if time.Now().After(next) {
			next = next.Add(every)
			h.sizes = append(h.sizes, w.measure())
			sent, sighted := w.count.figures()
			w.t.Logf("%s: %d references sent, %d sighted; %s", h.driver, sent, sighted, h.sizes[len(h.sizes)-1])
		}
	}
}

func (w *world) collect() {
	for _, s := range w.sites {
		sent, err := s.sent()
		if err != nil {
			w.t.Errorf("%s: %v", s.Company, err)
		}
		for _, r := range sent {
			w.count.took(r)
		}
	}
}

func (w *world) end(a *agent.Agent, stop func()) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), endLimit)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		w.t.Errorf("close: %v", err)
	}
	stop()
}

// measure looks at our own process, after a collection.
func (w *world) measure() size {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	s := size{live: m.HeapAlloc, goroutines: runtime.NumGoroutine()}
	if status, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(status)) {
			if kib, found := strings.CutPrefix(line, "VmRSS:"); found {
				_, _ = fmt.Sscan(kib, &s.resident)
				s.resident <<= 10
			}
		}
	}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.files = len(files)
	}
	if tasks, err := filepath.Glob("/proc/self/task/*/children"); err == nil {
		for _, file := range tasks {
			kids, _ := os.ReadFile(file) // a thread may end meanwhile
			s.kid += len(strings.Fields(string(kids)))
		}
	}
	return s
}

func (s size) String() string {
	return fmt.Sprintf("%.1f MiB live, %.1f MiB resident, %d goroutines, %d files, %d children",
		float64(s.live)/(1<<20), float64(s.resident)/(1<<20), s.goroutines, s.files, s.kid)
}

// judge fails the test when the half was not as it must be.
func (h half) judge(t *testing.T) {
	t.Helper()
	before, after := h.sizes[0], h.sizes[len(h.sizes)-1]
	if h.count.Sent == 0 || h.acts == 0 {
		t.Errorf("%s: nothing was done", h.driver)
	}
	if h.missed+h.unsent+h.count.Mixed+h.count.Refused > 0 {
		t.Errorf("%s: %d missed, %d that no Company sent, %d mixed, refused %v", h.driver, h.missed, h.unsent, h.count.Mixed, h.count.Why)
	}
	if n := h.outcomes[opsweb.Failed] + h.outcomes[opsweb.Unknown] + h.outcomes[opsweb.Expired]; n > 0 {
		t.Errorf("%s: %d operations did not end as the User answered: %v", h.driver, n, h.outcomes)
	}
	if len(h.left) > 0 {
		t.Errorf("%s: left behind: %q", h.driver, h.left)
	}
	if after.goroutines > before.goroutines || after.files > before.files+spareFDs || after.kid > before.kid {
		t.Errorf("%s: before %s; after %s", h.driver, before, after)
	}
	if first, last := h.sizes[1], h.sizes[len(h.sizes)-2]; last.live > first.live+maxGrowth {
		t.Errorf("%s: it grows: from %s to %s", h.driver, first, last)
	}
}
