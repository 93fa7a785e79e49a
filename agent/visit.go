package agent

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/join"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/trace"
)

// closeTimeout bounds the end of a browser context.
const closeTimeout = 5 * time.Second

// Visit is a browser context at one Company: joined to a Session there or, where the site offers none, an ordinary
// signed-out visitor's. Its methods run one after another.
type Visit struct {
	agent   *Agent
	context *browser.Context
	domain  string
	company *company.Company // nil at an ordinary site
	session *session.Session // nil at an ordinary site, and where no browser can be joined
	refused refusals

	joining chan struct{} // holds one while the browser is being joined
	joined  join.Joined
	lost    map[string]int // how often a cookie of the join was gone
	steps   int            // the number after the last step's
}

// Step is one thing to do: an act, and its number in the task for those who watch. [Navigate], [Click], [Fill] and their
// like make the common ones; [browser.Kind] lists all acts there are.
//
// A selector of theirs is one of Chrome DevTools' Recorder: CSS, `aria/NAME`, `aria/NAME[role="button"]`, `text/TEXT`,
// `xpath/EXPRESSION`, `pierce/CSS`; or `ref/NAME`, an element that a snapshot named. When several visible elements match it
// is an error that names them ([browser.Several]).
type Step struct {
	Number int // 0-based; negative, as in [Next]: the one after the visit's last
	Act    browser.Act
}

// Result is what became of a step; [Result.Status] says it in one word.
type Result struct {
	Made *browser.Made // the act as it was made; nil for a step that is no act in the page
	// Rounds are the operations that the step's act met, in the order they began.
	Rounds []*Round
	// Outcomes are those that had an outcome when the step returned, in the same order.
	Outcomes []opsweb.Outcome
}

// Visit finds out what the site at address publishes while it starts the Chromium, and joins that to a Session there, signed
// in where [Config] asks for that. A site that publishes nothing, or no join, is visited as an ordinary one. A Company whose
// documents cannot be read, or do not agree, is an error before a page is opened.
func (a *Agent) Visit(ctx context.Context, address string) (*Visit, error) {
	ctx, cancel := a.within(ctx)
	defer cancel()
	where, err := company.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	if !browser.Allows(a.cfg.Allowed, where.Domain()) {
		return nil, notAllowedTrouble(where)
	}
	v := &Visit{agent: a, domain: where.Domain(), lost: make(map[string]int), joining: make(chan struct{}, 1)}
	a.progress.doing("reading what " + where.Domain() + " publishes")
	opened := a.open(ctx) // takes longer than all that is done meanwhile
	defer opened.done()
	finding, span := trace.Begin(ctx, trace.Discovery)
	v.company, err = company.Discover(finding, a.client, where, company.Options{Profile: a.cfg.Profile, Cache: a.documents()})
	span.End(trace.Failed(err))
	why := ""
	switch {
	case errors.Is(err, company.ErrNothingPublished):
		why = "it publishes no poppy.json"
		a.progress.visiting(where.Domain(), "")
	case err != nil:
		return nil, discoveryTrouble(where, err)
	default:
		a.progress.visiting(v.company.Domain, v.company.Name)
		if !v.company.Joinable() {
			why = "it lists no join endpoint"
		}
	}
	if why == "" {
		if v.session, err = a.newSession(ctx, v.company, v.signedOut); err != nil {
			return nil, err
		}
	}
	if err := a.writeVisit(ctx, where.Domain()); err != nil {
		return nil, err
	}
	a.progress.doing("starting Chromium")
	unprepared := v.prepare(ctx, opened)
	if v.context, err = opened.wait(); err != nil {
		return nil, err
	}
	if why != "" {
		a.emit(Event{Time: a.cfg.Now(), Name: "visiting", Body: Visiting{Company: where.Domain(), Why: why}})
		return v, nil
	}
	a.progress.doing("joining a Session at " + v.company.Domain)
	// The context is registered first: what the joined landing page asks for is judged like everything after it.
	a.ops.Joined(v.context, v.company, v.session, v.company.Profile, v.renew)
	a.visits.add(v)
	if err = unprepared; err == nil {
		err = v.join(ctx)
	}
	if err != nil {
		if closeErr := v.Close(ctx); closeErr != nil {
			a.cfg.Logger.Warn("the browser context of a join that failed is still open", "error", closeErr)
		}
		return nil, err
	}
	return v, nil
}

// documents is the home's cache of what Companies publish. There is none while a --connect-to rule says where hosts are:
// what a test host publishes must not stand for the real one later. Without a cache more is asked for, and that is all.
func (a *Agent) documents() *company.Cache {
	if len(a.cfg.ConnectTo) > 0 {
		return nil
	}
	cache, err := company.OpenCache(a.home.Companies(), a.cfg.Now)
	if err != nil {
		a.cfg.Logger.Warn("no cache of what Companies publish", "error", err)
		return nil
	}
	return cache
}

// Do makes one step and waits until the operations it met are settled. The wait has no deadline of its own: each
// question ends with its operation's. What an earlier Begin of the visit left open is waited for first. An error says what
// was and what was not done; an operation that was refused or declined is no error but an outcome.
func (v *Visit) Do(ctx context.Context, s Step) (Result, error) {
	ctx, cancel := v.agent.within(ctx)
	defer cancel()
	if errors.Is(context.Cause(v.agent.life), ErrClosed) {
		return Result{}, ErrClosed
	}
	if open := v.open(); len(open) > 0 {
		if err := v.agent.ops.SettleIn(ctx, v.context.ID()); err != nil {
			return Result{}, runTrouble(ctx, err, v.agent.ops.Standing())
		}
	}
	return v.step(ctx, s, v.agent.ops.SettleIn)
}

// Begin makes one step and returns when each operation that it met waits for the User, or is settled without: nobody's answer
// is waited for. What waits goes on by itself, and [Round] says how; Close ends what is open then. While an operation of the
// visit is open, a step that could take its page away is not begun: the error is an [*OpenError]. Waits of [browser.Kind],
// the answer to a dialog and settings of the viewport and the network may be made.
func (v *Visit) Begin(ctx context.Context, s Step) (Result, error) {
	ctx, cancel := v.agent.within(ctx)
	defer cancel()
	if errors.Is(context.Cause(v.agent.life), ErrClosed) {
		return Result{}, ErrClosed
	}
	if open := v.open(); len(open) > 0 && disturbs(s.Act) {
		return Result{Rounds: open}, &OpenError{Rounds: open}
	}
	return v.step(ctx, s, v.agent.ops.AskIn)
}

// open are the operations of the visit that are not settled and that an act of ours met.
func (v *Visit) open() []*Round { return v.agent.roundsOf(v.agent.ops.OpenIn(v.context.ID())) }

// disturbs reports whether an act could keep the browser from making an earlier one again in its page.
func disturbs(act browser.Act) bool {
	switch act.Kind {
	case browser.Wait, browser.WaitExpression, browser.WaitText, browser.WaitURL, browser.WaitResponse,
		browser.HandleDialog, browser.Viewport, browser.EmulateNetwork:
		return false
	default:
		return true
	}
}

// step makes a step, and waits for what it met as far as rest says.
func (v *Visit) step(ctx context.Context, s Step, rest func(context.Context, browser.ContextID) error) (Result, error) {
	a := v.agent
	if s.Number < 0 {
		s.Number = v.steps
	}
	v.steps = s.Number + 1
	a.progress.unused("")
	a.progress.step(s.Number, attach.StepDoing)
	a.emit(Event{Time: a.cfg.Now(), Name: "act", Body: Acted{Step: s.Number, Type: string(s.Act.Kind)}})
	err := v.ready(ctx)
	var made *browser.Made
	if err == nil {
		made, err = v.act(ctx, s.Act)
	}
	if err == nil {
		resting, span := trace.Begin(ctx, trace.Settle)
		err = rest(resting, v.context.ID())
		span.End(trace.Failed(err))
	}
	result := Result{Made: made}
	if made != nil {
		result.Rounds = a.roundsOf(a.ops.Met(made))
	}
	if err != nil {
		a.progress.step(s.Number, attach.StepFailed)
		if own := a.own.refusal(s); own != nil {
			return result, own
		}
		return result, stepTrouble(ctx, s, made != nil, err, a.ops.Standing())
	}
	result.Outcomes = a.ops.OutcomesOf(made)
	if result.performed() { // the page goes on only now to where the act leads
		arriving, span := trace.Begin(ctx, trace.Page, trace.Step(s.Number))
		err := v.context.Arrived(arriving, made)
		span.End(trace.Failed(err))
		if err != nil {
			a.progress.step(s.Number, attach.StepFailed)
			return result, stepTrouble(ctx, s, true, err, a.ops.Standing())
		}
		if met := a.ops.Met(made); len(met) > len(result.Rounds) { // the page that came asked for something, too
			if err := rest(ctx, v.context.ID()); err != nil {
				a.progress.step(s.Number, attach.StepFailed)
				return result, stepTrouble(ctx, s, true, err, a.ops.Standing())
			}
			result.Rounds, result.Outcomes = a.roundsOf(a.ops.Met(made)), a.ops.OutcomesOf(made)
		}
	}
	if len(result.Rounds) == 0 {
		err := v.refusal(s, made)
		if err == nil && changes(s.Act) { // what a navigation met, act has looked at; of others nothing depends on it
			var lost bool
			if lost, err = v.forgotten(ctx); err == nil && lost {
				err = forgottenTrouble(v.company, s)
			}
		}
		if err != nil {
			a.progress.step(s.Number, attach.StepFailed)
			return result, err
		}
	}
	a.progress.step(s.Number, attach.StepDone)
	return result, nil
}

// performed reports whether the step met operations and all of them were performed.
func (r Result) performed() bool {
	other := func(o opsweb.Outcome) bool { return o != opsweb.Performed }
	return len(r.Rounds) > 0 && len(r.Outcomes) == len(r.Rounds) && !slices.ContainsFunc(r.Outcomes, other)
}

// changes reports whether an act may have sent something that a stranger's page answered otherwise.
func changes(act browser.Act) bool { return act.Kind.MayChange() }

// refusal is the error of a step that the Company's website refused without an operation that could be approved.
func (v *Visit) refusal(s Step, made *browser.Made) error {
	if v.company == nil {
		return nil // an ordinary site's refusals are its own affair
	}
	_, address, refused := v.context.Refused(made)
	u, err := url.Parse(address)
	if !refused || err != nil || !v.company.Holds(u.Host) {
		return nil
	}
	return refusedTrouble(v.company, s, v.agent.progress.whyUnused())
}

// Settle waits until the last step's requests are answered, at most 5 s, and no operation is open any more, those that
// no act of ours explains included.
func (v *Visit) Settle(ctx context.Context) error {
	ctx, cancel := v.agent.within(ctx)
	defer cancel()
	quiet, span := trace.Begin(ctx, trace.Page)
	v.context.Quiet(quiet)
	span.End()
	if err := v.agent.ops.Settle(ctx, true); err != nil {
		return runTrouble(ctx, err, v.agent.ops.Standing())
	}
	return nil
}

// Close ends the visit: the context's tab, cookies and storage are gone, and what it still receives is refused. An
// operation that needs the page once more can't be performed any more; Settle waits for them. [Agent.Close] closes every
// visit.
func (v *Visit) Close(ctx context.Context) error {
	a := v.agent
	a.visits.remove(v)
	a.ops.Left(v.context)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return v.context.Close(ctx)
}

// Text is the visible text of the page: page content, not sanitised.
func (v *Visit) Text(ctx context.Context) (string, error) {
	ctx, cancel := v.agent.within(ctx)
	defer cancel()
	return v.context.Text(ctx)
}

// cause is what ended ctx, or err when nothing did.
func cause(ctx context.Context, err error) error {
	c := context.Cause(ctx)
	switch {
	case errors.Is(c, browser.ErrGone):
		return c // that a wait was cut short because of it says nothing more
	case c != nil && !errors.Is(err, c):
		return fmt.Errorf("%w: %w", c, err)
	}
	return err
}

func stepTrouble(ctx context.Context, s Step, begun bool, err error, standing []opsweb.State) error {
	t := &trouble.Error{Err: cause(ctx, err)}
	t.What = fmt.Sprintf("step %d (%s) was not finished", s.Number+1, s.Act.Kind)
	t.Done = fmt.Sprintf("the %d steps before it", s.Number)
	t.Undone = "this step and those after it"
	t.Next = "look at the page the step is for, then run the task again"
	if begun {
		t.Done += ", and this one was begun: its request may have reached the site"
		t.Undone = "the steps after it"
	}
	if errors.Is(t.Err, browser.ErrGone) {
		t.What = "Chromium ended while the task was running"
		t.Next = next(standing)
	} else if len(standing) > 0 {
		t.Next = next(standing)
	}
	return t
}
