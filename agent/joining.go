package agent

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/join"
)

// join joins the browser to the Session and has it return to a page of the Company's. A refusal that says when to come
// again is heeded, once.
func (v *Visit) join(ctx context.Context, returnTo string) error {
	a := v.agent
	joined, err := join.Join(ctx, v.context, v.company, v.session, returnTo)
	if refused, ok := errors.AsType[*join.RefusedError](err); ok && busy(refused.Status) && v.refused.have(v.company.JoinEndpoint) {
		if err := a.pace.Wait(ctx, v.company.Domain); err != nil {
			return restTrouble(v.company, err)
		}
		joined, err = join.Join(ctx, v.context, v.company, v.session, returnTo)
	}
	if err != nil {
		return joinTrouble(v.company, a.cfg.SignedIn, err)
	}
	v.joined = joined
	if names := joined.Strict(); names != nil {
		a.cfg.Logger.Warn("the Company's cookie is SameSite=Strict, so the page after the join did not know the Session; the pages after it do",
			"company", v.company.Domain, "cookies", names)
	}
	a.emit(Event{Time: a.cfg.Now(), Name: "joined", Body: Joined{Company: v.company.Domain, Sid: joined.SID, SignedIn: joined.SignedIn}})
	return nil
}

func busy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
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
	stale, err := v.stale(ctx)
	if err != nil || !stale {
		return err
	}
	v.agent.progress.doing("joining the Session at " + v.company.Domain + " again")
	returnTo := ""
	if at, err := v.context.Location(ctx); err == nil && v.ours(at) {
		returnTo = at
	}
	return v.join(ctx, returnTo)
}

func (v *Visit) stale(ctx context.Context) (bool, error) {
	if v.session.ID() != v.joined.SID || v.session.SignedIn() != v.joined.SignedIn {
		return true, nil
	}
	cookies, err := v.context.Cookies(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(v.joined.Cookies, func(had browser.Cookie) bool {
		return !slices.ContainsFunc(cookies, func(has browser.Cookie) bool {
			return has.Name == had.Name && has.Domain == had.Domain && has.Path == had.Path
		})
	}), nil
}

// ours reports whether an address is an https one of the Company's.
func (v *Visit) ours(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.User == nil && v.company.Holds(u.Host)
}

// act makes one act. A navigation that was answered with when to come again is made once more then.
func (v *Visit) act(ctx context.Context, act browser.Act) (*browser.Made, error) {
	v.refused.begin()
	made, err := v.context.Do(ctx, act)
	if v.session == nil || act.Kind != browser.Navigate || !v.refused.have(act.URL) {
		return made, err
	}
	if err := v.agent.pace.Wait(ctx, v.company.Domain); err != nil {
		return made, restTrouble(v.company, err)
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
