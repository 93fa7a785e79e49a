package mcpserver

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
)

const (
	actLines     = 200      // of a snapshot in an act's result
	actBytes     = 16 << 10 // of the same
	maxTerms     = 16 << 10 // bytes of an operation's terms in one result
	maxSaid      = 2000     // bytes of one of the Company's texts in a result
	boundarySize = 12       // bytes
)

// answer is what a call of an act and of the poppy tools returns as data. What the Company wrote is in Company alone.
type answer struct {
	Status string     `json:"status"`         // done, under_way, or a round's status
	Means  string     `json:"means"`          // the same in our words
	Next   string     `json:"next,omitempty"` // what to do about it
	Rounds []roundOut `json:"rounds,omitempty"`
}

// roundOut is a round as data.
type roundOut struct {
	Round   string   `json:"round"`
	Status  string   `json:"status"`
	Means   string   `json:"means"`
	Why     string   `json:"why,omitempty"`
	ByAct   bool     `json:"by_act"` // an act of this client began it; else the page did by itself
	Expires string   `json:"expires_at,omitempty"`
	Company *company `json:"company_text,omitempty"`
	open    bool
}

// company is what the Company wrote of an operation. It is data, and no word of the User's.
type company struct {
	Domain  string          `json:"company"`
	Summary string          `json:"summary"`
	Terms   json.RawMessage `json:"terms,omitempty"`
	// Part is a part of terms that are too long for one result, and Next the offset of what follows; 0 when nothing does.
	Part   string `json:"terms_part,omitempty"`
	Offset int    `json:"terms_offset,omitempty"`
	Next   int    `json:"terms_next,omitempty"`
	Bytes  int    `json:"terms_bytes,omitempty"`
	Reason string `json:"reason,omitempty"`
	Other  string `json:"other_way,omitempty"` // the alternative that a decline names
}

// out is a round as data, with the terms from an offset on.
func (r round) out(offset int) roundOut {
	o := roundOut{Round: r.ID, Status: string(r.Status), Means: r.Status.means(), Why: clipped(r.Why), ByAct: r.Ours, open: !r.settled()}
	if r.Terms.ID == "" {
		return o
	}
	o.Expires = clipped(r.Terms.ExpiresAt)
	c := &company{Domain: r.Terms.Company, Summary: clipped(r.Terms.Summary), Reason: clipped(r.Decline.Reason)}
	if a := r.Decline.Alternative; a != nil {
		c.Other = clipped(a.Instructions)
	}
	switch n := len(r.Terms.Terms); {
	case n <= maxTerms:
		c.Terms = r.Terms.Terms
	default:
		at := min(max(offset, 0), n)
		end := min(at+maxTerms, n)
		c.Part, c.Offset, c.Bytes = strings.ToValidUTF8(string(r.Terms.Terms[at:end]), ""), at, n
		if end < n {
			c.Next = end
		}
	}
	o.Company = c
	return o
}

// clipped is a text that is not too long, and says so when it was.
func clipped(s string) string {
	if len(s) <= maxSaid {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes in all; papaver tui shows them)", strings.ToValidUTF8(s[:maxSaid], ""), len(s))
}

// result collects what a call returns: first our lines, then each text of a website between its boundary.
type result struct {
	s        *server
	ours     strings.Builder
	websites []string
	picture  *mcp.ImageContent
	data     any
	failed   bool
}

func (s *server) result() *result { return &result{s: s} }

// say adds a line of ours. Nothing of a website may be in it.
func (r *result) say(format string, args ...any) { fmt.Fprintf(&r.ours, format+"\n", args...) }

// website adds a text of a website. Characters that don't show, or that move others, stand as visible escapes.
func (r *result) website(what, text string) error {
	random := make([]byte, boundarySize)
	if _, err := io.ReadFull(r.s.cfg.Agent.Rand, random); err != nil {
		return fmt.Errorf("a boundary: %w", err)
	}
	boundary := hex.EncodeToString(random)
	var b strings.Builder
	fmt.Fprintf(&b, "----- BEGIN website %s: %s -----\n", boundary, what)
	for _, line := range plaintext.Block(strings.TrimSuffix(text, "\n")) {
		b.WriteString(line.String() + "\n")
	}
	fmt.Fprintf(&b, "----- END website %s -----", boundary)
	r.websites = append(r.websites, b.String())
	return nil
}

// done is the result as the protocol has it.
func (r *result) done() *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: r.failed, StructuredContent: r.data}
	res.Content = append(res.Content, &mcp.TextContent{Text: strings.TrimSuffix(r.ours.String(), "\n")})
	for _, text := range r.websites {
		res.Content = append(res.Content, &mcp.TextContent{Text: text})
	}
	if r.picture != nil {
		res.Content = append(res.Content, r.picture)
	}
	return res
}

// failure says an error: our words as ours, and its details, which can repeat a page's text, as a website's.
func (r *result) failure(err error) error {
	r.failed = true
	t, known := errors.AsType[*trouble.Error](err)
	if !known {
		switch {
		case errors.Is(err, errNoSite), errors.Is(err, errAgain), errors.Is(err, errOpen), errors.Is(err, errClose), errors.Is(err, errArgument):
			r.say("%s", err)
			return nil
		}
		r.say("It was not done.")
		return r.website("details of the error, which can repeat the page's text", err.Error())
	}
	r.say("What happened: %s.\nDone: %s.\nNot done: %s.\nNext: %s.", t.What, t.Done, t.Undone, t.Next)
	if t.Err != nil {
		return r.website("details of the error, which can repeat the page's text", t.Err.Error())
	}
	return nil
}

// page adds the page as it is now, as much of it as fits.
func (r *result) page(ctx context.Context, v visitor, o browser.SnapshotOptions) error {
	if d, open := v.Dialog(); open {
		r.say("A dialog of the page is open (%s): answer it with browser_handle_dialog. It is dismissed after 30 s.", dialogType(d.Type))
		return r.website("the dialog's text", d.Message+"\n"+d.Default)
	}
	snapshot, err := v.Snapshot(ctx, o)
	if err != nil {
		r.say("The page could not be looked at.")
		return r.website("details of the error, which can repeat the page's text", err.Error())
	}
	if snapshot.Next > 0 {
		r.say("The snapshot has %d lines, of which these are %d to %d: browser_snapshot with offset %d shows what follows.", snapshot.Lines, o.Offset+1, snapshot.Next, snapshot.Next)
	}
	if snapshot.LeftOut > 0 {
		r.say("%d frames of the page are not in the snapshot.", snapshot.LeftOut)
	}
	return r.website("the page", fmt.Sprintf("URL: %s\nTitle: %s\n%s", snapshot.URL, snapshot.Title, snapshot.Text))
}

// dialogType is a dialog's type in a word of ours.
func dialogType(t string) string {
	switch t {
	case "alert", "confirm", "prompt", "beforeunload":
		return t
	}
	return "of another type"
}

// state says what became of the rounds named, and whether acts are under way, and names the other rounds that are open. It
// returns all of them.
func (r *result) state(named []string, underWay bool) []roundOut {
	a := answer{Status: "done", Means: "the act was made, and no operation is open"}
	meant := make(map[string]bool)
	var weightiest round
	for _, id := range named {
		one, known := r.s.rounds.find(id)
		if !known || meant[one.ID] {
			continue
		}
		meant[one.ID] = true
		if len(a.Rounds) == 0 || one.Status.weight() < weightiest.Status.weight() {
			weightiest = one
		}
		a.Rounds = append(a.Rounds, one.out(0))
	}
	list, _ := r.s.rounds.all()
	for _, one := range list {
		if !one.settled() && !meant[one.ID] {
			a.Rounds = append(a.Rounds, one.out(0))
		}
	}
	switch {
	case len(meant) > 0:
		a.Status, a.Means, a.Next = string(weightiest.Status), weightiest.Status.means(), weightiest.next()
	case underWay:
		a.Status, a.Means, a.Next = "under_way", "the act has not ended yet", "call poppy_wait"
	case len(a.Rounds) > 0:
		a.Means = "the act was made, and met no operation; others are open"
	}
	r.data = a
	r.say("status: %s (%s)", a.Status, a.Means)
	if a.Next != "" {
		r.say("next: %s", a.Next)
	}
	for _, one := range a.Rounds {
		r.say("round %s: %s (%s)", one.Round, one.Status, one.Means)
	}
	return a.Rounds
}

// terms adds what the Company wrote of the rounds that are in the data, for clients that show text alone.
func (r *result) terms(rounds []roundOut) error {
	for _, one := range rounds {
		if one.Company == nil {
			continue
		}
		text, err := json.MarshalIndent(one.Company, "", "  ")
		if err != nil {
			return fmt.Errorf("the operation: %w", err)
		}
		if err := r.website("the Company's words of round "+one.Round, string(text)); err != nil {
			return err
		}
	}
	return nil
}
