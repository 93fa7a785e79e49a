package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/opsweb"
)

var (
	errNoSite = errors.New("no site is open: call browser_navigate or poppy_join first")
	errAgain  = errors.New("the act before is still under way, so nothing was done now: call poppy_wait, and look with browser_snapshot meanwhile")
	errStops  = errors.New("the acts after it were not made")
)

// work is the acts of one call. They go on when the call has returned because they wait for the User.
type work struct {
	done     chan struct{} // closed when they have ended
	cancel   context.CancelFunc
	outcomes []opsweb.Outcome // these two are written before done is closed
	err      error
}

func (w *work) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// idle reports whether no act is under way.
func (s *server) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.work == nil || s.work.ended()
}

// start begins to make acts in v, one after another. The caller has the turn.
func (s *server) start(v visitor, acts []browser.Act) *work {
	ctx, cancel := context.WithCancel(s.life)
	w := &work{done: make(chan struct{}), cancel: cancel}
	s.mu.Lock()
	first := s.steps
	s.steps += len(acts)
	s.work = w
	s.mu.Unlock()
	s.running.Go(func() {
		defer close(w.done)
		defer cancel()
		for i, act := range acts {
			var result agent.Result
			result, w.err = v.Do(ctx, agent.Step{Number: first + i, Act: act})
			w.outcomes = append(w.outcomes, result.Outcomes...)
			if w.err == nil && i+1 < len(acts) && acts[i+1].Kind != browser.KeyUp && stops(v, result.Outcomes) {
				w.err = fmt.Errorf("%s was made, and %w", act.Kind, errStops)
			}
			if w.err != nil {
				for _, rest := range acts[i+1:] {
					if rest.Kind == browser.KeyUp {
						_, _ = v.Do(ctx, agent.Step{Number: first + i, Act: rest}) // the first error is what is said
					}
				}
				return
			}
		}
	})
	return w
}

// stops reports whether what an act came to keeps the ones after it from being made.
func stops(v visitor, outcomes []opsweb.Outcome) bool {
	_, open := v.Dialog()
	return open || len(outcomes) > 0
}

// await waits until w has ended, an operation of ours waits for the User, or the server's patience is over. A call that is
// cancelled ends its acts.
func (s *server) await(ctx context.Context, req *mcp.CallToolRequest, w *work) error {
	over := time.NewTimer(s.patience)
	defer over.Stop()
	p := s.progress(req)
	defer p.stop()
	for {
		_, changed := s.rounds.all()
		if !w.ended() && len(s.rounds.asking(true)) > 0 {
			return nil
		}
		select {
		case <-w.done:
			return nil
		case <-over.C:
			return nil
		case <-changed:
		case <-p.tick():
			p.tell(ctx, "the act is under way")
		case <-ctx.Done():
			w.cancel()
			<-w.done
			return ctx.Err()
		}
	}
}

// settle waits until no act is under way and the round, or with no name all that acts of ours explain, is settled, at most
// limit long.
func (s *server) settle(ctx context.Context, req *mcp.CallToolRequest, id string, limit time.Duration) error {
	over := time.NewTimer(limit)
	defer over.Stop()
	p := s.progress(req)
	defer p.stop()
	for {
		list, changed := s.rounds.all()
		open := false
		for _, r := range list {
			open = open || !r.settled() && (r.ID == id || id == "" && r.Ours)
		}
		s.mu.Lock()
		w := s.work
		s.mu.Unlock()
		var done chan struct{}
		if w != nil && !w.ended() {
			done, open = w.done, true
		}
		if !open {
			return nil
		}
		select {
		case <-done:
		case <-changed:
			p.tell(ctx, s.words())
		case <-p.tick():
			p.tell(ctx, s.words())
		case <-over.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-s.life.Done():
			return context.Cause(s.life)
		}
	}
}

// words is what is waited for.
func (s *server) words() string {
	if n := len(s.rounds.asking(false)); n > 0 {
		return fmt.Sprintf("%d waiting for the User", n)
	}
	return "the operation goes on"
}

// progress tells a client that asked for it that a call goes on.
type progress struct {
	req    *mcp.CallToolRequest
	token  any
	ticker *time.Ticker
	n      float64
}

func (s *server) progress(req *mcp.CallToolRequest) *progress {
	p := &progress{req: req}
	if req != nil && req.Params != nil && req.Session != nil {
		p.token = req.Params.GetProgressToken()
	}
	if p.token != nil {
		p.ticker = time.NewTicker(s.every)
	}
	return p
}

func (p *progress) tick() <-chan time.Time {
	if p.ticker == nil {
		return nil
	}
	return p.ticker.C
}

func (p *progress) tell(ctx context.Context, message string) {
	if p.token == nil {
		return
	}
	p.n++
	_ = p.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: p.token, Progress: p.n, Message: message}) // the client may be gone
}

func (p *progress) stop() {
	if p.ticker != nil {
		p.ticker.Stop()
	}
}
