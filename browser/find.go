package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

//go:embed find.js
var findAlone string

// findFunction is find.js, and counts the Continue controls of what it found for an act that needs that: in one call.
var findFunction = `async (path, need, ...rest) => {
	const seen = await (` + findAlone + `)(path, need, ...rest);
	return {...seen, continues: seen.found && need.count ? (` + continueFunction + `)(0) : -1};
}`

//go:embed owner.js
var ownerFunction string

const (
	maxNamed    = 200 // elements of one role and name that are looked at
	maxSegments = 16  // parts of one path through shadow roots
)

// need is what an act needs of its element before it goes.
type need struct {
	One      bool `json:"one"` // no other visible one may match
	Visible  bool `json:"visible"`
	Enabled  bool `json:"enabled"`
	Editable bool `json:"editable"`
	Scroll   bool `json:"scroll"` // it is brought into view
	Stable   bool `json:"stable"` // it is where it was a frame ago
	Hit      bool `json:"hit"`    // a press on it meets it and nothing else
	Focus    bool `json:"focus"`  // it gets the focus
	Count    bool `json:"count"`  // the Continue controls of its document are counted

	// What each element that matches, and is visible when it is to be, has: properties, deeply equal, and attributes.
	Properties map[string]json.RawMessage `json:"properties"`
	Attributes map[string]string          `json:"attributes"`
}

// offset is where on its element an act is made; nil is its middle.
func (a Act) offset() *Point { return a.Pointer.Offset }

// needs are those of an act.
func (a Act) needs() need {
	n := need{One: a.Strict, Visible: true}
	switch a.Kind {
	case Click, DoubleClick, Check, Uncheck:
		n.Enabled, n.Scroll, n.Stable, n.Hit = true, true, true, true
	case Hover:
		n.Scroll, n.Stable, n.Hit = true, true, true
	case Change, Type, Clear:
		n.Enabled, n.Editable, n.Scroll, n.Focus = true, true, true, true
	case Select:
		n.Enabled, n.Scroll, n.Focus = true, true, true
	case Scroll:
		n.Scroll = true
	case Press:
		n.Scroll, n.Focus = true, true
	case Upload:
		n.Enabled, n.Visible = true, false // a field for files is hidden more often than not
	}
	return n
}

// seen is what find.js answers.
type seen struct {
	Found   bool              `json:"found"`
	X       float64           `json:"x"` // in the main frame's viewport
	Y       float64           `json:"y"`
	Page    string            `json:"page"` // the URL of the element's document
	Form    map[string]string `json:"form"`
	Control Control           `json:"control"`
	Reason  Reason            `json:"reason"`
	Others  []Control         `json:"others"`
	Matches int               `json:"matches"` // of the alternative that was looked at
	Shown   int               `json:"shown"`   // those of them that are visible
	Unlike  string            `json:"unlike"`  // the property or attribute that one of them does not have as it is needed

	Continues int `json:"continues"` // the visible Continue controls of the element's document, -1 when they were not counted

	wrong string // the selector that is none
	frame Frame  // whose document it is
	mark  int    // under which find.js remembers the element, in its document
}

// find looks for the act's element until it is there and as the act needs it, and notes in m what it is.
func (c *Context) find(ctx context.Context, m *Made) (seen, error) {
	n := m.Act.needs()
	n.Count = m.Act.Kind != Wait
	s, err := c.look(ctx, m.Act, n)
	if err != nil {
		return seen{}, err
	}
	for name, value := range s.Form {
		if c.private.in(value) {
			delete(s.Form, name)
		}
	}
	m.Page, m.Control, m.Form = s.Page, s.Control, s.Form
	m.frame, m.document, m.mark, m.continues = s.frame.ID, s.frame.Document, s.mark, s.Continues
	if m.frame != c.tab.tab.ID() {
		c.browser.watchFrame(m.frame, c.tab)
	}
	return s, nil
}

// look looks for an element until it is there and as it is needed.
func (c *Context) look(ctx context.Context, act Act, n need) (seen, error) {
	return c.lookUntil(ctx, act, func(ctx context.Context, mark int) (seen, error) { return c.lookOnce(ctx, act, n, mark) })
}

// lookUntil looks until the element is found, or will not be.
func (c *Context) lookUntil(ctx context.Context, act Act, once func(ctx context.Context, mark int) (seen, error)) (seen, error) {
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	mark := c.nextMark()
	last := seen{Reason: Unanswered}
	for {
		s, err := once(ctx, mark)
		switch {
		case errors.Is(err, ErrTabGone):
			return seen{}, err
		case err == nil && s.Found:
			return s, nil
		case err == nil && s.final(act):
			return seen{}, act.notFound(s, nil)
		case err == nil:
			last = s
		}
		// Another error is a document that went away under the call: look again in the next one.
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.Is(cause, ErrGone) || errors.Is(cause, ErrDialogOpen) {
				return seen{}, cause
			}
			return seen{}, act.notFound(last, ctx.Err())
		case <-ticker.C:
		}
	}
}

// final reports whether looking again would see the same.
func (s seen) final(act Act) bool {
	switch s.Reason {
	case Wrong, Expired, Unknown:
		return true
	case Detached:
		return act.Ref != ""
	default:
		return false
	}
}

// notFound is the error of an act whose element was not found.
func (a Act) notFound(s seen, cause error) error {
	wanted := fmt.Sprint(a.Selectors)
	switch {
	case s.wrong != "":
		wanted = fmt.Sprintf("%q", s.wrong)
	case a.Ref != "":
		wanted = fmt.Sprintf("%q", a.Ref)
	case len(a.Frame) > 0:
		wanted += fmt.Sprintf(" in frame %v", a.Frame)
	}
	if len(wanted) > maxWanted {
		wanted = wanted[:maxWanted] + "…"
	}
	return &FindError{Reason: s.Reason, Wanted: wanted, Others: s.Others, Matches: s.Matches, cause: cause}
}

// lookOnce tries the alternatives in their order. The first one that shows an element is the one that counts.
func (c *Context) lookOnce(ctx context.Context, act Act, n need, mark int) (seen, error) {
	if act.Ref != "" {
		return c.lookUp(ctx, act, n, mark)
	}
	in, frames, err := c.frame(ctx, act.Frame)
	if err != nil {
		return seen{}, err
	}
	if in.ID == "" {
		return seen{Reason: NoFrame}, nil
	}
	best := seen{Reason: NoMatch}
	for _, path := range act.Selectors {
		s, err := c.lookIn(ctx, in, path, n, mark, act.offset())
		if err != nil || s.Reason == Wrong {
			return s, err
		}
		if s.Found || s.Shown > 0 {
			return c.place(ctx, s, in, frames, n)
		}
		if best.Matches == 0 {
			best = s
		}
	}
	return best, nil
}

// lookIn looks by one alternative in one frame's document.
func (c *Context) lookIn(ctx context.Context, in Frame, path []string, n need, mark int, offset *Point) (seen, error) {
	if len(path) > maxSegments {
		return seen{Reason: Wrong, wrong: strings.Join(path, " >>> ")}, nil
	}
	parts, args := make([]any, len(path)), []any{nil, n, mark, offset}
	for i, part := range path {
		name, isName := strings.CutPrefix(part, "aria/")
		if !isName {
			parts[i] = part
			continue
		}
		nodes, err := c.named(ctx, in, ariaQuery(name))
		if err != nil {
			return seen{}, err
		}
		parts[i] = len(nodes)
		args = append(args, nodes...)
	}
	args[0] = parts
	var s seen
	err := c.tab.tab.CallIn(ctx, in.ID, findFunction, &s, args...)
	s.frame, s.mark = in, mark
	if s.Reason == Wrong {
		s.wrong = strings.Join(path, " >>> ")
	}
	return s, err
}

// place turns where an element lies in its frame into where that is in the main one, through each frame that it is in: a
// press is made there, and has to reach every one of them.
func (c *Context) place(ctx context.Context, s seen, in Frame, frames []Frame, n need) (seen, error) {
	if !s.Found || in.Parent == "" || !n.Scroll {
		return s, nil
	}
	at := func() (x, y float64, failed *seen, err error) {
		x, y = s.X, s.Y
		for f := in; f.Parent != ""; f = parent(frames, f) {
			owner, err := c.tab.tab.Owner(ctx, f)
			if err != nil {
				return 0, 0, nil, err
			}
			var o struct {
				X, Y              float64
				Gone, Shown, Open bool
				Tag               string
			}
			if err := c.tab.tab.CallIn(ctx, f.Parent, ownerFunction, &o, owner, x, y, n.Scroll); err != nil {
				return 0, 0, nil, err
			}
			fail := seen{Matches: s.Matches, Shown: s.Shown, Others: []Control{{Tag: o.Tag}}, frame: in}
			switch {
			case o.Gone:
				fail.Reason = NoFrame
			case !o.Shown:
				fail.Reason, fail.Others = Hidden, []Control{{Tag: "iframe"}}
			case n.Hit && !o.Open && o.Tag == "":
				fail.Reason, fail.Others = Outside, []Control{s.Control}
			case n.Hit && !o.Open:
				fail.Reason = Covered
			}
			if fail.Reason != "" {
				return 0, 0, &fail, nil
			}
			x, y = o.X, o.Y
		}
		return x, y, nil, nil
	}
	x, y, failed, err := at()
	if err == nil && failed == nil && n.Stable {
		// A frame that scrolls, or that moves, is not where it was by now.
		beforeX, beforeY := x, y
		if x, y, failed, err = at(); err == nil && failed == nil && (abs(x-beforeX) >= 1 || abs(y-beforeY) >= 1) {
			failed = &seen{Reason: Moving, Matches: s.Matches, Shown: s.Shown, Others: []Control{{Tag: "iframe"}}}
		}
	}
	if err != nil {
		return seen{}, err
	}
	if failed != nil {
		return *failed, nil
	}
	s.X, s.Y = x, y
	return s, nil
}

func abs(x float64) float64 { return max(x, -x) }

// parent is the frame that another one is in; the main one's is none.
func parent(frames []Frame, f Frame) Frame {
	i := slices.IndexFunc(frames, func(p Frame) bool { return p.ID == f.Parent })
	if i < 0 {
		return Frame{}
	}
	return frames[i]
}

// frame returns the frame at a path of indices among the frames in a frame, and all frames when it is not the main one.
// Without an ID it is not there.
func (c *Context) frame(ctx context.Context, path []int) (Frame, []Frame, error) {
	t := c.tab.tab
	at := Frame{ID: t.ID(), Document: t.Document()}
	if len(path) == 0 {
		return at, nil, nil
	}
	frames, err := t.Frames(ctx)
	if err != nil {
		return Frame{}, nil, err
	}
	for _, i := range path {
		children, err := c.children(ctx, at, frames)
		if err != nil || i < 0 || i >= len(children) {
			return Frame{}, nil, err
		}
		at = children[i]
	}
	return at, frames, nil
}

// children are the frames in a frame in the order in which a page counts them: window.frames.
func (c *Context) children(ctx context.Context, of Frame, frames []Frame) ([]Frame, error) {
	var found []Frame
	var owners []any
	for _, f := range frames {
		if f.Parent != of.ID {
			continue
		}
		owner, err := c.tab.tab.Owner(ctx, f)
		if errors.Is(err, ErrFrameGone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found, owners = append(found, f), append(owners, owner)
	}
	var order []int
	const count = `(...owners) => owners.map((el) => {
		for (let i = 0; i < window.length; i++) if (window[i] === el.contentWindow) return i;
		return window.length;
	})`
	if err := c.tab.tab.CallIn(ctx, of.ID, count, &order, owners...); err != nil {
		return nil, err
	}
	if len(order) != len(found) {
		return nil, ErrNoAnswer
	}
	byOrder := make(map[TargetID]int, len(found))
	for i, f := range found {
		byOrder[f.ID] = order[i]
	}
	slices.SortStableFunc(found, func(a, b Frame) int { return byOrder[a.ID] - byOrder[b.ID] })
	return found, nil
}

// named are the elements of a role and name in Chromium's accessibility tree, as arguments for a function of ours.
func (c *Context) named(ctx context.Context, in Frame, q AXQuery) ([]any, error) {
	ask := &q
	if in.Parent != "" {
		ask = nil // Chromium answers no query for a frame that is not drawn, as one far below the fold [measured]
	}
	list, err := c.tab.tab.Accessible(ctx, in.ID, ask)
	if err != nil {
		return nil, err
	}
	var nodes []any
	for _, n := range list {
		if n.Ignored || n.Node == 0 || n.Role.Text() == "StaticText" || n.Role.Text() == "InlineTextBox" {
			continue
		}
		if ask == nil && (q.Role != "" && n.Role.Text() != q.Role || q.Name != "" && strings.Join(strings.Fields(n.Name.Text()), " ") != q.Name) {
			continue
		}
		if nodes = append(nodes, n.Node); len(nodes) == maxNamed {
			break
		}
	}
	return nodes, nil
}

var ariaAttribute = regexp.MustCompile(`\[\s*(name|role)\s*=\s*(?:"([^"]*)"|'([^']*)')\s*\]`)

// ariaQuery reads what follows aria/ in a selector. White space at the ends of a name does not count, and within it is one
// space.
func ariaQuery(s string) AXQuery {
	var q AXQuery
	rest := ariaAttribute.ReplaceAllStringFunc(s, func(attribute string) string {
		m := ariaAttribute.FindStringSubmatch(attribute)
		if m[1] == "role" {
			q.Role = m[2] + m[3]
		} else {
			q.Name = m[2] + m[3]
		}
		return ""
	})
	if name := strings.Join(strings.Fields(rest), " "); name != "" {
		q.Name = name
	}
	q.Name = strings.Join(strings.Fields(q.Name), " ")
	return q
}
