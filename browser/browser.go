// Package browser owns a Chromium: it starts one with a profile of its own, holds every response before a page sees
// it, joins and acts in browser contexts, and makes an act again.
//
// Responses are held at the browser session with Fetch.requestPaused, enabled before the first page exists. That is
// the one place where every response of every frame, popup and worker passes, and where what a service worker made up
// does not. A response that carries the watched header is given to OnHeld, and the page sees it only when OnHeld has
// returned or its time is up; every other one goes on at once.
//
// What this does not promise: a response that Chromium never shows to Fetch is not seen: a WebSocket handshake that was
// refused, the preload beside a service worker's navigation, a service worker's script when it is updated. docs/capture.md
// lists what was tried.
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	startTimeout   = 30 * time.Second // Chromium up and holding responses
	closeTimeout   = 10 * time.Second // Chromium ended, its profile removed
	holdTimeout    = 10 * time.Second // a response is released after this long, whatever OnHeld does
	releaseTimeout = 10 * time.Second // the call that releases
)

// ErrGone is wrapped by every error of an act whose Chromium ended under it.
var ErrGone = errors.New("chromium has ended")

// Config says which Chromium to start and what to do with what it receives.
type Config struct {
	Driver Driver
	// Bin is Chromium's path. Empty: looked for, see [Find].
	Bin string
	// NoSandbox switches Chromium's own sandbox off. As root Chromium does not start with it on.
	NoSandbox bool
	// Headful opens a window.
	Headful bool
	// HostResolverRules and LeafKeys are how named hosts are reached, see package reach.
	HostResolverRules string
	LeafKeys          []string
	// Private reports whether a host (without a port) may be asked at a loopback or private address. Nil: none may, and a
	// page's request to such an address is broken off before it leaves.
	Private func(host string) bool
	// UsersOwn reports whether a page belongs to the User's own browser, such as the page of a sign-in: a request for it is
	// broken off before it leaves. It is asked about addresses with a parameter client_id or user_code. Nil: none.
	UsersOwn func(*url.URL) bool
	// OnProfile, when set, is told the profile folder before that is made, so that another process can end what runs
	// on it when this one is killed, see [End]. Its error is Start's, and nothing was started.
	OnProfile func(dir string) error
	// Allowed are the only hosts that this Chromium connects to, whatever page, frame, worker or redirect asks; see
	// [CheckAllowed]. Empty: all. With a list WebRTC has no UDP, and no proxy of the system's is used. Where
	// HostResolverRules name hosts below a *.host, those alone of it are allowed.
	Allowed []string
	// OnKeptOff, when set, is told of each request that was broken off before it left, and which of ErrNotAllowed,
	// ErrPrivateAddress and ErrUsersOwn is why. It is called concurrently and must not block. A WebSocket is not told.
	OnKeptOff func(url string, why error)
	// Watch is the header whose responses are given to OnHeld.
	Watch string
	// OnHeld is called for each response that carries Watch, before the page sees it. It records and returns: it never
	// waits for a person or for a request of ours. It must stop when ctx ends, at most 10 s after the response came;
	// the response is then released all the same. It is called concurrently.
	OnHeld func(ctx context.Context, h Held)
	// OnLimited, when set, is called for each response of a browser context of ours that says that requests come too
	// often (draft 0.1, section 4.3), before the page sees it, under the rules of OnHeld.
	OnLimited func(Limited)
	Now       func() time.Time
}

// Browser is a running Chromium of ours. Safe for concurrent use.
type Browser struct {
	cfg     Config
	engine  Engine
	profile string

	// life is the Browser's own, not a caller's: held responses outlive the call that started the Chromium.
	life context.Context
	end  context.CancelFunc

	// alive ends with the Chromium, its cause is ErrGone. A held response may still be recorded then, so life goes on.
	alive    context.Context
	watching sync.WaitGroup

	holding sync.WaitGroup
	answers *answers

	probe atomic.Pointer[probe] // the self-check under way

	mu       sync.Mutex
	closing  bool
	closed   chan struct{} // closed when Close has ended
	tabs     map[TargetID]*tabState
	frames   map[TargetID]*tabState // the frames below a main one that acts were made in
	contexts map[ContextID]*Context
	spots    spots
}

// Start starts a Chromium with a fresh profile folder. ctx bounds the start, not the Chromium's life.
func Start(ctx context.Context, cfg Config) (*Browser, error) {
	if cfg.Driver == nil || cfg.OnHeld == nil || cfg.Watch == "" {
		return nil, errors.New("browser: driver, watched header and OnHeld are required")
	}
	for _, pattern := range cfg.Allowed {
		if err := CheckAllowed(pattern); err != nil {
			return nil, fmt.Errorf("browser: allowed hosts: %w", err)
		}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	bin, err := Find(cfg.Bin)
	if err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 && !cfg.NoSandbox {
		return nil, ErrSandboxAsRoot
	}
	profile, err := newProfile(cfg.OnProfile)
	if err != nil {
		return nil, err
	}
	b := &Browser{cfg: cfg, profile: profile, closed: make(chan struct{}), tabs: make(map[TargetID]*tabState), frames: make(map[TargetID]*tabState), answers: newAnswers(), contexts: make(map[ContextID]*Context)}
	b.life, b.end = context.WithCancel(context.WithoutCancel(ctx))

	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	b.engine, err = cfg.Driver.Start(ctx, Process{
		Bin: bin, ProfileDir: profile, Flags: flags(cfg), Env: environment(profile), Guard: guarded(),
		Sent: b.sent, Opened: b.onOpened, Closed: b.onClosed, Dialog: b.onDialog, Console: b.onConsole,
	}, b.onPaused)
	if err != nil {
		b.end()
		return nil, errors.Join(fmt.Errorf("chromium %s did not start: %w", bin, err), removeProfile(profile))
	}
	var died context.CancelCauseFunc
	b.alive, died = context.WithCancelCause(b.life)
	b.watching.Go(func() {
		select {
		case <-b.engine.Gone():
		case <-b.life.Done():
		}
		died(ErrGone)
	})
	return b, nil
}

// Version is Chromium's, such as "Chrome/156.0.8078.108".
func (b *Browser) Version() string { return b.engine.Version() }

// Gone is closed when the Chromium has ended, whatever the reason.
func (b *Browser) Gone() <-chan struct{} { return b.engine.Gone() }

// Close ends the Chromium and removes its profile. It returns when no process and no file of it is left, and no OnHeld
// runs any more, soon after 10 s at the latest; an error says what is left. A second call waits for the first one's end.
func (b *Browser) Close(ctx context.Context) error {
	b.mu.Lock()
	already := b.closing
	b.closing = true
	b.mu.Unlock()
	if already {
		select {
		case <-b.closed:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("chromium is being ended: %w", ctx.Err())
		}
	}
	defer close(b.closed)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	err := b.engine.Close(ctx)
	b.end()
	b.watching.Wait()
	released := make(chan struct{})
	go func() {
		b.holding.Wait()
		close(released)
	}()
	select {
	case <-released:
	case <-ctx.Done(): // OnHeld does not keep what Config asks of it, and nothing here can end it
		err = errors.Join(err, errors.New("a held response is still being looked at"))
	}
	return errors.Join(err, removeProfile(b.profile))
}

// within bounds a use of the Chromium by the Chromium's own life and by limit, whose end says what.
func (b *Browser) within(ctx context.Context, limit time.Duration, what error) (context.Context, context.CancelFunc) {
	ctx, cancelTime := context.WithTimeoutCause(ctx, limit, what)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.alive, func() { cancel(ErrGone) })
	return ctx, func() {
		stop()
		cancel(nil)
		cancelTime()
	}
}

// gone adds ErrGone to an error that came because Chromium ended.
func (b *Browser) gone(err error) error {
	if err == nil || errors.Is(err, ErrGone) {
		return err
	}
	select {
	case <-b.engine.Gone():
		return fmt.Errorf("%w: %w", ErrGone, err)
	default:
		return err
	}
}

// sent notes which act a request belongs to that is sent now, and that it repeats one that was refused.
func (b *Browser) sent(r SentRequest) {
	b.answers.sent(r)
	b.mu.Lock()
	var c *Context
	if t := b.tabs[r.Tab]; t != nil {
		c = b.contexts[t.context]
	}
	b.mu.Unlock()
	if c != nil {
		c.sent(r.Tab, r.ID, r.Busy)
	}
}

// actOf returns the act that a response most plausibly belongs to: the one whose request it answers or, when its sending
// was not seen, the one that is present as it arrives.
func (b *Browser) actOf(id ContextID, request RequestID) *Made {
	b.mu.Lock()
	c := b.contexts[id]
	b.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.actOf(request)
}
