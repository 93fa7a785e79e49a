package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/session"
)

// The lines of a run that belong to no operation: which flow it makes where, and as whom, and what its Chromium runs on.
const (
	lineVisit    = "visit"
	lineChromium = "chromium"
)

// visitLine is the ledger's line of a visit: what another run has to know to go on with what was met in it.
type visitLine struct {
	Company  string `json:"company"`
	Title    string `json:"title,omitempty"`
	Flow     string `json:"flow,omitempty"` // its hash, see flow.Hash
	SignedIn bool   `json:"signed_in"`
	Account  string `json:"account,omitempty"` // its label
}

// chromiumLine is on disk before a Chromium starts. Each process of it names the folder on its command line.
type chromiumLine struct {
	Profile string `json:"profile"`
}

func (a *Agent) writeVisit(ctx context.Context, domain string) error {
	return a.writeLine(ctx, lineVisit, visitLine{Company: domain, Title: a.cfg.Title, Flow: a.cfg.Flow, SignedIn: a.cfg.SignedIn, Account: a.cfg.Account})
}

func (a *Agent) writeLine(ctx context.Context, kind string, data any) error {
	if _, err := a.ledger.Append(ctx, ledger.Entry{Kind: kind, Data: data}); err != nil {
		t := ledgerTrouble(err)
		return t
	}
	return nil
}

// Resumption says how the home's unsettled operations are settled.
type Resumption struct {
	// Flow makes a flow again from its start, whose hash is [Config.Flow]. It is called at most once, and only when the User
	// says so. Nil: no flow is at hand.
	Flow func(context.Context) error
	// Company is the domain of the Company that Flow is made at.
	Company string
}

// TakenUp: an operation of a run that is gone is gone on with, from where it stands.
type TakenUp struct {
	Company string       `json:"company"`
	OpID    string       `json:"operation_id,omitempty"`
	Summary string       `json:"summary,omitempty"`
	State   opsweb.State `json:"state"`
	From    string       `json:"from"` // the run that is gone
	Next    string       `json:"next"` // what is done with it, in our words
}

// left is what the ledger holds of runs.
type left struct {
	rounds   []opsweb.Past // unsettled, of others
	visits   map[string][]visitLine
	chromium map[string][]string
}

// flowOf is the visit in which a run met an operation at a Company.
func (l left) visitOf(p opsweb.Past) (visitLine, bool) {
	for _, v := range l.visits[p.Began()] {
		if v.Company == p.Company {
			return v, true
		}
	}
	return visitLine{}, false
}

// Resume settles the home's unsettled operations of runs that have ended, from what the ledger says of each: a question that
// was open is asked again, an approval that was being sent is sent again, the same, and of every other one it is looked up
// what became of it. It makes no act, but that a recorded approval whose page is gone is finished by [Resumption.Flow] when
// the User says so. An operation of a run that still goes on is left alone, which is an error like every other reason why
// one could not be taken up; outcomes are [Agent.Outcomes].
func (a *Agent) Resume(ctx context.Context, how Resumption) error {
	ctx, cancel := a.within(ctx)
	defer cancel()
	found, err := a.unsettled(ctx)
	if err != nil {
		return err
	}
	if err := a.flowFits(found, how); err != nil {
		return err
	}
	var failed []error
	byOwner := make(map[string][]opsweb.Past)
	var owners []string
	for _, p := range found.rounds {
		if byOwner[p.Owner] == nil {
			owners = append(owners, p.Owner)
		}
		byOwner[p.Owner] = append(byOwner[p.Owner], p)
	}
	sites := newSites(a)
	for _, owner := range owners {
		failed = append(failed, a.takeOver(ctx, owner, byOwner[owner], found, how, sites)...)
	}
	a.sweep(found)
	a.progress.doing("settling what runs before left")
	wanted, err := a.ops.Resumed(ctx)
	if err == nil && wanted && how.Flow != nil {
		err = how.Flow(ctx)
	}
	if wanted {
		a.ops.FlowEnded()
		if _, lookErr := a.ops.Resumed(ctx); err == nil {
			err = lookErr
		}
	}
	if err != nil {
		if _, said := errors.AsType[*trouble.Error](err); !said {
			err = runTrouble(ctx, err, a.ops.Standing())
		}
		return err
	}
	return a.notTakenTrouble(failed)
}

// unsettled reads what the runs before left.
func (a *Agent) unsettled(ctx context.Context) (l left, err error) {
	err = a.ledger.Look(ctx, func(v ledger.View) error {
		if l, err = readLeft(v, a.id, a.cfg.Now()); err != nil {
			return err
		}
		return l.readChromium(v)
	})
	if err != nil {
		return left{}, ledgerTrouble(err)
	}
	return l, nil
}

// readLeft finds what is unsettled of others than that run, and in which visits it was met.
func readLeft(v ledger.View, run string, now time.Time) (left, error) {
	l := left{visits: make(map[string][]visitLine)}
	records, err := v.Unended()
	if err != nil {
		return left{}, err
	}
	for _, p := range opsweb.History(records) {
		if p.Owner == run || !p.Unsettled(now) {
			continue
		}
		l.rounds = append(l.rounds, p)
		if _, known := l.visits[p.Began()]; known {
			continue
		}
		lines, err := v.Lines(opsweb.RunKey(lineVisit, p.Began()))
		if err != nil {
			return left{}, err
		}
		l.visits[p.Began()] = nil
		for _, rec := range lines {
			var visit visitLine
			if json.Unmarshal(rec.Data, &visit) == nil {
				l.visits[rec.Owner] = append(l.visits[rec.Owner], visit)
			}
		}
	}
	return l, nil
}

// readChromium finds what the Chromium of each run ran on.
func (l *left) readChromium(v ledger.View) error {
	lines, err := v.Lines(opsweb.KindKey(lineChromium))
	l.chromium = make(map[string][]string)
	for _, rec := range lines {
		var c chromiumLine
		if json.Unmarshal(rec.Data, &c) == nil {
			l.chromium[rec.Owner] = append(l.chromium[rec.Owner], c.Profile)
		}
	}
	return err
}

// fits reports whether the flow at hand is the one that met an operation.
func (a *Agent) fits(l left, p opsweb.Past, how Resumption) bool {
	v, known := l.visitOf(p)
	return known && how.Flow != nil && v.Flow != "" && v.Flow == a.cfg.Flow && p.Company == how.Company
}

// flowFits refuses a flow that met none of the operations that are left, and has the flow made as the run before made it.
func (a *Agent) flowFits(l left, how Resumption) error {
	if how.Flow == nil || len(l.rounds) == 0 {
		return nil
	}
	for _, p := range l.rounds {
		if a.fits(l, p, how) {
			v, _ := l.visitOf(p)
			a.cfg.SignedIn, a.cfg.Account = v.SignedIn, v.Account
			return nil
		}
	}
	return &trouble.Error{
		What: "this flow is not the one by which any unsettled operation was met", Done: "nothing", Undone: "no operation was taken up",
		Next: "give the very file, --set values and --company of that run, or none of them: papaver ledger list shows what is left",
	}
}

// takeOver goes on with the operations of one run, once it is certain that nothing of that run can go on any more. What is
// returned is why it could not.
func (a *Agent) takeOver(ctx context.Context, owner string, rounds []opsweb.Past, l left, how Resumption, sites *sites) []error {
	a.progress.doing("looking whether run " + owner + " has ended")
	done, err := attach.Take(a.RunDir(), owner)
	if err == nil {
		// Nobody else takes these operations over while we have that lock.
		defer done()
		err = endChromium(l.chromium[owner])
		if len(l.chromium[owner]) == 0 && slices.ContainsFunc(rounds, func(p opsweb.Past) bool { return saw(p, owner) }) {
			err = errUnproven
		}
	}
	if err != nil {
		var all []error
		for _, p := range rounds {
			all = append(all, a.notTaken(p, err))
		}
		return all
	}
	var failed []error
	for _, p := range rounds {
		if err := a.takeUp(ctx, p, l, how, sites); err != nil {
			failed = append(failed, a.notTaken(p, err))
		}
	}
	return failed
}

// errUnproven is a run that had a Chromium of which it is not known what it ran on.
var errUnproven = errors.New("the ledger does not say what its Chromium ran on, so that can't be known to have ended")

// saw reports whether the Chromium of a run met the operation.
func saw(p opsweb.Past, owner string) bool {
	return slices.ContainsFunc(p.Records, func(r ledger.Record) bool { return r.Kind == "sighting" && r.Owner == owner })
}

// endChromium makes certain that the Chromium of a run is dead: what could still send its request. A run whose ledger lines
// name no profile folder started none.
func endChromium(profiles []string) error {
	for _, dir := range profiles {
		if err := browser.End(dir); err != nil {
			return err
		}
	}
	return nil
}

// sweep ends and removes what is left of each run that was killed and left no operation: its Chromium, and its files in the
// run folder.
func (a *Agent) sweep(l left) {
	runs := attach.Left(a.RunDir())
	for owner, profiles := range l.chromium {
		if slices.ContainsFunc(profiles, func(dir string) bool { _, err := os.Stat(dir); return err == nil }) && !slices.Contains(runs, owner) {
			runs = append(runs, owner)
		}
	}
	for _, owner := range runs {
		if owner == a.id {
			continue
		}
		done, err := attach.Take(a.RunDir(), owner)
		if err != nil {
			continue // it still runs
		}
		if err := endChromium(l.chromium[owner]); err != nil {
			a.cfg.Logger.Warn("what a run that was killed left could not be removed", "error", err)
		}
		done()
	}
}

// takeUp goes on with one operation.
func (a *Agent) takeUp(ctx context.Context, p opsweb.Past, l left, how Resumption, sites *sites) error {
	v, known := l.visitOf(p)
	if !known {
		return errors.New("the ledger does not say as whom it was met")
	}
	at, err := sites.at(ctx, p.Company, v)
	if err != nil {
		return err
	}
	s := at.session
	if sid := p.Sid(); sid != s.ID() {
		if s, err = s.Earlier(sid); err != nil {
			return fmt.Errorf("its Session: %w", err)
		}
	}
	a.progress.takenUp(p)
	a.emit(Event{Time: a.cfg.Now(), Name: "resumed", Round: p.ID, Body: TakenUp{
		Company: p.Company, OpID: p.OpID, Summary: p.Summary, State: p.State, From: p.Owner, Next: p.Restart(),
	}})
	return a.ops.Resume(ctx, p, opsweb.Resumption{Company: at.company, Session: s, Profile: at.company.Profile, Flow: a.fits(l, p, how)})
}

// notTaken tells that an operation stays as it is.
func (a *Agent) notTaken(p opsweb.Past, err error) error {
	t := &trouble.Error{
		What: "operation " + p.ID + " at " + p.Company + " was not taken up", Err: err, Done: "nothing of it was changed",
		Undone: "it stays as it is: " + string(p.State), Next: "run papaver run --resume again later; papaver ledger show " + p.ID + " tells what is known",
	}
	if said, ok := errors.AsType[*trouble.Error](err); ok {
		t.Err, t.Next = said, said.Next
	}
	if errors.Is(err, attach.ErrRuns) {
		t.Next = "wait until that run has ended, or answer its question in papaver tui"
	}
	return t
}

// notTakenTrouble is the end of a resumption that left operations as they are; nil when it left none.
func (a *Agent) notTakenTrouble(failed []error) error {
	switch len(failed) {
	case 0:
		return nil
	case 1:
		return failed[0]
	}
	for _, err := range failed {
		a.emit(failedEvent(a.cfg.Now(), trouble.Of(err)))
	}
	return &trouble.Error{
		What: fmt.Sprintf("%d operations were not taken up", len(failed)), Done: "nothing of them was changed",
		Undone: "they stay as they are", Next: "papaver ledger list shows them",
	}
}

// siteOf is a Company and a Session there, as one visit had it.
type siteOf struct {
	company *company.Company
	session *session.Session
	err     error
}

// sites are the Companies of a resumption, each asked once.
type sites struct {
	agent *Agent
	known map[visitLine]siteOf
}

func newSites(a *Agent) *sites { return &sites{agent: a, known: make(map[visitLine]siteOf)} }

func (s *sites) at(ctx context.Context, domain string, v visitLine) (siteOf, error) {
	key := visitLine{Company: domain, SignedIn: v.SignedIn, Account: v.Account}
	at, known := s.known[key]
	if !known {
		at = s.read(ctx, key)
		s.known[key] = at
	}
	return at, at.err
}

func (s *sites) read(ctx context.Context, v visitLine) siteOf {
	a := s.agent
	where, err := company.ParseAddress("https://" + v.Company)
	if err != nil {
		return siteOf{err: err}
	}
	a.progress.doing("reading what " + where.Domain() + " publishes")
	c, err := company.Discover(ctx, a.client, where, company.Options{Profile: a.cfg.Profile, Cache: a.documents()})
	if err != nil {
		return siteOf{err: discoveryTrouble(where, err)}
	}
	a.progress.visiting(c.Domain, c.Name)
	ended := func(err error) {
		a.emit(failedEvent(a.cfg.Now(), &trouble.Error{
			Err: err, What: "the sign-in at " + c.Domain + " has ended", Done: "what was done under it stands",
			Undone: "an operation of the account can't be looked up without it", Next: "run papaver signin " + c.Domain + ", then papaver run --resume",
		}))
	}
	session, err := a.sessionAs(ctx, c, v.SignedIn, v.Account, ended)
	return siteOf{company: c, session: session, err: err}
}
