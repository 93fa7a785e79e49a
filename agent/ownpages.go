package agent

import (
	"fmt"
	"net/url"
	"slices"
	"sync"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/trouble"
)

// ownPages are the pages that belong to the User's own browser, and are never loaded in ours: those of a sign-in, where
// the User alone says who they are and what the agent may do (draft 0.1, sections 4.4 to 4.6). Safe for concurrent use.
type ownPages struct {
	mu        sync.Mutex
	clientID  string
	companies map[string]*company.Company // by domain; those that a Session of ours is for
}

// add makes the sign-in pages of c the User's own.
func (o *ownPages) add(clientID string, c *company.Company) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clientID = clientID
	if o.companies == nil {
		o.companies = make(map[string]*company.Company)
	}
	o.companies[c.Domain] = c
}

// holds reports whether an address is such a page: anybody's authorization page with our client id, and a device page
// with a code, wherever a link to it could be shown to the User for a Company that a Session of ours is for, or where such
// a Company's authorization server is.
func (o *ownPages) holds(u *url.URL) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := u.Query()
	if o.clientID != "" && slices.Contains(q["client_id"], o.clientID) {
		return true
	}
	if !q.Has("user_code") {
		return false
	}
	for _, c := range o.companies {
		if c.Hosts(u) || atServer(c.Server, u) {
			return true
		}
	}
	return false
}

// atServer reports whether an address is on a host of an authorization server that has pages.
func atServer(s company.Server, u *url.URL) bool {
	return slices.ContainsFunc([]string{s.Authorization, s.Device}, func(endpoint string) bool {
		own, err := url.Parse(endpoint)
		return err == nil && company.Below(u, own)
	})
}

// refusal is the error of a step that failed since it would have opened such a page; else nil.
func (o *ownPages) refusal(s Step) error {
	u, err := url.Parse(s.Act.URL)
	if s.Act.Kind != browser.Navigate || err != nil || !o.holds(u) {
		return nil
	}
	return &trouble.Error{
		What:   fmt.Sprintf("step %d opens a page of a sign-in, which belongs to your own browser", s.Number+1),
		Done:   fmt.Sprintf("the %d steps before it", s.Number),
		Undone: "this step and those after it; the page was not asked for",
		Next:   "run papaver signin for the Company whose page it is, and then this task signed in",
	}
}
