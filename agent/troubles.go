package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/join"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/session"
)

// This file turns errors into what a person needs: what happened, what was and was not done, what to do next.

func discoveryTrouble(a company.Address, err error) error {
	t := &trouble.Error{Err: err, Done: "nothing", Undone: "no page was opened and no Session was joined"}
	switch {
	case errors.Is(err, company.ErrUnreachable):
		t.What = a.Domain() + " could not be reached"
		t.Next = "check the address and the network; a Company without a public name needs --connect-to and --cacert"
	case errors.Is(err, company.ErrDisagree):
		t.What = "what " + a.Domain() + " publishes does not agree"
		t.Next = "only the Company can mend this; tell it the rule above"
	case errors.Is(err, company.ErrVersion):
		t.What = a.Domain() + " speaks another version of the protocol"
		t.Next = "protocol 1.0 and its drafts 0.2 and 0.1 are spoken; papaver discover " + a.Domain() + " says what is offered"
	default:
		t.What = "what " + a.Domain() + " publishes can't be read"
		t.Next = "only the Company can mend this; tell it the rule above"
	}
	return t
}

func identityTrouble(err error) error {
	t := &trouble.Error{Err: err, Done: "what the Company publishes was read", Undone: "no page was opened and no Session was named"}
	t.What = "the agent's identity can't be used"
	t.Next = "run papaver doctor"
	if errors.Is(err, session.ErrNoIdentity) {
		t.What = "this home has no identity to join a Session with"
		t.Next = "run papaver identity init --client-id URL --name NAME"
		t.Err, t.Kind = nil, err
	}
	return t
}

func browserTrouble(err error, done, undone string) error {
	t := &trouble.Error{What: "the browser could not be used", Err: err, Done: done, Undone: undone, Next: "run papaver doctor"}
	switch {
	case errors.Is(err, browser.ErrNoChromium):
		t.What = "there is no Chromium to start"
		t.Next = "install it: apt-get install chromium (as root)"
		t.Err, t.Kind = nil, err
	case errors.Is(err, browser.ErrSandboxAsRoot):
		t.What = "as root Chromium does not start with its sandbox on"
		t.Next = "run papaver as an ordinary user, or give --sandbox=false"
		t.Err, t.Kind = nil, err
	case errors.Is(err, browser.ErrNotHeld):
		t.What = "this Chromium does not hold responses for us, so an operation could be missed"
		t.Next = "use another version of Chromium; no Session is joined with this one"
	case errors.Is(err, browser.ErrGone):
		t.What = "Chromium ended"
		t.Next = "try again; when it ends again, run papaver doctor"
	}
	return t
}

// notAllowedTrouble is a site that the run's own list of hosts leaves out.
func notAllowedTrouble(where company.Address) error {
	return &trouble.Error{
		What: where.Domain() + " is not among the hosts that the browser may connect to", Done: "nothing", Undone: "no browser was started and no page was opened",
		Next: "allow " + where.Domain() + " too", Kind: browser.ErrNotAllowed,
	}
}

// notSignedInTrouble is a run that is to be signed in where no sign-in is kept.
func notSignedInTrouble(c *company.Company, label string) error {
	which := c.Domain
	if label != "" {
		which += " --account " + label
	}
	return &trouble.Error{
		What: "no sign-in at " + c.Domain + " is kept in this home",
		Done: "what the Company publishes was read", Undone: "no page was opened and no Session was joined",
		Next: "run papaver signin " + which + ", or leave --signed-in out", Kind: account.ErrNone,
	}
}

// forgottenTrouble is a step during which the site no longer knew the Session.
func forgottenTrouble(c *company.Company, s Step) error {
	return &trouble.Error{
		What:   fmt.Sprintf("%s no longer knew the Session when step %d (%s) was made", c.Domain, s.Number+1, s.Act.Kind),
		Done:   fmt.Sprintf("the %d steps before it; the browser has been joined anew, and this step was met as a stranger's", s.Number),
		Undone: "nothing was asked or approved, and the steps after it were not made",
		Next:   "look at what the site made of it, then run the task again",
		Kind:   ErrForgotten,
	}
}

// restTrouble is a Company that asks to be left alone for longer than a run waits.
func restTrouble(c *company.Company, err error) error {
	return &trouble.Error{
		What: c.Domain + " asks to be left alone for a while", Err: err,
		Done: "what was done before stands", Undone: "nothing more was asked of it",
		Next: "run it again when that time is over", Kind: ErrResting,
	}
}

func joinTrouble(c *company.Company, signedIn bool, err error) error {
	if said, ok := errors.AsType[*trouble.Error](err); ok {
		return said
	}
	t := &trouble.Error{Err: err, Done: "the browser sent one assertion to the join endpoint", Undone: "the browser is not joined; no page was used and no operation begun"}
	switch {
	case errors.Is(err, join.ErrRefused):
		t.What = c.Domain + " refused to join the browser to a Session"
		t.Next = "check that the Company knows this agent: papaver identity check compares what is published; a wrong clock is another cause"
		if !signedIn && c.SignIn.Offered() {
			t.Next += "; a Company may also join signed-in browsers only: run papaver signin " + c.Domain + ", and then with --signed-in"
		}
	case errors.Is(err, join.ErrNoAssertion):
		t.What = "no Session could be had at " + c.Domain
		t.Done, t.Undone = "the Company's authorization server may have been asked", "nothing was posted by the browser, no page was opened and no operation begun"
		t.Next = "check that the Company knows this agent: papaver identity check compares what is published; papaver companies shows what is kept of a sign-in"
	case errors.Is(err, join.ErrNoCookie):
		t.What = c.Domain + " answered the join and set no cookie, so it can't know the browser again"
		t.Next = "only the Company can mend this"
	case errors.Is(err, join.ErrReposts):
		t.What = c.Domain + "'s join endpoint would have sent the assertion to another place; that was broken off"
		t.Next = "only the Company can mend this"
	case errors.Is(err, join.ErrUnclear):
		t.What = "it is not clear whether " + c.Domain + " joined the browser"
		t.Done = "the browser sent two assertions to the join endpoint"
		t.Next = "try again later"
	default:
		return browserTrouble(err, t.Done, t.Undone)
	}
	return t
}

// rejoinTrouble is a join that failed while a run was under way.
func rejoinTrouble(c *company.Company, signedIn bool, err error) error {
	t, ok := errors.AsType[*trouble.Error](joinTrouble(c, signedIn, err))
	if !ok {
		return err
	}
	t.Done = "the steps before; the browser had to be joined anew, and was not"
	t.Undone = "this step and those after it"
	return t
}

func ledgerTrouble(err error) error {
	t := &trouble.Error{What: "the ledger can't be used", Err: err, Done: "nothing", Undone: "no browser was started and no page was opened", Next: "run papaver doctor"}
	if errors.Is(err, ledger.ErrDamaged) {
		t.What = "the ledger is damaged"
		t.Next = "keep the file as it is, run papaver ledger verify, and put a good copy back; nothing is done without a ledger"
	}
	return t
}

// next says what can be done after a run that ended with operations in these states.
func next(standing []opsweb.State) string {
	switch {
	case slices.ContainsFunc(standing, opsweb.State.Spent):
		return "an approval may have reached the Company: papaver ledger list shows it, and papaver run --resume looks up what became of it; don't make the action again before that"
	case slices.Contains(standing, opsweb.Asking):
		return "open questions stay open, and nothing was approved: papaver ledger list shows them, and papaver run --resume asks again"
	case len(standing) > 0:
		return "no approval was sent, so nothing is performed: run papaver ledger list"
	default:
		return "run papaver ledger list to see how each operation ended"
	}
}

func runTrouble(ctx context.Context, err error, standing []opsweb.State) error {
	err = cause(ctx, err)
	t := &trouble.Error{What: "an operation could not go on", Err: err, Done: "all steps", Undone: "what the ledger does not show", Next: next(standing)}
	if errors.Is(err, browser.ErrGone) {
		t.What = "Chromium ended while an operation was open"
	}
	if errors.Is(err, ledger.ErrBroken) {
		t.What = "the ledger takes no more lines, so the operation was stopped"
		t.Next = "check the disk, then run papaver ledger verify; " + next(standing)
	}
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		t.What = "the run was interrupted"
	}
	return t
}

// refusedTrouble is a step that the website answered with 403, without an operation that could be approved. unused
// says why the reference that came with it could not be used; empty when none came.
func refusedTrouble(c *company.Company, s Step, unused opsweb.Refusal) error {
	t := &trouble.Error{
		What:   fmt.Sprintf("%s refused step %d (%s) and named no operation to approve", c.Domain, s.Number+1, s.Act.Kind),
		Done:   fmt.Sprintf("the %d steps before it; its request was sent and refused (403)", s.Number),
		Undone: "nothing was asked or approved, and the steps after it were not made",
		Next:   "look at the page the step is for; only the Company can mend a refusal that names no operation",
		Kind:   ErrSiteRefused,
	}
	if unused != "" {
		t.What = fmt.Sprintf("%s refused step %d (%s), and what it named could not be used: %s", c.Domain, s.Number+1, s.Act.Kind, unused)
	}
	return t
}

// standingTrouble is an operation that was stopped after its approval may have reached the Company.
func standingTrouble(round string, s opsweb.Standing) *trouble.Error {
	t := &trouble.Error{
		What:   "the outcome of an operation is not known, the run ended before: " + s.Why,
		Done:   "the approval was recorded, and the browser may have made the request again",
		Undone: "it is not known whether the action was performed",
		Next:   "run papaver ledger show " + round + ", then papaver run --resume, which looks up what became of it; ask the Company before the action is made again",
	}
	switch s.State {
	case opsweb.Sending:
		t.Done = "the approval was sent"
		t.Undone = "it is not known whether the Company has recorded it; the browser did not make the request again"
	case opsweb.Recorded:
		t.Done = "the Company has recorded the approval"
		t.Undone = "the browser did not make the request again; until it ends, the approval can still be used"
	}
	return t
}

// roundTrouble is an operation that failed or whose outcome is not known; nil for every other outcome.
func roundTrouble(round string, s opsweb.SettledAs) *trouble.Error {
	switch s.Outcome {
	case opsweb.Failed:
		return &trouble.Error{
			What: "an operation failed: " + s.Why, Done: "what papaver ledger show " + round + " lists",
			Undone: "the action was not performed", Next: "the flow can be run again; the Company is asked for the operation anew",
		}
	case opsweb.Unknown:
		return &trouble.Error{
			What: "the outcome of an operation is not known: " + s.Why, Done: "what papaver ledger show " + round + " lists",
			Undone: "it is not known whether the action was performed", Next: "run papaver ledger show " + round + ", then papaver run --resume, which looks up what became of it; ask the Company before the action is made again",
		}
	default:
		return nil
	}
}

// lockTrouble is a home that can't be used since its lock is not open.
func lockTrouble(err error) error {
	t := &trouble.Error{What: "this home's lock can't be opened", Err: err, Done: "nothing", Undone: "the task was not begun", Next: "run papaver lock status"}
	switch {
	case errors.Is(err, lock.ErrLocked):
		t.What, t.Err, t.Kind = "this home is locked", nil, err
		t.Next = "run papaver on a terminal, which asks for the passphrase"
	case errors.Is(err, lock.ErrChanged):
		t.What = "somebody changed this home's lock"
		t.Next = "trust nothing of this home before you know who; put the file answers/lock.json back from a copy of yours"
	}
	return t
}
