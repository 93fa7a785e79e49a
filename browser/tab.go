package browser

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// tabState is what we know of a tab that we drive: its main document's last response, and whether a join is under way.
type tabState struct {
	tab     Tab
	context ContextID
	opener  TargetID // empty for one that no page opened
	closed  bool     // guarded by the context's mu

	mu       sync.Mutex
	document Paused   // the last response to a navigation of the main frame
	recent   []Paused // the last responses to requests of the main frame and of those that acts were made in, without their headers
	since    int      // how many of them came since the last act began
	refusal  *Paused  // the first of them since the last act began that refuses it; nil when none did
	hops     []Paused
	console  []ConsoleMessage
	joining  bool // a form is being submitted and waited for
	submits  bool // a form was submitted in it
	changed  chan struct{}
}

func newTabState(tab Tab, id ContextID) *tabState {
	return &tabState{tab: tab, context: id, changed: make(chan struct{})}
}

// maxRecent is how many responses of a tab are remembered.
const maxRecent = 256

// saw takes a response to a request of the tab's main frame, or of another one that an act was made in.
func (t *tabState) saw(p Paused) {
	p.Headers = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	p.submitted = t.joining || t.submits && !t.landed()
	t.recent = append(t.recent, p)
	t.since++
	if len(t.recent) > maxRecent {
		t.recent = slices.Delete(t.recent, 0, len(t.recent)-maxRecent)
	}
	if t.refusal == nil && p.refusesAct() {
		t.refusal = &p
	}
	if p.Resource != "Document" || p.Frame != t.tab.ID() {
		return
	}
	t.document = p
	t.hops = append(t.hops, p)
	close(t.changed)
	t.changed = make(chan struct{})
}

// refuses reports whether a response must not go on: a 307 or 308 in answer to the join's form would post assertion
// and token again, to wherever it says. One that comes later in the redirects answers a GET and posts nothing.
func (t *tabState) refuses(p Paused) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return (t.joining || t.submits && !t.landed()) && p.Resource == "Document" && reposts(p)
}

// landed reports whether the submitted form has led to an answer that is no redirect. Until then a late answer is the
// form's own, however long nobody has waited for it any more.
func (t *tabState) landed() bool {
	return ended(t.hops) && !reposts(t.hops[len(t.hops)-1])
}

// reposts reports whether a response would send its request's body again.
func reposts(p Paused) bool {
	return p.Method != http.MethodGet && p.Method != http.MethodHead &&
		(p.Status == http.StatusTemporaryRedirect || p.Status == http.StatusPermanentRedirect)
}

// expect begins the submission of a form and forgets the responses before it.
func (t *tabState) expect() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.joining, t.hops, t.submits = true, nil, true
}

func (t *tabState) submitted() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.joining = false
}

// landing waits for the response that ends the submission: the first one of the main frame that is no redirect.
func (t *tabState) landing(ctx context.Context) ([]Paused, error) {
	for {
		t.mu.Lock()
		hops, changed := t.hops, t.changed
		t.mu.Unlock()
		if ended(hops) {
			return hops, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return hops, ctx.Err()
		}
	}
}

// ended reports whether the last of a form's responses leads no further.
func ended(hops []Paused) bool { return len(hops) > 0 && !redirects(hops[len(hops)-1]) }

// failed reports whether no answer came, or one that says that the server could not give one.
func (p Paused) failed() bool { return p.Status == 0 || p.Status >= http.StatusInternalServerError }

// failedLike reports whether p failed and asked for the same thing as other.
func (p Paused) failedLike(other Paused) bool {
	return p.ID != "" && p.failed() && p.Method == other.Method && p.URL == other.URL
}

func redirects(p Paused) bool {
	switch p.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
		return true
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return !reposts(p) // one that does was broken off
	default:
		return false
	}
}

// used reports whether a document was ever loaded in the tab, or a form submitted: its answer could still come, and be
// taken for that of the next one.
func (t *tabState) used() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.submits || t.document.ID != ""
}

// acts begins an act: the responses before it are not its own.
func (t *tabState) acts() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refusal, t.since = nil, 0
}

// refused is the first response since the act began that refuses it.
func (t *tabState) refused() (Paused, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refusal == nil {
		return Paused{}, false
	}
	return *t.refusal, true
}

// refusesAct reports whether p is a 403 that answers a navigation or a request that may change something.
func (p Paused) refusesAct() bool {
	safe := p.Method == http.MethodGet || p.Method == http.MethodHead || p.Method == http.MethodOptions
	return p.Status == http.StatusForbidden && (p.Resource == "Document" || !safe)
}

// quiet waits until no request and no navigation of the tab has been under way for a moment, at most limit long, and
// reports whether that came about. In another document than left, when that is known, it need not last for a moment: it is
// enough that the document has loaded: what its script asked for until then is under way or answered.
func (t *tabState) quiet(ctx context.Context, limit time.Duration, left *string) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		n, changed := t.tab.Activity()
		var calm <-chan time.Time
		before := t.responses()
		if n == 0 {
			if left != nil && t.tab.Document() != *left {
				return true
			}
			timer := time.NewTimer(calmFor)
			defer timer.Stop()
			calm = timer.C
		}
		select {
		case <-changed:
		case <-calm:
			if t.responses() == before {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}

// responses is how many responses came since the act began.
func (t *tabState) responses() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since
}

// loaded waits until nothing is under way in the tab, at most limit long.
func (t *tabState) loaded(ctx context.Context, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		n, changed := t.tab.Activity()
		if n == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
