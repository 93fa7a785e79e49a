package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/join"
)

const (
	responses = 1000
	atOnce    = 10 // of them
	manyLimit = time.Minute
)

// joins measures M3: an assertion is signed and posted, until the page that it returns to is there.
func joins(ctx context.Context, w *world) (_ []row, err error) {
	b, err := w.ours(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.closeOurs(ctx, b)) }()
	bare, err := w.bareChromium(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	front := w.site.Company() + "/"
	taken, err := inTurns(ctx, *times,
		way{"ours", func(ctx context.Context) (_ time.Duration, err error) {
			s, err := w.session()
			if err != nil {
				return 0, err
			}
			c, err := b.NewContext(ctx)
			if err != nil {
				return 0, err
			}
			defer func() { err = errors.Join(err, c.Close(ctx)) }()
			began := time.Now()
			_, err = join.Join(ctx, c, w.company, s, front)
			return time.Since(began), err
		}},
		way{"navigation", func(context.Context) (time.Duration, error) {
			tab, cancel, err := bare.fresh()
			if err != nil {
				return 0, err
			}
			defer cancel()
			began := time.Now()
			err = chromedp.Do(tab, chromedp.Navigate(front))
			return time.Since(began), err
		}},
	)
	if err != nil {
		return nil, err
	}
	return []row{ratio("M3", "join: assertion signed, page returned to", "bare navigation to that page", taken[0], taken[1], 1.5)}, nil
}

// navigations measures M5.
func navigations(ctx context.Context, w *world) (_ []row, err error) {
	b, err := w.ours(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.closeOurs(ctx, b)) }()
	c, err := b.NewContext(ctx)
	if err != nil {
		return nil, err
	}
	bare, err := w.bareChromium(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	tab, closeTab, err := bare.fresh()
	if err != nil {
		return nil, err
	}
	defer closeTab()
	page := w.site.Company() + orderPage
	taken, err := inTurns(ctx, *times,
		way{"ours", func(ctx context.Context) (time.Duration, error) {
			began := time.Now()
			_, err := c.Do(ctx, browser.Act{Kind: browser.Navigate, URL: page})
			return time.Since(began), err
		}},
		way{"chromedp", func(context.Context) (time.Duration, error) {
			began := time.Now()
			err := chromedp.Do(tab, chromedp.Navigate(page))
			return time.Since(began), err
		}},
	)
	if err != nil {
		return nil, err
	}
	return []row{ratio("M5", "navigation, responses held", "chromedp as it comes", taken[0], taken[1], 1)}, nil
}

// manyFetches is what the page does: so many requests of its own, some at a time.
var manyFetches = fmt.Sprintf(`(async () => {
  let next = 0;
  const some = async () => {
    while (next < %d) await (await fetch('/assets/done.svg?n=' + next++, {cache: 'no-store'})).arrayBuffer();
  };
  await Promise.all(Array.from({length: %d}, some));
  return true;
})()`, responses, atOnce)

// manyResponses measures M4: a page that asks for a thousand things, with its responses held, with nothing enabled, and
// with the events of the Network domain.
func manyResponses(ctx context.Context, w *world) (_ []row, err error) {
	var held atomic.Int64
	b, err := w.ours(ctx, countingDriver{chromedpdriver.Driver{}, &held})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.closeOurs(ctx, b)) }()
	c, err := b.NewContext(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := c.Do(ctx, browser.Act{Kind: browser.Navigate, URL: w.site.Company() + orderPage}); err != nil {
		return nil, err
	}
	bare, err := w.bareChromium(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	off, closeOff, err := bare.fresh()
	if err != nil {
		return nil, err
	}
	defer closeOff()
	on, closeOn, err := bare.fresh()
	if err != nil {
		return nil, err
	}
	defer closeOn()
	for _, tab := range []context.Context{off, on} {
		if err := chromedp.Do(tab, chromedp.Navigate(w.site.Company()+orderPage)); err != nil {
			return nil, err
		}
	}
	if err := chromedp.Do(off, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.Disable, cdp.Empty{})
		return err
	})); err != nil {
		return nil, err
	}
	var seen atomic.Int64
	if err := chromedp.Listen(on, func(ev any) {
		if _, ok := ev.(*network.EventResponseReceived); ok {
			seen.Add(1)
		}
	}); err != nil {
		return nil, err
	}
	counted := func(count *atomic.Int64, do func() error) (time.Duration, error) {
		count.Store(0)
		began := time.Now()
		err := do()
		took := time.Since(began)
		if n := count.Load(); err == nil && n < responses {
			err = fmt.Errorf("%d of %d responses were seen", n, responses)
		}
		return took, err
	}
	evaluate := func(tab context.Context) error {
		_, err := chromedp.Run(tab, chromedp.Evaluate[bool](manyFetches, chromedp.EvalAwaitPromise))
		return err
	}
	taken, err := inTurns(ctx, *times,
		way{"ours", func(ctx context.Context) (time.Duration, error) {
			return counted(&held, func() error {
				_, err := c.Do(ctx, browser.Act{Kind: browser.WaitExpression, Expression: manyFetches, Timeout: manyLimit})
				return err
			})
		}},
		way{"off", func(context.Context) (time.Duration, error) {
			began := time.Now()
			err := evaluate(off)
			return time.Since(began), err
		}},
		way{"Network", func(context.Context) (time.Duration, error) {
			return counted(&seen, func() error { return evaluate(on) })
		}},
	)
	if err != nil {
		return nil, err
	}
	return []row{
		ratio("M4a", "a page with 1,000 responses, all held", "nothing enabled", taken[0], taken[1], 1.55),
		ratio("M4b", "the same", "Network events alone", taken[0], taken[2], 1),
	}, nil
}

// countingDriver counts the responses that are held.
type countingDriver struct {
	browser.Driver
	held *atomic.Int64
}

func (d countingDriver) Start(ctx context.Context, p browser.Process, paused func(browser.Paused)) (browser.Engine, error) {
	return d.Driver.Start(ctx, p, func(r browser.Paused) {
		if !r.Leaving {
			d.held.Add(1)
		}
		paused(r)
	})
}
