package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
)

var (
	errNoSite = errors.New("no site is open: call browser_navigate or poppy_join first")
	errAgain  = errors.New("the act before is still under way, so nothing was done now: call poppy_wait, and look with browser_snapshot meanwhile")
	errOpen   = errors.New("an operation of this site needs the page as it is, so nothing was done now: call poppy_wait, and look with browser_snapshot meanwhile")
	errStops  = errors.New("the acts after it were not made")
)

// work is the acts of one call. Acts that take longer than a call may go on when it has returned.
type work struct {
	done   chan struct{} // closed when they have ended
	cancel context.CancelFunc
	met    []string // the rounds that they met; these two are written before done is closed
	err    error
}

func (w *work) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// untold is the error of the last act, when it has ended and no call has said so yet.
func (s *server) untold() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.work == nil || !s.work.ended() || s.told == s.work {
		return nil
	}
	return s.work.err
}

// tell remembers that the error of an act has been said.
func (s *server) tell(w *work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = w
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
			var met []string
			met, w.err = v.Begin(ctx, agent.Step{Number: first + i, Act: act})
			w.met = append(w.met, met...)
			if w.err == nil && i+1 < len(acts) && acts[i+1].Kind != browser.KeyUp && stops(v, met) {
				w.err = fmt.Errorf("%s was made, and %w", act.Kind, errStops)
			}
			if w.err != nil {
				for _, rest := range acts[i+1:] {
					if rest.Kind == browser.KeyUp {
						_, _ = v.Begin(ctx, agent.Step{Number: first + i, Act: rest}) // the first error is what is said
					}
				}
				return
			}
		}
	})
	return w
}

// stops reports whether what an act came to keeps the ones after it from being made.
func stops(v visitor, met []string) bool {
	_, open := v.Dialog()
	return open || len(met) > 0
}

// await waits until w has ended or the server's patience is over. A call that is cancelled ends its acts.
func (s *server) await(ctx context.Context, req *mcp.CallToolRequest, w *work) error {
	over := time.NewTimer(s.patience)
	defer over.Stop()
	p := s.progress(req)
	defer p.stop()
	for {
		select {
		case <-w.done:
			return nil
		case <-over.C:
			return nil
		case <-p.tick():
			p.tell(ctx, "the act is under way")
		case <-ctx.Done():
			w.cancel()
			<-w.done
			return ctx.Err()
		}
	}
}

// settle waits until no act is under way and the round, or with no name all that acts of ours met, is settled, at most
// limit long. Its error is that of an operation that could not go on, or of the run's end.
func (s *server) settle(ctx context.Context, req *mcp.CallToolRequest, id string, limit time.Duration) error {
	over := time.NewTimer(limit)
	defer over.Stop()
	p := s.progress(req)
	defer p.stop()
	waiting, stop := context.WithCancel(ctx)
	came := make(chan error, 1)
	var wait sync.WaitGroup
	wait.Go(func() { came <- s.come(waiting, id) })
	defer wait.Wait()
	defer stop()
	gone, why := s.gone()
	for {
		_, changed := s.rounds.all()
		select {
		case err := <-came:
			return err
		case <-changed:
			p.tell(ctx, s.words())
		case <-p.tick():
			p.tell(ctx, s.words())
		case <-over.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-gone:
			return why()
		case <-s.life.Done():
			return context.Cause(s.life)
		}
	}
}

// come waits as settle does, until ctx ends.
func (s *server) come(ctx context.Context, id string) error {
	s.mu.Lock()
	w := s.work
	s.mu.Unlock()
	if w != nil {
		select {
		case <-w.done:
		case <-ctx.Done():
			return nil
		}
	}
	for {
		open := s.rounds.open(id)
		if len(open) == 0 {
			return nil
		}
		for _, one := range open {
			status, err := s.outcome(ctx, one.ID)
			if ctx.Err() != nil {
				return nil
			}
			s.rounds.came(one.ID, status)
			if err != nil {
				return err
			}
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
