package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/flow"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/trace"
)

const uiEnds = 5 * time.Second // for a terminal UI to show the last news and end

// runOptions are the flags of papaver run.
type runOptions struct {
	*flags
	way      *wayFlags
	company  string
	profile  *profileFlag
	signedIn bool
	account  string
	driver   string
	allow    list
	sandbox  bool
	headful  bool
	timeout  time.Duration
	noTUI    bool
	plain    bool
	bell     bool
	noInput  bool
	forget   *time.Duration
	values   *flowValues
	resume   bool
	trace    string
}

func runFlags() *runOptions {
	o := &runOptions{flags: newFlags("run")}
	o.StringVar(&o.company, "company", "", "the Company (`URL`), such as https://company.example")
	o.profile = o.addProfile("speak this protocol `VERSION` (1.0, 0.2 or 0.1); without it the newest that the Company offers")
	o.BoolVar(&o.signedIn, "signed-in", false, "join signed in, with the access that papaver signin was given")
	o.StringVar(&o.account, "account", "", "with --signed-in: which of your accounts there (`LABEL`), when there are several")
	o.StringVar(&o.driver, "driver", drivers[0].name, "what drives Chromium (`NAME`): chromedp or rod")
	o.way = o.addWay()
	o.Var(&o.allow, "allow", "let the browser connect to the Company's own hosts and to this one alone (`HOST`, or *.HOST for those below it); may be repeated")
	o.BoolVar(&o.sandbox, "sandbox", true, "Chromium's sandbox; as root Chromium needs --sandbox=false")
	o.BoolVar(&o.headful, "headful", false, "show the browser's window")
	o.DurationVar(&o.timeout, "timeout", 10*time.Minute, "for the whole run, without the time that waits for a person")
	o.BoolVar(&o.noTUI, "no-tui", false, "leave questions to papaver tui")
	o.BoolVar(&o.plain, "plain", false, "ask line by line instead of in a full screen")
	o.BoolVar(&o.bell, "bell", false, "ring the terminal's bell when a question comes")
	o.BoolVar(&o.noInput, "no-input", false, "refuse whatever would have to be asked")
	o.BoolVar(&o.resume, "resume", false, "settle the home's unsettled operations and start nothing else; the flow that met one may finish it, when you say so")
	o.StringVar(&o.trace, "trace", "", "write when each part of the run began and ended to `FILE`, as Chrome trace events: ui.perfetto.dev opens it")
	o.forget = o.addForgetAfter()
	o.values = o.addFlowValues()
	return o
}

// settings are the values of --set.
type settings map[string]string

func (settings) String() string { return "" }

func (s settings) Set(arg string) error {
	name, value, ok := strings.Cut(arg, "=")
	if !ok || name == "" {
		return errors.New("it is written NAME=VALUE")
	}
	s[name] = value
	return nil
}

func runRun(ctx context.Context, e env, args []string) error {
	o := runFlags()
	words, err := o.parse(e, args, 0, 1)
	if err != nil {
		return err
	}
	switch {
	case !o.resume && len(words) == 0:
		return usagef("papaver run needs FLOW.json")
	case o.company == "" && len(words) > 0:
		return usagef("papaver run needs --company URL")
	case o.resume && o.company != "" && len(words) == 0:
		return usagef("--company goes with the FLOW.json that is run there; --resume alone takes up the operations of every Company")
	case driverOf(o.driver) == nil:
		return usagef("--driver %q is not built in; chromedp and rod are", o.driver)
	case o.account != "" && !o.signedIn:
		return usagef("--account names an account for --signed-in")
	case *o.forget <= 0:
		return usagef("--forget-after is longer than nothing")
	case o.timeout <= 0:
		return usagef("--timeout is longer than nothing")
	}
	if o.company != "" {
		if _, err := company.ParseAddress(o.company); err != nil {
			return usageError{err.Error()}
		}
	}
	if err := o.way.check(); err != nil {
		return err
	}
	for _, host := range o.allow {
		if err := browser.CheckAllowed(host); err != nil {
			return usagef("--allow %v", err)
		}
	}
	f, hash := &flow.Flow{Title: "settle what runs before left"}, ""
	if len(words) > 0 {
		values, err := o.values.ask(ctx, o.noInput)
		if err != nil {
			return o.notBegun(e, err)
		}
		var data []byte
		f, data, err = readFlow(words[0], values)
		if err != nil {
			err = &trouble.Error{What: words[0] + " can't be run", Err: err, Done: "nothing", Undone: "no browser was started", Next: "mend the file"}
			return o.notBegun(e, err)
		}
		hash = flow.Hash(data, values.Set)
	}
	dir, err := o.homeDir(e)
	if err != nil {
		return o.notBegun(e, err)
	}
	return o.run(ctx, e, dir, f, hash)
}

// allowed are the hosts that the browser is kept to: with --allow the Company's own and those, else all.
func (o *runOptions) allowed() []string {
	where, err := company.ParseAddress(o.company)
	if len(o.allow) == 0 || err != nil {
		return nil
	}
	return append([]string{where.Domain(), "*." + where.Domain()}, o.allow...)
}

// notBegun says in the events too that a run ended before it began.
func (o *runOptions) notBegun(e env, err error) error {
	if o.json {
		out := lines{w: e.stdout}
		out.write(agent.Event{Time: e.now(), Name: "error", Body: trouble.Of(err).Said()})
		out.write(agent.Event{Time: e.now(), Name: "finished", Body: agent.Finished{Outcome: "error"}})
	}
	return err
}

// run makes the flow with a terminal UI beside it when there is a terminal to ask on.
func (o *runOptions) run(ctx context.Context, e env, dir string, f *flow.Flow, hash string) error {
	key, err := openLock(ctx, dir, o.noInput)
	if err != nil {
		return o.notBegun(e, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeline, file, err := o.openTrace(e)
	if err != nil {
		return o.notBegun(e, err)
	}
	ui := newRunUI(e, o)
	ui.key, ui.lock = key, homesLock(dir)
	a, err := agent.Start(ctx, agent.Config{
		Home: dir, Driver: driverOf(o.driver), ConnectTo: o.way.connectTo, CACerts: o.way.cacerts,
		Profile: o.profile.forced, SignedIn: o.signedIn, Account: o.account, Keyring: account.OSKeyring(e.getenv),
		NoSandbox: !o.sandbox, Headful: o.headful, Allowed: o.allowed(), NoInput: o.noInput, Key: key, OpenLedger: e.faults.openLedger, Wrap: e.faults.wrap,
		Flow: hash, Title: f.Title, Steps: f.Labels(), Events: ui.event, Trace: timeline, Now: e.now, Logger: slog.New(slog.NewTextHandler(ui, nil)),
	})
	if err != nil {
		ui.close()
		_ = o.closeTrace(timeline, file) // the run that did not begin is what went wrong
		return o.notBegun(e, err)
	}
	for _, notice := range f.Notices {
		ui.notice(notice)
	}
	ui.start(ctx, a, cancel)
	err = o.within(ctx, a, func(ctx context.Context) error { return o.work(ctx, a, f) })

	a.Stop(context.WithoutCancel(ctx)) // bounds itself; what it learns has a part in how the run ended
	end := endingOf(a.Outcomes(), err)
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errTimeout) {
		end = ending{exitInterrupted, "interrupted"}
	}
	ui.ends(err)
	a.Finish(end.word, err)
	ui.finish()
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer stop()
	if closeErr := a.Close(closing); closeErr != nil {
		printError(e.stderr, fmt.Errorf("after the run: %w", closeErr))
	}
	if err := o.closeTrace(timeline, file); err != nil {
		printError(e.stderr, fmt.Errorf("after the run: --trace %s: %w", o.trace, err))
	}
	return ui.result(end, err, stands(a))
}

// openTrace makes the file of --trace; without one there is no timeline.
func (o *runOptions) openTrace(e env) (*trace.Timeline, *os.File, error) {
	if o.trace == "" {
		return nil, nil, nil
	}
	file, err := trace.Create(o.trace)
	if err != nil {
		return nil, nil, &trouble.Error{What: "the timeline can't be written to " + o.trace, Err: err,
			Done: "nothing", Undone: "no browser was started", Next: "give --trace the name of a new file"}
	}
	return trace.New(file, e.now), file, nil
}

func (o *runOptions) closeTrace(timeline *trace.Timeline, file *os.File) error {
	if timeline == nil {
		return nil
	}
	return errors.Join(timeline.Close(), file.Close())
}

// errTimeout ends a run that took longer than --timeout.
var errTimeout = errors.New("the run took longer than --timeout")

// work makes the flow or, to resume, settles what is left with it or without.
func (o *runOptions) work(ctx context.Context, a *agent.Agent, f *flow.Flow) error {
	run := func(ctx context.Context) error {
		v, err := a.Visit(ctx, o.company)
		if err != nil {
			return err
		}
		return flow.Run(ctx, v, f)
	}
	switch {
	case !o.resume:
		return run(ctx)
	case len(f.Steps) == 0:
		return a.Resume(ctx, agent.Resumption{})
	}
	where, err := company.ParseAddress(o.company)
	if err != nil {
		return err
	}
	return a.Resume(ctx, agent.Resumption{Flow: run, Company: where.Domain()})
}

// within bounds the run's work by --timeout.
func (o *runOptions) within(ctx context.Context, a *agent.Agent, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	defer func() { cancel(nil); <-ended }()
	go func() {
		defer close(ended)
		o.limit(ctx, a, cancel)
	}()
	err := work(ctx)
	if errors.Is(context.Cause(ctx), errTimeout) {
		err = &trouble.Error{What: "the run took longer than " + o.timeout.String(), Err: err,
			Done: "what the ledger and the events show", Undone: "the steps after that",
			Next: "give it longer with --timeout; papaver ledger list shows open operations"}
	}
	return err
}

// limit ends the run when it has worked for longer than --timeout. Time in which a question waits is not counted.
func (o *runOptions) limit(ctx context.Context, a *agent.Agent, cancel context.CancelCauseFunc) {
	for left := o.timeout; ; {
		questions, changed := a.Waiting()
		began, timer := time.Now(), time.NewTimer(left)
		if questions > 0 {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			cancel(errTimeout)
			return
		case <-changed:
			timer.Stop()
		}
		if questions == 0 {
			left -= time.Since(began)
		}
	}
}
