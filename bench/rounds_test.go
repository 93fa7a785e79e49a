package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/session"
)

const orderPage = "/orders/ord_7Hk2"

const (
	thanBare       = "chromedp, nothing stored"
	thanPlaywright = "Playwright, nothing stored"
	thanAppend     = "write and fdatasync"
)

// rounds measures M1, M2 and M6: whole rounds of ours, of a bare chromedp program and of a Playwright program, in turns, and
// how long ours held the response that began each.
func rounds(ctx context.Context, w *world) (_ []row, err error) {
	holds := &holds{}
	a, v, err := w.visit(ctx, holds.driver(chromedpdriver.Driver{}))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.end(ctx, a)) }()
	stop, err := approveAll(ctx, a)
	if err != nil {
		return nil, err
	}
	defer stop()
	b, s, err := w.bareSession(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	file, err := os.OpenFile(filepath.Join(w.home, "ledger", "raw"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()

	client := w.client()
	ways := []way{
		{"ours", func(ctx context.Context) (time.Duration, error) { return ourRound(ctx, w, v) }},
		{"chromedp", func(ctx context.Context) (time.Duration, error) {
			if err := chromedp.Do(b.tab, chromedp.Navigate(w.site.Company()+orderPage)); err != nil {
				return 0, err
			}
			began := time.Now()
			err := b.round(ctx, client, s, w.company.OperationsEndpoint)
			return time.Since(began), err
		}},
		{"append", func(context.Context) (time.Duration, error) { return appendRaw(w, file) }},
	}
	why := *without
	p, err := w.playwright(ctx)
	switch {
	case err != nil:
		return nil, err
	case p != nil:
		defer func() { err = errors.Join(err, p.close()) }()
		ways = append(ways, way{"Playwright", p.round})
	case why == "":
		why = "no Playwright was given"
	}
	taken, err := inTurns(ctx, *times, ways...)
	if err != nil {
		return nil, err
	}
	m2 := notMeasured("M2", "the same round", thanPlaywright, 0.70, why)
	if p != nil {
		m2 = ratio("M2", "the same round", thanPlaywright, taken[0], taken[3], 0.70)
	}
	held := holds.taken()
	if len(held) < *times {
		return nil, fmt.Errorf("%d responses were held in %d rounds", len(held), *times)
	}
	return []row{
		ratio("M1", "whole round: act, terms, approval, act again, done", thanBare, taken[0], taken[1], 1.05),
		m2,
		ratio("M6", "the page waits while its response is written down", thanAppend, held[len(held)-*times:], taken[2], 2),
	}, nil
}

// ourRound is a whole round of an agent on the order's page.
func ourRound(ctx context.Context, w *world, v *agent.Visit) (time.Duration, error) {
	if _, err := v.Do(ctx, agent.Navigate(w.site.Company()+orderPage)); err != nil {
		return 0, err
	}
	began := time.Now()
	result, err := v.Do(ctx, agent.Click("#exchange"))
	took := time.Since(began)
	if err == nil && result.Status() != agent.StatusPerformed {
		err = fmt.Errorf("the round ended as %s", result.Status())
	}
	return took, err
}

// bareSession is a bare program whose browser is joined to a Session of its own.
func (w *world) bareSession(ctx context.Context) (*bare, *session.Session, error) {
	b, err := w.bareChromium(ctx)
	if err != nil {
		return nil, nil, err
	}
	s, err := w.session()
	if err == nil {
		err = b.join(ctx, w, s)
	}
	if err != nil {
		return nil, nil, errors.Join(err, b.close())
	}
	return b, s, nil
}

// approveAll has a User approve at the agent's socket, as a terminal does, as soon as they are asked.
func approveAll(ctx context.Context, a *agent.Agent) (stop func(), err error) {
	client, err := attach.Watch(ctx, a.RunDir(), a.ID())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var answering sync.WaitGroup
	answering.Go(func() {
		for {
			view, err := client.Next(ctx)
			if err != nil {
				return
			}
			for _, q := range view.Questions {
				_, _ = client.Answer(ctx, approval.FromUser(true, q.Request.Shows())) // one that is lost makes its round fail
			}
		}
	})
	return func() {
		cancel()
		answering.Wait()
		client.Close()
	}, nil
}

// carries reports whether a response has the header that is watched for.
func carries(r browser.Paused) bool {
	return slices.ContainsFunc(r.Headers, func(h browser.Header) bool { return strings.EqualFold(h.Name, opsweb.Header) })
}

// appendRaw is one write of a sighting's line, and one fdatasync: what no ledger can be without.
func appendRaw(w *world, file *os.File) (time.Duration, error) {
	records, _, err := ledger.Read(filepath.Join(w.home, "ledger", ledger.FileName))
	if err != nil {
		return 0, err
	}
	size := 700
	for _, r := range records {
		if r.Kind == "sighting" {
			size = len(r.Data) + 300
		}
	}
	line := make([]byte, size)
	began := time.Now()
	if _, err := file.Write(line); err != nil {
		return 0, err
	}
	err = syscall.Fdatasync(int(file.Fd()))
	return time.Since(began), err
}

// holds measures how long responses with the header were held: from when the driver hands one over, decoded, to when it is
// given the command that lets it go.
type holds struct {
	mu    sync.Mutex
	began map[browser.PausedID]time.Time
	times samples
}

func (h *holds) taken() samples {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.times
}

// driver puts the measuring between a driver and what is above it.
func (h *holds) driver(d browser.Driver) browser.Driver {
	h.began = make(map[browser.PausedID]time.Time)
	return heldDriver{d, h}
}

type heldDriver struct {
	browser.Driver
	holds *holds
}

func (d heldDriver) Start(ctx context.Context, p browser.Process, paused func(browser.Paused)) (browser.Engine, error) {
	e, err := d.Driver.Start(ctx, p, func(r browser.Paused) {
		if !r.Leaving && carries(r) {
			d.holds.mu.Lock()
			d.holds.began[r.ID] = time.Now()
			d.holds.mu.Unlock()
		}
		paused(r)
	})
	return heldEngine{e, d.holds}, err
}

type heldEngine struct {
	browser.Engine
	holds *holds
}

func (e heldEngine) Release(ctx context.Context, id browser.PausedID) error {
	now := time.Now()
	e.holds.mu.Lock()
	if began, ok := e.holds.began[id]; ok {
		e.holds.times = append(e.holds.times, now.Sub(began))
		delete(e.holds.began, id)
	}
	e.holds.mu.Unlock()
	return e.Engine.Release(ctx, id)
}
