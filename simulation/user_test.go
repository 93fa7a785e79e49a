package simulation

import (
	"errors"
	"time"

	"github.com/papaver-agent/papaver/approval"
)

// answers has the User look at the desk and answer, each question as chance has it, on what that question shows.
func (p *process) answers() {
	p.user.Go(func() {
		for seen := map[approval.RequestID]bool{}; ; {
			requests, changed := p.ops.Desk().Pending()
			for _, r := range requests {
				if seen[r.ID] {
					continue
				}
				seen[r.ID] = true
				p.world.mu.Lock()
				p.world.judge.asked(p, r)
				p.world.mu.Unlock()
				p.user.Go(func() { p.decides(r) })
			}
			select {
			case <-changed:
			case <-p.ctx.Done():
				return
			}
		}
	})
}

func (p *process) decides(r approval.Request) {
	c := p.world.chance
	takes := c.between("user", 100*time.Millisecond, []time.Duration{2 * time.Second, 30 * time.Second, 3 * time.Minute}[c.number("user", 3)])
	if c.rate == 0 {
		takes = min(takes, time.Minute)
	}
	if c.meetsAt(userSilent, 0.5) {
		return
	}
	if c.meetsAt(userLate, 0.5) {
		takes = r.Question.Deadline.Sub(p.world.agentNow()) + c.between("user", 0, 3*time.Second)
	}
	if !wait(max(takes, 0), p.ctx.Done()) {
		return
	}
	if c.meets(userOtherTerms) {
		shown := r.Shows()
		shown.Revision, shown.TermsHash = "v0", "0"
		if d, err := p.ops.Desk().Decide(p.ctx, approval.FromUser(true, shown)); err == nil && !p.isDead() {
			p.world.violates("an answer to other terms counts: %+v", d)
		}
	}
	if c.meets(userRefuses) {
		p.says(r, false)
		return
	}
	p.says(r, true)
	if c.meets(userWithdraws) && wait(c.between("user", time.Millisecond, 20*time.Second), p.ctx.Done()) {
		p.story("the User says no after the yes")
		if d, err := p.ops.Desk().Decide(p.ctx, approval.FromUser(false, r.Shows())); err == nil && d.State == approval.Denied && p.world.judge.bound(p, r) {
			p.world.violates("a question has two answers: %+v", d)
		}
	}
}

// says gives an answer, again when it could not be written down.
func (p *process) says(r approval.Request, yes bool) {
	for range 3 {
		p.story("the User says %v to %s %s", yes, r.Question.Operation.ID, r.Question.Operation.Revision)
		p.world.judge.says(p, r, yes)
		_, err := p.ops.Desk().Decide(p.ctx, approval.FromUser(yes, r.Shows()))
		if err == nil {
			return
		}
		p.story("the answer does not count: %v", err)
		p.world.judge.unsays(p, r, yes)
		if errors.Is(err, approval.ErrAnswered) || errors.Is(err, approval.ErrUnknownRequest) || !wait(p.world.chance.between("user", time.Second, 5*time.Second), p.ctx.Done()) {
			return
		}
	}
}
