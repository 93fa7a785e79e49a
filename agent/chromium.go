package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/trace"
)

// blankTimeout bounds the opening of the first browser context, which [Agent.Close] waits for.
const blankTimeout = 30 * time.Second

// opening is a browser context that is being opened, in a Chromium that may have to be started for it. It is blank and asks
// no site for anything.
type opening struct {
	cancel  context.CancelFunc
	decided chan struct{} // closed when the Chromium runs, or when there is none
	runs    bool          // to be read after decided
	ended   chan struct{}
	context *browser.Context // from here on to be read after ended
	err     error
	taken   bool
}

// open begins to open a browser context. The caller calls done.
func (a *Agent) open(ctx context.Context) *opening {
	ctx, cancel := context.WithCancel(trace.Row(ctx, "browser"))
	o := &opening{cancel: cancel, decided: make(chan struct{}), ended: make(chan struct{})}
	decide := sync.OnceFunc(func() { close(o.decided) })
	go func() {
		defer close(o.ended)
		defer decide()
		first, err := a.startBrowser(ctx, func() { o.runs = true; decide() })
		if err != nil {
			o.err = err
			return
		}
		if first == nil {
			first = openBlank(ctx, a.browser)
		}
		if o.context, o.err = first.context, first.err; o.err != nil {
			o.err = browserTrouble(o.err, "the browser was started, and a Session may have been", "no page was opened")
		}
	}()
	return o
}

// running waits until it is known whether there is a Chromium to open the context in.
func (o *opening) running() bool {
	<-o.decided
	return o.runs
}

// wait returns the context, which is the caller's from now on.
func (o *opening) wait() (*browser.Context, error) {
	<-o.ended
	o.taken = true
	return o.context, o.err
}

// done ends what nobody has taken.
func (o *opening) done() {
	o.cancel()
	<-o.ended
	if o.taken || o.context == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = o.context.Close(ctx) // it is blank, and ends with its Chromium
}

// blank is a browser context with its tab, or why there is none.
type blank struct {
	context *browser.Context
	err     error
}

// openBlank opens a browser context in b.
func openBlank(ctx context.Context, b *browser.Browser) *blank {
	ctx, span := trace.Begin(ctx, trace.Tab)
	c, err := b.NewContext(ctx)
	span.End(trace.Failed(err))
	return &blank{c, err}
}

// checkedBlank opens the first browser context while the self-check, where there has to be one, goes on. Nobody is given it
// before that is over: its error ends the Chromium, and the context with it.
func (a *Agent) checkedBlank(ctx context.Context, b *browser.Browser, cfg browser.Config) (*blank, error) {
	checked := make(chan error, 1)
	go func() { checked <- a.checked(trace.Row(ctx, "check"), b, cfg) }()
	opening, cancel := context.WithTimeout(ctx, blankTimeout)
	defer cancel()
	first := openBlank(opening, b)
	return first, <-checked
}

// startBrowser starts the run's one Chromium, whose end ends the run, and opens its first browser context. Where it runs
// already there is none. It calls running as soon as there is a Chromium.
func (a *Agent) startBrowser(ctx context.Context, running func()) (first *blank, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, ErrClosed
	}
	if a.browser != nil {
		running()
		return nil, nil
	}
	how := a.reach.Chromium(ctx)
	for _, notice := range how.Notices {
		a.cfg.Logger.Warn("a named host is not trusted", "why", notice)
	}
	cfg := browser.Config{
		Driver: a.cfg.Driver, Bin: a.cfg.Chromium, NoSandbox: a.cfg.NoSandbox, Headful: a.cfg.Headful,
		HostResolverRules: how.HostResolverRules, LeafKeys: how.LeafKeys, Private: a.reach.Named, UsersOwn: a.own.holds,
		Allowed: a.cfg.Allowed, OnKeptOff: a.offLimits,
		OnProfile: func(dir string) error { return a.writeLine(ctx, lineChromium, chromiumLine{Profile: dir}) }, // what [Agent.Resume] ends
		Watch:     opsweb.Header, OnHeld: a.ops.Held, OnLimited: a.limited, Now: a.cfg.Now,
	}
	done := "what the site publishes was read"
	starting, span := trace.Begin(ctx, trace.Chromium)
	b, err := browser.Start(starting, cfg)
	span.End(trace.Failed(err))
	if err == nil {
		done += ", and a Session may have been started"
		running()
		if first, err = a.checkedBlank(ctx, b, cfg); err != nil {
			err = errors.Join(err, b.Close(ctx))
		}
	}
	if err != nil {
		return nil, browserTrouble(err, done, "no page was opened")
	}
	a.browser = b
	a.running.Go(func() {
		select {
		case <-b.Gone():
			a.end(browser.ErrGone)
		case <-a.life.Done():
		}
	})
	return first, nil
}
