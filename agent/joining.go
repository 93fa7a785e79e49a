package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/join"
	"github.com/papaver-agent/papaver/trace"
)

// locked runs what joins the browser while nobody else does. It waits for its turn no longer than ctx lasts.
func (v *Visit) locked(ctx context.Context, do func() error) error {
	select {
	case v.joining <- struct{}{}:
		defer func() { <-v.joining }()
		return do()
	case <-ctx.Done():
		return fmt.Errorf("waiting for the browser to be joined: %w", ctx.Err())
	}
}

// prepare has the Session started, and its token there, while the tab of the Chromium opens: nobody is asked for a Session
// that no browser could join. Its error is the join's.
func (v *Visit) prepare(ctx context.Context, o *opening) error {
	if v.session == nil || !o.running() {
		return nil
	}
	a := v.agent
	defer a.visits.expect(v.company)()
	if err := v.session.Prepare(ctx); err != nil {
		return a.blamed(v.company.Domain, joinTrouble(v.company, a.cfg.SignedIn, fmt.Errorf("%w: %w", join.ErrNoAssertion, err)))
	}
	return nil
}

// join joins the browser to the Session for the first time.
func (v *Visit) join(ctx context.Context) error {
	return v.locked(ctx, func() error {
		err := v.joinLocked(ctx, v.context)
		if err != nil {
			return v.agent.blamed(v.company.Domain, joinTrouble(v.company, v.agent.cfg.SignedIn, err))
		}
		return nil
	})
}

// joinLocked joins from the tab that acts or, for a page that has to stay, aside. A refusal that says when to come again is
// heeded, once.
func (v *Visit) joinLocked(ctx context.Context, page join.Page) (err error) {
	a := v.agent
	ctx, span := trace.Begin(ctx, trace.Join)
	defer func() { span.End(trace.Failed(err)) }()
	joined, err := join.Join(ctx, page, v.company, v.session, "")
	if refused, ok := errors.AsType[*join.RefusedError](err); ok && busy(refused.Status) && v.refused.have(v.company.JoinEndpoint) {
		if err := a.pace.Wait(ctx, v.company.Domain); err != nil {
			return restTrouble(v.company, err)
		}
		joined, err = join.Join(ctx, page, v.company, v.session, "")
	}
	if err != nil {
		return err
	}
	for _, had := range v.joined.Cookies { // one that was replaced is still the join's
		if has(joined.All, had) && !has(joined.Cookies, had) {
			joined.Cookies = append(joined.Cookies, had)
		}
	}
	if len(joined.Cookies) == 0 {
		return join.ErrNoCookie
	}
	v.joined = joined
	if names := joined.Strict(); names != nil {
		a.cfg.Logger.Warn("the Company's cookie is SameSite=Strict, so the page after the join did not know the Session; the pages after it do",
			"company", v.company.Domain, "cookies", names)
	}
	a.emit(Event{Time: a.cfg.Now(), Name: "joined", Body: Joined{Company: v.company.Domain, Sid: joined.SID, SignedIn: joined.SignedIn}})
	return nil
}

// has reports whether a cookie is among others, whatever its value.
func has(cookies []browser.Cookie, one browser.Cookie) bool {
	return slices.ContainsFunc(cookies, func(other browser.Cookie) bool { return join.Same(one, other) })
}

func busy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// aside joins without touching the page in the tab that acts.
type aside struct{ *browser.Context }

// SubmitForm implements [join.Page].
func (a aside) SubmitForm(ctx context.Context, action string, fields []browser.Field) (browser.Landing, error) {
	return a.SubmitAside(ctx, action, fields)
}

// ready makes the browser ready for an act: it waits while the Company wants to be left alone, and joins anew when the
// browser's join is no longer the Session's: the Session is another one, it was signed in or out meanwhile, or a cookie
// that the join left is gone, so that the site may not know the Session any more (draft 0.1, section 5).
func (v *Visit) ready(ctx context.Context) error {
	if v.session == nil {
		return nil
	}
	if err := v.agent.pace.Wait(ctx, v.company.Domain); err != nil {
		return restTrouble(v.company, err)
	}
	return v.locked(ctx, func() error {
		stale, err := v.staleLocked(ctx)
		if err != nil || !stale {
			return err
		}
		v.agent.progress.doing("joining the Session at " + v.company.Domain + " again")
		return v.rejoinLocked(ctx)
	})
}

// rejoinLocked joins the browser anew, and to a new Session when the Company takes the present one no more.
func (v *Visit) rejoinLocked(ctx context.Context) error {
	sid := v.session.ID()
	err := v.joinLocked(ctx, aside{v.context})
	if refused, ok := errors.AsType[*join.RefusedError](err); ok && refused.Status < http.StatusInternalServerError && !busy(refused.Status) {
		if err = v.session.Restart(sid); err == nil {
			err = v.joinLocked(ctx, aside{v.context})
		}
	}
	if err != nil {
		return v.agent.blamed(v.company.Domain, rejoinTrouble(v.company, v.agent.cfg.SignedIn, err))
	}
	return nil
}

// forgotten joins the browser anew when the site has dropped its join during an act, and reports whether it had: what
// the act then met was a stranger's page.
func (v *Visit) forgotten(ctx context.Context) (forgotten bool, err error) {
	if v.session == nil {
		return false, nil
	}
	err = v.locked(ctx, func() error {
		var err error
		if forgotten, err = v.staleLocked(ctx); err != nil || !forgotten {
			return err
		}
		return v.rejoinLocked(ctx)
	})
	return forgotten, err
}

// renew replaces the Session sid, which the Company says has ended, and joins the browser to the new one. The page stays:
// the act that is to be made again is in it.
func (v *Visit) renew(ctx context.Context, sid string) error {
	return v.locked(ctx, func() error {
		if v.joined.SID != sid {
			return nil // it was renewed already
		}
		if err := v.session.Restart(sid); err != nil {
			return err
		}
		v.agent.progress.doing("the Session at " + v.company.Domain + " has ended; joining a new one")
		return v.joinLocked(ctx, aside{v.context})
	})
}

// maxLost is how often a cookie may be missed before it is taken for one that the site removes by itself.
const maxLost = 2

// staleLocked reports whether the browser has to be joined anew. Only a cookie that no script can remove tells of the
// join: one that the page itself keeps may come and go.
func (v *Visit) staleLocked(ctx context.Context) (bool, error) {
	if v.session.ID() != v.joined.SID || v.session.SignedIn() != v.joined.SignedIn {
		return true, nil
	}
	cookies, err := v.context.Cookies(ctx)
	if err != nil {
		return false, err
	}
	stale := false
	for _, had := range v.joined.Cookies {
		if !had.HTTPOnly || has(cookies, had) || v.lost[had.Name] > maxLost {
			continue
		}
		v.lost[had.Name]++
		if v.lost[had.Name] > maxLost {
			v.tellLost(had.Name)
			continue
		}
		stale = true
	}
	return stale, nil
}

// tellLost tells that the browser is not joined anew any more for a cookie that goes every time.
func (v *Visit) tellLost(name string) {
	a := v.agent
	a.emit(failedEvent(a.cfg.Now(), &trouble.Error{
		What: fmt.Sprintf("%s removes the cookie %q of the join again and again", v.company.Domain, name),
		Done: "the browser was joined anew each time", Undone: "it is not joined anew for this any more, and may be a stranger to the site",
		Next: "look at what the steps came to; only the Company can mend this",
	}))
}

// act makes one act. A navigation is made once more when it was answered with when to come again, and when the site had
// dropped the join meanwhile.
func (v *Visit) act(ctx context.Context, act browser.Act) (_ *browser.Made, err error) {
	v.refused.begin()
	ctx, span := trace.Begin(ctx, trace.Page, trace.Word("act", strings.ToLower(string(act.Kind))))
	defer func() { span.End(trace.Failed(err)) }()
	made, err := v.context.Do(ctx, act)
	if v.session == nil || act.Kind != browser.Navigate || ctx.Err() != nil {
		return made, err
	}
	again := v.refused.have(act.URL)
	if again {
		if err := v.agent.pace.Wait(ctx, v.company.Domain); err != nil {
			return made, restTrouble(v.company, err)
		}
	} else if err == nil {
		if again, err = v.forgotten(ctx); err != nil {
			return made, err
		}
	}
	if !again {
		return made, err
	}
	return v.context.Do(ctx, act)
}

// signedOut tells that the sign-in has ended at the Company. The Session goes on signed out; the browser joins it anew
// before the next act.
func (v *Visit) signedOut(err error) {
	a := v.agent
	a.emit(failedEvent(a.cfg.Now(), &trouble.Error{
		Err: err, What: "the sign-in at " + v.company.Domain + " has ended",
		Done:   "what was done under it stands",
		Undone: "nothing more is done in the account; the run goes on signed out",
		Next:   "run papaver signin " + v.company.Domain + " to sign in again",
	}))
	a.progress.doing("the sign-in at " + v.company.Domain + " has ended; going on signed out")
}
