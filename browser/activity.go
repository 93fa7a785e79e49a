package browser

import (
	"maps"
	"sync"
)

// Activity counts what is under way in a tab, for a driver that tells it of the tab's events in their order. What counts is
// the same with every driver. Safe for concurrent use.
type Activity struct {
	mu       sync.Mutex
	requests map[RequestID]string // sent and not answered yet, with the loader of each
	coming   bool                 // the page has asked for a navigation that has not begun
	sent     int                  // requests since Follow
	flooded  bool
	loading  bool // the main frame loads
	document string
	url      string
	changed  chan struct{}
}

// NewActivity is that of a tab in which nothing happens yet.
func NewActivity() *Activity {
	return &Activity{requests: make(map[RequestID]string), changed: make(chan struct{})}
}

// Busy reports whether requests or navigations are under way.
func (a *Activity) Busy() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.requests) > 0 || a.coming || a.loading
}

// Count is [Tab.Activity].
func (a *Activity) Count() (n int, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n = len(a.requests)
	if a.coming || a.loading {
		n++
	}
	return n, a.changed
}

// Document is [Tab.Document].
func (a *Activity) Document() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.document
}

// URL is [Tab.URL].
func (a *Activity) URL() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.url
}

func (a *Activity) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	close(a.changed)
	a.changed = make(chan struct{})
}

// Sent is Network.requestWillBeSent: a request with its loader and its Network.ResourceType, by the main frame or not. It
// reports whether the tab is flooded from this one on; what was under way is forgotten then.
func (a *Activity) Sent(id RequestID, loader, resource string, main bool) (floods bool) {
	a.change(func() {
		// One without a loader is of a worker, and its answer is not reported here. An event source's has no end, and
		// nobody waits for a ping, nor for the page's icon and what it has loaded ahead, which are Other.
		a.sent++
		if floods = a.sent > maxFollowed && !a.flooded; floods {
			a.flooded = true
			clear(a.requests)
		}
		if loader != "" && resource != "EventSource" && resource != "Ping" && resource != "Other" && !a.flooded {
			a.requests[id] = loader
		}
		if resource == "Document" && main {
			a.coming = false
		}
	})
	return floods
}

// maxFollowed is how many requests of a tab are followed one by one after an act has begun. To tell of each costs Chromium
// about as much as to hold its response, so a page that asks for hundreds of things is slower for it.
const maxFollowed = 100

// Flooded reports whether more requests came since Follow than are followed: the driver has Chromium tell of them no more
// then. From there on what the tab loads and the responses that are held tell whether it is quiet.
func (a *Activity) Flooded() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.flooded
}

// Follow begins to count requests anew, and reports whether they have to be told of again.
func (a *Activity) Follow() (again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	again = a.flooded
	a.sent, a.flooded = 0, false
	return again
}

// Answered is Network.responseReceived, Network.loadingFinished and Network.loadingFailed.
func (a *Activity) Answered(id RequestID) { a.change(func() { delete(a.requests, id) }) }

// Coming is Page.frameRequestedNavigation of the main frame.
func (a *Activity) Coming() { a.change(func() { a.coming = true }) }

// Loading is Page.frameStartedLoading of the main frame, and Loaded its Page.frameStoppedLoading.
func (a *Activity) Loading() { a.change(func() { a.loading = true }) }

// Loaded is Page.frameStoppedLoading of the main frame.
func (a *Activity) Loaded() { a.change(func() { a.loading, a.coming = false, false }) }

// Moved is Page.navigatedWithinDocument of the main frame.
func (a *Activity) Moved(url string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.url = url
}

// Committed is Page.frameNavigated of the main frame, to the document of that loader and with its whole URL. What the
// documents before it asked for is given up, and nobody says so of each request [measured].
func (a *Activity) Committed(loader, url string) {
	a.change(func() {
		if a.document != loader {
			maps.DeleteFunc(a.requests, func(_ RequestID, of string) bool { return of != loader })
		}
		a.document, a.url, a.coming = loader, url, false
	})
}
