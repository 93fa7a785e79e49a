package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/papaver-agent/papaver/browser"
)

const (
	defaultWait = 45 * time.Second // of poppy_wait
	maxWait     = 10 * time.Minute
)

var errClose = errors.New("an act is under way or waits for the User, so nothing was closed: call poppy_wait first; what the User does not answer expires")

// siteOut is a site that is open, as data.
type siteOut struct {
	Company  string `json:"company"`
	Sid      string `json:"sid,omitempty"` // the Session; empty at an ordinary site
	SignedIn bool   `json:"signed_in"`
	Current  bool   `json:"current"` // acts are made there
}

func outOf(v visitor, current bool) siteOut {
	return siteOut{Company: v.Company(), Sid: v.Sid(), SignedIn: v.SignedIn(), Current: current}
}

// enter opens the site of an address and makes acts there from now on. The caller has the turn.
func (s *server) enter(ctx context.Context, address string, r *result) (visitor, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, wrongArgument("the address is an https URL, such as https://company.example")
	}
	s.mu.Lock()
	at := slices.IndexFunc(s.visits, func(v visitor) bool { return v.Company() == strings.ToLower(u.Hostname()) })
	if at >= 0 {
		s.current = s.visits[at]
	}
	here := s.current
	s.mu.Unlock()
	if at >= 0 {
		return here, nil
	}
	v, err := s.open(ctx, (&url.URL{Scheme: u.Scheme, Host: u.Host}).String())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.visits = append(s.visits, v)
	s.current = v
	s.mu.Unlock()
	if v.Sid() != "" {
		r.say("The browser is joined to the Session %s at %s.", v.Sid(), v.Company())
	} else {
		r.say("%s offers no join: it is browsed as an ordinary, signed-out visitor.", v.Company())
	}
	return v, nil
}

type joinArgs struct {
	Company string `json:"company" jsonschema:"the Company's address, such as https://company.example"`
}

func (s *server) join(ctx context.Context, _ *mcp.CallToolRequest, a joinArgs, r *result) error {
	done, err := s.acting(ctx)
	if err != nil {
		return err
	}
	defer done()
	if !s.idle() {
		return errAgain
	}
	if !strings.Contains(a.Company, "://") {
		a.Company = "https://" + a.Company
	}
	v, err := s.enter(ctx, a.Company, r)
	if err != nil {
		return err
	}
	out := outOf(v, true)
	r.data = struct {
		Status string `json:"status"`
		siteOut
	}{map[bool]string{true: "joined", false: "visiting"}[out.Sid != ""], out}
	r.say("Acts are made at %s from now on. Open a page with browser_navigate.", out.Company)
	return nil
}

func (s *server) sessions(_ context.Context, _ *mcp.CallToolRequest, _ noArgs, r *result) error {
	s.mu.Lock()
	visits, current := slices.Clone(s.visits), s.current
	s.mu.Unlock()
	list := make([]siteOut, 0, len(visits))
	for _, v := range visits {
		out := outOf(v, v == current)
		list = append(list, out)
		r.say("%s: Session %q, signed in: %v, current: %v", out.Company, out.Sid, out.SignedIn, out.Current)
	}
	if len(list) == 0 {
		r.say("No site is open.")
	}
	r.data = map[string]any{"sessions": list}
	return nil
}

func (s *server) waiting(_ context.Context, _ *mcp.CallToolRequest, _ noArgs, r *result) error {
	list := []roundOut{}
	for _, one := range s.rounds.asking(false) {
		out := one.out(0)
		list = append(list, out)
		r.say("round %s: %s", out.Round, out.Means)
	}
	if len(list) == 0 {
		r.say("Nothing waits for the User.")
	}
	r.data = map[string]any{"rounds": list}
	return r.terms(list)
}

type roundArgs struct {
	Round  string `json:"round,omitempty" jsonschema:"its name; the last one when not said"`
	Offset int    `json:"offset,omitempty" jsonschema:"terms_next of a result before, for terms that are too long for one"`
}

func (s *server) round(_ context.Context, _ *mcp.CallToolRequest, a roundArgs, r *result) error {
	one, known := s.rounds.find(a.Round)
	if !known {
		return wrongArgument("there is no such round; poppy_waiting lists those that wait")
	}
	out := one.out(a.Offset)
	r.data = out
	r.say("round %s: %s (%s)", out.Round, out.Status, out.Means)
	return r.terms([]roundOut{out})
}

type waitArgs struct {
	Round   string  `json:"round,omitempty" jsonschema:"its name; all that acts began when not said"`
	Timeout float64 `json:"timeout,omitempty" jsonschema:"seconds to wait at most: 45 when not said, 600 at most"`
}

func (s *server) wait(ctx context.Context, req *mcp.CallToolRequest, a waitArgs, r *result) error {
	if _, known := s.rounds.find(a.Round); a.Round != "" && !known {
		return wrongArgument("there is no such round; poppy_waiting lists those that wait")
	}
	limit := defaultWait
	if a.Timeout > 0 {
		limit = time.Duration(min(a.Timeout, maxWait.Seconds()) * float64(time.Second))
	}
	named := s.waitedFor(a.Round)
	stopped := s.settle(ctx, req, a.Round, limit)
	if err := stopped; err != nil && (errors.Is(err, browser.ErrGone) || ctx.Err() != nil || s.life.Err() != nil) {
		return err
	}
	s.mu.Lock()
	w, v := s.work, s.current
	s.mu.Unlock()
	if err := cmp.Or(stopped, s.untold()); err != nil {
		s.tell(w)
		if err := r.failure(err); err != nil {
			return err
		}
		if err := s.lost(ctx, err, r); err != nil || s.isLost() {
			return err
		}
	}
	if a.Round == "" && w != nil && w.ended() {
		named = append(named, w.met...)
	}
	rounds := r.state(named, w != nil && !w.ended())
	if err := r.terms(rounds); err != nil {
		return err
	}
	if v == nil || !s.idle() || slices.ContainsFunc(rounds, func(one roundOut) bool { return one.open && one.ByAct }) {
		return nil
	}
	return r.page(ctx, v, browser.SnapshotOptions{Lines: actLines, Bytes: actBytes})
}

// waitedFor names the rounds that a wait is for: the one of that name, or all that acts met and that are open. When nothing is
// open or under way it is the last one.
func (s *server) waitedFor(id string) []string {
	if id != "" {
		return []string{id}
	}
	var named []string
	for _, one := range s.rounds.open("") {
		named = append(named, one.ID)
	}
	if last, known := s.rounds.find(""); known && len(named) == 0 && s.idle() {
		named = append(named, last.ID)
	}
	return named
}

func (s *server) closeSite(ctx context.Context, _ *mcp.CallToolRequest, _ noArgs, r *result) error {
	done, err := s.acting(ctx)
	if err != nil {
		return err
	}
	defer done()
	if !s.idle() || len(s.rounds.open("")) > 0 {
		return errClose
	}
	v, err := s.here()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.visits = slices.DeleteFunc(s.visits, func(other visitor) bool { return other == v })
	s.current = nil
	if n := len(s.visits); n > 0 {
		s.current = s.visits[n-1]
	}
	s.mu.Unlock()
	if err := v.Close(ctx); err != nil {
		return err
	}
	r.say("%s is closed.", v.Company())
	return nil
}
