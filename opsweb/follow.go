package opsweb

import (
	"context"
	"net/url"
	"slices"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/ledger"
)

// A reference that comes while a round is under way and is not of it has no round of its own. When the round has ended, one
// such reference at most begins one: what a page goes on with after its action was performed, or terms that were not put
// to the User any more. Every other one is told.

// leave does, when the round has ended, with the references that came meanwhile. They are in the ledger as sightings of the
// round.
func (r *round) leave(ctx context.Context) {
	r.mu.Lock()
	left, other := append(r.left, r.next...), r.offered
	r.left, r.next, r.offered = nil, nil, nil
	r.mu.Unlock()
	if other != nil && r.claimsFollower(func() bool { return r.outcome != Performed && r.outcome != Unknown }) {
		r.ops.follow(ctx, r, other.from)
	}
	// The newest is the page that the tab has now.
	for _, s := range slices.Backward(left) {
		switch {
		case s.own || s.same:
		case r.claimsFollower(func() bool { return r.leadsToLocked(s.held) }):
			r.ops.follow(ctx, r, s)
		default:
			r.tellNotAsked(s)
		}
	}
}

func (r *round) tellNotAsked(s successor) {
	r.ops.notify(r.id, Trouble{What: "while this operation was under way, another one was asked for at " + place(s.held.URL()) +
		"; nobody was asked about it, and nothing of it was approved: what leads to it has to be done again"})
}

// claimsFollower reports whether a reference may begin the one round that follows r, when it may by what mayLocked says. No
// other one may then.
func (r *round) claimsFollower(mayLocked func() bool) bool {
	r.ops.mu.Lock()
	defer r.ops.mu.Unlock()
	if r.state != Settled || r.followed || r.ops.ending || !mayLocked() {
		return false
	}
	r.followed = true
	return true
}

// leadsToLocked reports whether h is what the page went on to after r's operation was performed: another page, which was
// refused, and which an act of ours explains. That of a script is not: to make it again its control would be pressed, and
// the page would ask anew for what is performed (Operations v3, section 7). Nor is one that asks at the same address as an
// operation of the act before, whatever its query: it may be the same action under another name.
func (r *round) leadsToLocked(h browser.Held) bool {
	if r.state != Settled || r.outcome != Performed || h.Act() == nil || h.Resource() != "Document" {
		return false
	}
	return !slices.ContainsFunc(r.ops.rounds, func(other *round) bool {
		return other.site == r.site && other.act() == root(h.Act()) && address(other.held.URL()) == address(h.URL())
	})
}

// address is where a URL points, without its query and fragment.
func address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	return u.String()
}

// follow begins a round of a reference that waited for the end of before. Its first line is written like every other.
func (o *Operations) follow(ctx context.Context, before *round, s successor) {
	o.mu.Lock()
	r := o.newRoundLocked(s.reference.site, s.held)
	o.mu.Unlock()
	if r == nil {
		before.tellNotAsked(s)
		return
	}
	r.reference = s.reference
	line := sightingLine(s.reference.site, s.reference.sid, s.held, s.reference.text, "")
	line.After = before.id
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if _, err := o.cfg.Ledger.Append(writing, ledger.Entry{Kind: "sighting", Round: r.id, Data: line}); err != nil {
		o.notify("", Trouble{What: "a reference that waited could not be written down, so it is not used: " + err.Error()})
		before.tellNotAsked(s)
		o.forget(r)
		return
	}
	o.notify(r.id, line)
	o.start(r)
}
