package simulation

import (
	"context"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/profile"
)

// lives reports whether the process of a run may still go on.
func (w *world) lives(owner string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.processes[owner]
	return p != nil && !p.isDead()
}

// resume goes on with what processes left that have ended, as `run --resume` does, by chance with the flow that met it.
func (p *process) resume(ctx context.Context) {
	w := p.world
	var left []opsweb.Past
	err := p.ledger.Look(ctx, func(v ledger.View) error {
		records, err := v.Unended()
		left = opsweb.History(records)
		return err
	})
	if err != nil {
		p.story("the ledger can't be read: %v", err)
		return
	}
	acts := make(map[int]bool)
	for _, past := range left {
		if past.Owner == p.owner || !past.Unsettled(w.agentNow()) || w.lives(past.Owner) {
			continue
		}
		s := p.session
		if sid := past.Sid(); sid != s.ID() {
			if s, err = s.Earlier(sid); err != nil {
				p.story("round %s: %v", past.ID, err)
				continue
			}
		}
		act := w.actOf(past.ID)
		flow := act > 0 && w.chance.one("resume", 2)
		w.chance.count(fault("resumed: " + string(past.State)))
		p.story("goes on with round %s of %s, which is %s; the flow is at hand: %v", past.ID, past.Owner, past.State, flow)
		if err := p.ops.Resume(ctx, past, opsweb.Resumption{Company: p.company, Session: s, Profile: profile.V1(), Flow: flow}); err != nil {
			p.story("not taken over: %v", err)
			continue
		}
		if flow {
			acts[act] = true
		}
		wait(time.Millisecond, p.dead) // of rounds that go on at the same instant, which draws first would be left to the scheduler
	}
	wanted, err := p.ops.Resumed(ctx)
	p.story("resumed: a flow is wanted: %v, %v", wanted, err)
	if !wanted {
		return
	}
	for act := range p.world.acts {
		if acts[act+1] && err == nil {
			w.chance.count(flowAgain)
			_ = p.tab.do(ctx, browser.Act{Kind: browser.Navigate, URL: "https://shop.test/order"}, 0)
			err = p.tab.do(ctx, browser.Act{Kind: browser.Click, Selectors: [][]string{{"#exchange"}}}, act+1)
			_ = p.ops.Settle(ctx, false)
		}
	}
	p.ops.FlowEnded()
	_, err = p.ops.Resumed(ctx)
	p.story("resumed, after the flow: %v", err)
}

// actOf is the act that a round came of; 0 for none.
func (w *world) actOf(id string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.judge.rounds[id]
	if r == nil || !r.ours || w.company.refs[r.ref] == nil {
		return 0
	}
	return w.company.refs[r.ref].act
}
