// Package agent is the API for authors of agents: open a home, join a Session at a Company, make acts in a browser of the
// agent's own, and get back from each act what became of it.
//
//	a, err := agent.Start(ctx, agent.Config{Home: dir, Driver: chromedpdriver.Driver{}, Title: "exchange the jacket"})
//	defer a.Close(ctx)
//	v, err := a.Visit(ctx, "https://company.example")             // discovery, Chromium, the join
//	result, err := v.Do(ctx, agent.Navigate("https://company.example/orders"))
//	result, err = v.Begin(ctx, agent.Click("aria/Exchange"))
//	fmt.Println(result.Status())                                  // done, waiting, performed, refused, …
//
// # What becomes of an act
//
// An act that has an effect meets an operation: the Company's website answers 403 and names it, the exact terms come from the
// Company's own endpoint, and the User is asked. [Visit.Do] returns when that is settled, [Visit.Begin] as soon as the User is
// asked. [Result.Status] is the act in one word, and [Result.Rounds] are its operations: each can be waited for
// ([Round.Wait]), watched ([Round.Events]), looked at ([Round.Operation]), or left to the terminal UI.
//
// No method approves anything. Questions wait at the agent's socket in the home for a terminal UI (`papaver tui`, package
// tui), and only a key press there answers them.
//
// An operation that was refused, declined or has expired is a status and no error. After StatusUnknown an act must not be
// made again before the Company was asked: `papaver run --resume` does that.
//
// # Errors
//
// What goes wrong in [Start], [Agent.Visit], [Visit.Do], [Visit.Begin] and [Round.Wait] is a [*Failed] wherever a person
// will read it: what happened, what was done, what was not, what to do next. Callers decide by these, with errors.Is and
// errors.AsType:
//
//   - Start: [lock.ErrLocked], [lock.ErrChanged], [ledger.ErrDamaged].
//   - Visit: [company.ErrUnreachable], [company.ErrUnreadable], [company.ErrDisagree] and [company.ErrVersion] of what is
//     published; [session.ErrNoIdentity]; [account.ErrNone] and [*account.OtherAgentError] of a sign-in;
//     [browser.ErrNoChromium], [browser.ErrSandboxAsRoot] and [browser.ErrNotHeld]; [join.ErrRefused] and the other errors of
//     package join; [browser.ErrNotAllowed].
//   - Do and Begin: [browser.ErrNotFound] with [*browser.FindError], [browser.ErrRefExpired], [browser.ErrNotTaken],
//     [browser.ErrNotSeen], [browser.ErrAct] and the other errors of an act; [ErrOpen] with [*OpenError] (Begin alone);
//     [ErrSiteRefused], [ErrForgotten], [ErrResting]; [browser.ErrGone] when Chromium has ended.
//   - Any: [ErrClosed], and the context's own error.
//
// # Testing
//
// Package agenttest runs an agent against the bundled Company, with a User who presses keys.
package agent

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/pace"
	"github.com/papaver-agent/papaver/internal/randomid"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/internal/skew"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/trace"
)

// requestTimeout bounds one request of ours, its answer included.
const requestTimeout = 30 * time.Second

// Config says how an agent runs. Home and Driver are required.
type Config struct {
	Home   string         // the folder of `--home`, which papaver identity init makes
	Driver browser.Driver // chromedpdriver.Driver{} or roddriver.Driver{}
	// ConnectTo and CACerts are how named hosts are reached, as --connect-to and --cacert spell it.
	ConnectTo []string
	CACerts   []string
	Chromium  string // path; empty: looked for
	NoSandbox bool
	Headful   bool
	// Allowed are the only hosts that the browser connects to, as browser.CheckAllowed takes them; empty: all. The Company's
	// own are not added. Our own requests are not meant.
	Allowed []string

	// Profile forces the version of the protocol that is spoken. Nil: the newest of ours that the Company offers.
	Profile *profile.Profile
	// SignedIn joins signed in, to the account that the User gave access to (papaver signin). Account is its label, empty
	// for the only one, and Keyring opens the tokens that are kept there; it may be nil.
	SignedIn bool
	Account  string
	Keyring  account.Keyring

	// Key is the home's lock, open: [lock.Load] reads it from the folder answers of the home, and [lock.Lock.Open] takes the
	// User's passphrase. A home that has one can't be used without: [lock.ErrLocked].
	Key *lock.Key

	// NoInput refuses every question as soon as it is asked.
	NoInput bool

	// Flow is the hash of the flow that is made, for the ledger: only the same one may finish what it began. Empty: none.
	Flow string

	Title string   // of the task, for the terminals that watch it
	Steps []string // the labels of its steps, in order; may be empty

	// OpenLedger opens the ledger's file and Wrap is put around the transport of our own requests, when they are set: so that a
	// fault can be had at each of them.
	OpenLedger func(path string) (ledger.File, error)
	Wrap       func(http.RoundTripper) http.RoundTripper

	// Trace gets the run's timeline: when each part of it began and ended, and no secret. The caller closes it after the agent.
	// Nil: none is made.
	Trace *trace.Timeline

	// Events is told what happens, in order. It must not block, and it must not call the agent.
	Events func(Event)
	Logger *slog.Logger
	Now    func() time.Time
	Rand   io.Reader
}

// Agent is one run: one task, with a socket in the home that terminals attach to. Safe for concurrent use.
type Agent struct {
	cfg      Config
	home     home.Home
	seals    lock.Seals
	reach    *reach.Reach
	client   *http.Client
	id       string
	ledger   *ledger.Ledger
	ops      *opsweb.Operations
	progress *progress
	visits   visits
	pace     *pace.Pace
	clocks   *skew.Clocks
	own      ownPages
	rounds   *roundEvents
	keptOff  keptOff
	server   *attach.Server

	// life is the run's own: it ends with Close, or with the cause when Chromium ends under it.
	life    context.Context
	end     context.CancelCauseFunc
	running sync.WaitGroup

	lastClock lastClock

	events sync.Mutex // held while an event is given out, so that they are in order

	mu       sync.Mutex
	browser  *browser.Browser
	closed   bool
	finished bool
}

// Start opens the home and begins a run in it: its ledger lines, its socket. It starts no Chromium yet and asks nobody
// anything. The caller closes the agent.
func Start(ctx context.Context, cfg Config) (_ *Agent, err error) {
	if cfg.Home == "" || cfg.Driver == nil {
		return nil, errors.New("agent: home and driver are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Events == nil {
		cfg.Events = func(Event) {}
	}
	for _, pattern := range cfg.Allowed {
		if err := browser.CheckAllowed(pattern); err != nil {
			return nil, fmt.Errorf("agent: allowed hosts: %w", err)
		}
	}
	ctx = cfg.Trace.In(ctx)
	a := &Agent{cfg: cfg, rounds: newRoundEvents()}
	a.pace = pace.New(pace.Config{Company: a.visits.company, Told: a.held, Now: cfg.Now})
	a.clocks = skew.New(skew.Config{Company: a.visits.company, Told: a.clockDiffers, Moved: a.clockMoved, Now: cfg.Now})
	a.life, a.end = context.WithCancelCause(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			a.end(err)
			a.release()
		}
	}()
	ctx, span := trace.Begin(ctx, trace.Open)
	defer func() { span.End(trace.Failed(err)) }()
	if a.reach, err = reach.New(reach.Config{ConnectTo: cfg.ConnectTo, CACerts: cfg.CACerts}); err != nil {
		return nil, err
	}
	a.client = a.reach.Client(requestTimeout)
	if cfg.Trace != nil {
		a.client.Transport = traced{a.client.Transport}
	}
	if cfg.Wrap != nil {
		a.client.Transport = cfg.Wrap(a.client.Transport)
	}
	a.client.Transport = a.pace.Wrap(a.clocks.Wrap(a.client.Transport))
	if a.home, err = home.Open(cfg.Home); err != nil {
		return nil, err
	}
	a.seals = lock.SealsOf(a.home.Answers(), cfg.Key)
	answers, err := a.seals.Lock()
	if err != nil {
		return nil, lockTrouble(err)
	}
	if a.id, err = randomid.Short(cfg.Rand); err != nil {
		return nil, fmt.Errorf("a name for the run: %w", err)
	}
	if a.ledger, err = ledger.Open(ctx, ledger.Config{Dir: a.home.Ledger(), Owner: a.id, Now: cfg.Now, OpenFile: cfg.OpenLedger, Index: opsweb.Index()}); err != nil {
		return nil, ledgerTrouble(err)
	}
	for _, notice := range a.ledger.Notices() {
		cfg.Logger.Warn("ledger", "notice", notice)
	}
	a.ops, err = opsweb.New(ctx, opsweb.Config{Ledger: a.ledger, Client: a.client, Lock: answers, Notify: a.happened, Now: cfg.Now, Rand: cfg.Rand, Ahead: a.ahead, Lives: a.lives})
	if err != nil {
		return nil, err
	}
	a.progress = newProgress(a.ops.Desk(), a.id, cfg.Title, cfg.Steps, cfg.Now)
	a.running.Go(func() { a.progress.follow(a.life) })
	a.running.Go(func() { skew.Watch(a.life, a.clockMoved) })
	if cfg.NoInput {
		a.running.Go(func() { a.progress.refuseAll(a.life) })
	}
	if a.server, err = attach.Serve(ctx, a.home.Run(), a.id, a.progress); err != nil {
		return nil, err
	}
	return a, nil
}

// ID names the run: its ledger lines have it as their owner, and its socket is called so.
func (a *Agent) ID() string { return a.id }

// RunDir is the folder of the home's sockets, for [attach.Watch].
func (a *Agent) RunDir() string { return a.home.Run() }

// lives reports whether the process of another run may still go on with what it began: its lock is taken, or that can't be
// told.
func (a *Agent) lives(run string) bool {
	if run == a.id {
		return false // what this run stopped at, nobody goes on with
	}
	done, err := attach.Take(a.RunDir(), run)
	if err != nil {
		return true
	}
	done()
	return false
}

// Waiting returns how many questions are open, and a channel that is closed when that changes.
func (a *Agent) Waiting() (questions int, changed <-chan struct{}) {
	open, changed := a.ops.Desk().Pending()
	return len(open), changed
}

// Outcomes returns the outcome of each operation of the run that was settled. An operation that was stopped after its
// approval may have reached the Company has one too: unknown.
func (a *Agent) Outcomes() []opsweb.Outcome { return a.ops.Outcomes() }

// Waits reports whether a question of the run was still open when the run ended: it stays open in the ledger.
func (a *Agent) Waits() bool { return slices.Contains(a.ops.Standing(), opsweb.Asking) }

// Ended is closed when nothing can be done in the run any more, because it was closed or its Chromium has ended; Why says
// which.
func (a *Agent) Ended() <-chan struct{} { return a.life.Done() }

// Why is what ended the run: [ErrClosed] or [browser.ErrGone]; nil while it goes on.
func (a *Agent) Why() error { return context.Cause(a.life) }

// Stop ends the run's operations where they stand, and asks the Company what became of each one whose approval may have
// reached it, for some seconds at most. The outcomes are those of the run from then on. Close stops too.
func (a *Agent) Stop(ctx context.Context) { a.ops.Conclude(ctx) }

// Finish tells the watching terminals and the events how the run ended, in one word of the command line's and with the
// error that ended it, if one did. It is the last event. Without it Close says "interrupted" when a question is still open, else
// what the weightiest of the run's operations came to, or "done".
func (a *Agent) Finish(outcome string, err error) {
	a.mu.Lock()
	a.finished = true
	a.mu.Unlock()
	var t *trouble.Error
	if err != nil {
		t = trouble.Of(err).Said()
		a.emit(failedEvent(a.cfg.Now(), t))
	}
	a.progress.finish(outcome, outcome, t)
	a.emit(Event{Time: a.cfg.Now(), Name: "finished", Body: Finished{Outcome: outcome}})
}

// Note puts a line about the run's end before the watching terminals, such as the bundled site's own count.
func (a *Agent) Note(line string) {
	a.progress.update(func(t *attach.Task) { t.Performed = line })
}

// Close ends the run: rounds stop where the ledger says, the Chromium is ended and its profile removed, the socket and
// the ledger are closed. It returns when nothing of it is left.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return nil
	}
	a.closed = true
	b, finished := a.browser, a.finished
	a.mu.Unlock()

	ctx, span := trace.Begin(a.tracing(ctx), trace.Close)
	defer span.End()
	a.ops.Conclude(ctx)
	if !finished {
		a.Finish(a.ending(), nil)
	}
	a.end(ErrClosed)
	var err error
	if b != nil {
		err = b.Close(ctx)
	}
	return errors.Join(err, a.release())
}

// ending is how the run ends that nobody has said it of.
func (a *Agent) ending() string {
	if a.Waits() {
		return "interrupted"
	}
	switch s := (Result{Outcomes: a.Outcomes()}).Status(); s {
	case StatusFailed:
		return "error"
	default:
		return string(s)
	}
}

// release gives back what Start took.
func (a *Agent) release() error {
	if a.server != nil {
		a.server.Close()
	}
	if a.ops != nil {
		a.ops.Close()
	}
	a.running.Wait()
	if a.client != nil {
		a.client.CloseIdleConnections()
	}
	if a.ledger != nil {
		return a.ledger.Close()
	}
	return nil
}

func (a *Agent) happened(h opsweb.Happening) {
	a.progress.happened(h)
	if e, ok := eventOf(h); ok {
		a.emit(e)
	}
	if s, ok := h.Body.(opsweb.SettledAs); ok {
		if t := roundTrouble(h.Round, s); t != nil {
			e := failedEvent(h.Time, t)
			e.Round = h.Round
			a.emit(e)
		}
	}
	if s, ok := h.Body.(opsweb.Standing); ok {
		e := failedEvent(h.Time, standingTrouble(h.Round, s))
		e.Round = h.Round
		a.emit(e)
	}
}

func (a *Agent) emit(e Event) {
	a.events.Lock()
	defer a.events.Unlock()
	a.rounds.add(e)
	a.cfg.Events(e)
}

// tracing returns ctx with the run's timeline in it, if there is one.
func (a *Agent) tracing(ctx context.Context) context.Context {
	if trace.On(ctx) {
		return ctx
	}
	return a.cfg.Trace.In(ctx)
}

// within returns ctx that also ends when the run does; its cause then says why.
func (a *Agent) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(a.tracing(ctx))
	stop := context.AfterFunc(a.life, func() { cancel(context.Cause(a.life)) })
	return ctx, func() { stop(); cancel(nil) }
}
