package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/flow"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/tui"
)

// runUI is what papaver run shows: a terminal UI when there is a controlling terminal and it was not refused, events as
// JSON with --json, and else a line for each event.
type runUI struct {
	e    env
	o    *runOptions
	out  lines
	full bool // a terminal UI is drawn, so nothing else is written to the terminal
	// broke is set when the terminal UI ended by an error of its own: the run goes on, and is said line by line.
	broke atomic.Bool

	key  *lock.Key // of the home's lock, which run has opened; nil at a home without one
	lock func() (lock.Lock, error)

	terminal *os.File
	client   *attach.Client
	drawing  sync.WaitGroup
	drawn    chan struct{} // closed when the terminal UI has ended
	stop     context.CancelFunc
	onScreen bool                         // the end was drawn, the error that came with it included
	end      atomic.Pointer[agent.Failed] // the run's own error, which result says

	mu    sync.Mutex
	later strings.Builder // what was said while the screen was full
}

func newRunUI(e env, o *runOptions) *runUI {
	ui := &runUI{e: e, o: o, out: lines{w: e.stdout}, drawn: make(chan struct{}), stop: func() {}}
	// JSON on the terminal itself and a screen drawn on the same one would be unreadable: the questions are left.
	if !o.noTUI && !o.noInput && !(o.json && isTerminal(e.stdout)) {
		if terminal, err := tui.OpenTerminal(); err == nil {
			ui.terminal, ui.full = terminal, true
		}
	}
	if !ui.full {
		close(ui.drawn)
	}
	return ui
}

// start begins to draw. An interrupt in the terminal UI ends the run.
func (ui *runUI) start(ctx context.Context, a *agent.Agent, cancel context.CancelCauseFunc) {
	if !ui.full {
		if !ui.o.noInput {
			fmt.Fprintln(ui.e.stderr, "papaver: questions wait for papaver tui")
		}
		return
	}
	client, err := attach.Watch(ctx, a.RunDir(), a.ID())
	if err != nil {
		ui.full = false
		close(ui.drawn)
		fmt.Fprintln(ui.e.stderr, "papaver: questions wait for papaver tui:", err)
		return
	}
	ui.client = client
	ctx, ui.stop = context.WithCancel(ctx)
	ui.drawing.Go(func() {
		defer close(ui.drawn)
		err := draw(ctx, ui.e, ui.o.plain, tui.Config{Feed: client, Terminal: ui.terminal, Lock: ui.lock, Key: ui.key, ForgetAfter: *ui.o.forget, UntilDone: true, Bell: ui.o.bell})
		ui.drew(err, cancel)
	})
}

// drew takes the end of the drawing: an interrupt there ends the run, an error leaves it without a terminal UI.
func (ui *runUI) drew(err error, cancel context.CancelCauseFunc) {
	switch {
	case err == nil, errors.Is(err, context.Canceled): // it has shown the end, or was ended by us
	case errors.Is(err, tui.ErrInterrupted), errors.Is(err, tui.ErrHangUp):
		cancel(err)
	default:
		ui.broke.Store(true)
		printLines(ui.e.stderr, "papaver: ", "the terminal UI ended: "+err.Error()+"; the run goes on, and questions wait for papaver tui")
	}
}

// screen reports whether the screen says what happens.
func (ui *runUI) screen() bool { return ui.full && !ui.broke.Load() }

// event takes an event of the agent.
func (ui *runUI) event(ev agent.Event) {
	if ui.o.json {
		ui.out.write(ev)
	} else if line := inWords(ev); line != "" && !ui.screen() {
		fmt.Fprintln(ui.e.stdout, line)
	}
	if ui.screen() {
		return // the screen says it
	}
	switch b := ev.Body.(type) {
	case opsweb.SettledAs:
		if text := unperformed(b); text != "" {
			printLines(ui.e.stderr, "papaver: ", fmt.Sprintf("operation %s %s", ev.Round, text))
		}
	case agent.Failed:
		if end := ui.end.Load(); end == nil || b != *end {
			printError(ui.e.stderr, &b)
		}
	}
}

// noticed is the event of a part of the flow that is left out or ignored.
type noticed struct {
	Place string `json:"place"`
	What  string `json:"what"`
}

// notice says what of the flow is left out or ignored.
func (ui *runUI) notice(n flow.Notice) {
	if ui.o.json {
		ui.out.write(agent.Event{Time: ui.e.now(), Name: "notice", Body: noticed(n)})
	}
	printLines(ui, "papaver: the flow: ", n.String())
}

// unperformed says of an operation that ended without an error and without its action what was not done.
func unperformed(s opsweb.SettledAs) string {
	why := ""
	if s.Why != "" {
		why = " (" + s.Why + ")"
	}
	switch s.Outcome {
	case opsweb.Refused:
		if why != "" { // an approval of other terms was sent before
			return "was not approved" + why + ": no approval is in force and nothing was performed"
		}
		return "was not approved: no approval was sent and nothing was performed"
	case opsweb.Declined:
		return "was declined by the Company" + why + ": the approval was not recorded and nothing was performed"
	case opsweb.Expired:
		return "expired" + why + ": no approval is in force and nothing was performed"
	default:
		return ""
	}
}

// Write takes log lines; those that come while the screen is full are said after it.
func (ui *runUI) Write(p []byte) (int, error) {
	if !ui.screen() {
		return ui.e.stderr.Write(p)
	}
	ui.mu.Lock()
	defer ui.mu.Unlock()
	return ui.later.Write(p)
}

// ends takes the run's own error before its event comes: it is said once, at the end.
func (ui *runUI) ends(err error) {
	if err != nil {
		ui.end.Store(trouble.Of(err).Said())
	}
}

// finish lets the terminal UI show the last news, then ends it.
func (ui *runUI) finish() {
	select {
	case <-ui.drawn:
		ui.onScreen = false // nobody watches to the end
	default:
		ui.onScreen = true
	}
	timer := time.NewTimer(uiEnds)
	defer timer.Stop()
	select {
	case <-ui.drawn:
	case <-timer.C:
	}
	ui.close()
}

func (ui *runUI) close() {
	ui.stop()
	ui.drawing.Wait()
	if ui.client != nil {
		ui.client.Close()
	}
	if ui.terminal != nil {
		_ = ui.terminal.Close()
	}
	ui.mu.Lock()
	defer ui.mu.Unlock()
	_, _ = ui.e.stderr.Write([]byte(ui.later.String()))
}

// stands says what an interrupted run left behind.
func stands(a *agent.Agent) string {
	switch {
	case slices.Contains(a.Outcomes(), opsweb.Unknown):
		return "; what became of an approval is not known, papaver ledger list shows it"
	case a.Waits():
		return "; open questions stay open, papaver ledger list shows them"
	default:
		return ""
	}
}

// result says the error, where it was not on the screen already, and returns the exit status.
func (ui *runUI) result(end ending, err error, stands string) error {
	if err != nil && end.status != exitInterrupted && !(ui.onScreen && isTerminalWriter(ui.e.stderr)) {
		printError(ui.e.stderr, err)
	}
	if end.status == exitInterrupted {
		fmt.Fprintln(ui.e.stderr, "papaver: interrupted"+stands)
	}
	if writeErr := ui.out.failed(); writeErr != nil && end.status == exitDone {
		fmt.Fprintln(ui.e.stderr, "papaver: the events could not be written:", writeErr)
		return exitCode(exitError)
	}
	if end.status == exitDone {
		return nil
	}
	return exitCode(end.status)
}

// inWords is an event as a line for people.
func inWords(ev agent.Event) string {
	switch b := ev.Body.(type) {
	case agent.Joined:
		how := "as a guest"
		if b.SignedIn {
			how = "signed in"
		}
		return fmt.Sprintf("joined %s %s", plaintext.Domain(b.Company), how)
	case agent.Waiting:
		return fmt.Sprintf("%s asks to be left alone until %s (status %d)", plaintext.Domain(b.Company), b.Until.Format("15:04:05"), b.Status)
	case agent.Clock:
		return fmt.Sprint(plaintext.Whole(b.Words()))
	case agent.Visiting:
		return fmt.Sprintf("visiting %s as an ordinary visitor: %s", plaintext.Domain(b.Company), b.Why)
	case agent.Acted:
		return fmt.Sprintf("step %d: %s", b.Step+1, b.Type)
	case agent.TakenUp:
		return fmt.Sprintf("operation %s at %s, left by a run that has ended, stands at %q: %s", ev.Round, plaintext.Domain(b.Company), b.State, b.Next)
	case opsweb.Sighting:
		if b.Accepted {
			return "the Company asks for an approval"
		}
		return "a reference was refused: " + string(b.Why)
	case opsweb.Operation:
		if ends, err := time.Parse(time.RFC3339, b.ExpiresAt); err == nil {
			return "what it asks can be approved until " + ends.Local().Format("15:04:05")
		}
		return ""
	case opsweb.Question:
		return "a question waits: papaver tui"
	case opsweb.Answer:
		if b.Kind == approval.KindRerun {
			if b.Approved {
				return "the flow is run again"
			}
			return "the flow is not run again"
		}
		if b.Approved {
			return "approved"
		}
		return "refused"
	case opsweb.Approval:
		return "the Company answered the approval: " + strings.ReplaceAll(b.Outcome, "_", " ")
	case opsweb.Replay:
		return "the browser makes the request again (" + string(b.How) + ")"
	case opsweb.SettledAs:
		return "settled: " + string(b.Outcome)
	case agent.Finished:
		return "finished: " + b.Outcome
	default:
		return ""
	}
}
