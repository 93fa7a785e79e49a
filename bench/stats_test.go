package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
)

// way is one way of doing what is measured. run does it once and returns how long it took, what it prepared left out.
type way struct {
	name string
	run  func(context.Context) (time.Duration, error)
}

// inTurns does each way once to warm up, and then n times, in turns whose order moves on by one each time. It returns the
// times of each way.
func inTurns(ctx context.Context, n int, ways ...way) ([]samples, error) {
	taken := make([]samples, len(ways))
	for turn := -1; turn < n; turn++ {
		for i := range ways {
			at := (i + turn + 1) % len(ways)
			took, err := ways[at].run(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s, turn %d: %w", ways[at].name, turn+1, err)
			}
			if turn >= 0 {
				taken[at] = append(taken[at], took)
			}
		}
	}
	return taken, nil
}

// samples are the times of one way.
type samples []time.Duration

// quantile is the value below which that part of the samples lies, between two of them where it has to.
func (s samples) quantile(q float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + time.Duration((at-float64(low))*float64(sorted[high]-sorted[low]))
}

func (s samples) median() time.Duration { return s.quantile(0.5) }

// spread is the width of the middle half of the samples, as a part of their median.
func (s samples) spread() float64 {
	if s.median() == 0 {
		return 0
	}
	return float64(s.quantile(0.75)-s.quantile(0.25)) / float64(s.median())
}

// machine is what the figures were taken on.
func machine() string {
	model := "unknown processor"
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d × %s, %s/%s, %s", runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// profileInto profiles this process until stop is called; an empty path is none.
func profileInto(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

func TestTheMedianAndTheSpreadAreThoseOfTheSamples(t *testing.T) {
	for _, c := range []struct {
		s              samples
		median         time.Duration
		spreadHundreds int
	}{
		{nil, 0, 0},
		{samples{7}, 7, 0},
		{samples{40, 10}, 25, 60},
		{samples{30, 10, 20}, 20, 50},
		{samples{10, 1000, 20, 40, 30}, 30, 66},
	} {
		if got, spread := c.s.median(), int(c.s.spread()*100); got != c.median || spread != c.spreadHundreds {
			t.Errorf("%v: median %d, spread %d %%", c.s, got, spread)
		}
	}
}

func TestEveryWayTakesItsTurnInEveryPlace(t *testing.T) {
	var order strings.Builder
	done := func(name string) way {
		return way{name, func(context.Context) (time.Duration, error) { order.WriteString(name); return 1, nil }}
	}
	taken, err := inTurns(t.Context(), 3, done("a"), done("b"), done("c"))
	if err != nil || len(taken[0]) != 3 || len(taken[2]) != 3 {
		t.Errorf("%v, %v", taken, err)
	}
	if order.String() != "abcbcacababc" {
		t.Errorf("in the order %s", order.String())
	}
}
