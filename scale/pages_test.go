package scale

import (
	"context"
	"fmt"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
)

const pageLimit = 5 * time.Minute // for the requests of one page

// asks is what a page does: so many requests of its own, ten at a time.
const asks = `(async () => {
  let next = 0;
  const some = async () => {
    while (next < %d) await (await fetch('/assets/done.svg?n=' + next++, {cache: 'no-store'})).arrayBuffer();
  };
  await Promise.all(Array.from({length: 10}, some));
  return true;
})()`

// pages is the table of pages by how much they ask for.
func (w *world) pages(ctx context.Context) (string, error) {
	var labels []string
	var sizes []float64
	columns := []column{
		{"time", nil, "%.2f s", true}, {"each", nil, "%.2f ms", true}, {"own memory, live", nil, "%.1f MiB", true},
		{"resident", nil, "%.0f MiB", true}, {"goroutines", nil, "%.0f", true},
	}
	for _, n := range []int{100, 1000, 10_000} {
		if n > *largest {
			continue
		}
		var took time.Duration
		var after size
		_, err := w.with(ctx, 1, 1, func(all [][]*agent.Visit) error {
			v := all[0][0]
			if _, err := v.Do(ctx, agent.Navigate(w.company+"/")); err != nil {
				return err
			}
			began := time.Now()
			act := browser.Act{Kind: browser.WaitExpression, Expression: fmt.Sprintf(asks, n), Timeout: pageLimit}
			if _, err := v.Do(ctx, agent.Step{Number: agent.Next, Act: act}); err != nil {
				return err
			}
			took = time.Since(began)
			var err error
			after, err = ownSize()
			return err
		})
		if err != nil {
			return "", err
		}
		labels, sizes = append(labels, fmt.Sprintf("%d requests", n)), append(sizes, float64(n))
		for i, value := range []float64{
			took.Seconds(), took.Seconds() * 1000 / float64(n), (float64(after.live) - float64(w.base.live)) / (1 << 20),
			(float64(after.resident) - float64(w.base.resident)) / (1 << 20), float64(after.goroutines - w.base.goroutines),
		} {
			columns[i].values = append(columns[i].values, value)
		}
	}
	return table("page", labels, sizes, columns), nil
}
