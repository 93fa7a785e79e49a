package scale

import (
	"context"
	"fmt"

	"github.com/papaver-agent/papaver/agent"
)

// sessions is the table of Sessions in one Chromium and in several.
func (w *world) sessions(ctx context.Context) (string, error) {
	one, err := w.joined(ctx, [][2]int{{1, 1}, {1, 10}, {1, 50}})
	if err != nil {
		return "", err
	}
	several, err := w.joined(ctx, [][2]int{{1, 1}, {5, 2}, {5, 10}})
	if err != nil {
		return "", err
	}
	return one + "\n" + several + fmt.Sprintf("\nA process of Go that only waits has %.1f wake-ups a second.\n", w.idle), nil
}

// joined measures each so many agents, a Chromium each, with so many Sessions in it.
func (w *world) joined(ctx context.Context, rows [][2]int) (string, error) {
	var labels []string
	var sizes []float64
	columns := []column{
		{"start", nil, "%.2f s", true}, {"start, each", nil, "%.0f ms", true}, {"own memory, live", nil, "%.1f MiB", true},
		{"live, each", nil, "%.0f KiB", true}, {"resident", nil, "%.0f MiB", true}, {"goroutines", nil, "%.0f", true}, {"idle wake-ups", nil, "%.1f/s", false},
	}
	for _, row := range rows {
		n := row[0] * row[1]
		if n > *most {
			continue
		}
		var s size
		var idle float64
		took, err := w.with(ctx, row[0], row[1], func([][]*agent.Visit) error {
			if err := wait(ctx, settles); err != nil {
				return err
			}
			var err error
			if idle, err = w.watcher.idleWakeUps(); err != nil {
				return err
			}
			s, err = ownSize() // last: the runtime gives memory back for some seconds after a collection
			return err
		})
		if err != nil {
			return "", err
		}
		live := float64(s.live) - float64(w.base.live)
		label := fmt.Sprintf("%d in one Chromium", n)
		if row[0] > 1 {
			label = fmt.Sprintf("%d in %d Chromiums", n, row[0])
		}
		labels, sizes = append(labels, label), append(sizes, float64(n))
		for i, value := range []float64{
			took.Seconds(), took.Seconds() * 1000 / float64(n), live / (1 << 20), live / float64(n) / (1 << 10),
			(float64(s.resident) - float64(w.base.resident)) / (1 << 20), float64(s.goroutines - w.base.goroutines), idle,
		} {
			columns[i].values = append(columns[i].values, value)
		}
	}
	return table("Sessions", labels, sizes, columns), nil
}
