package agent

import (
	"errors"
	"net/url"
	"sync"

	"github.com/papaver-agent/papaver/browser"
)

// maxKeptOff is how many hosts that pages were kept off are told of in a run.
const maxKeptOff = 100

// keptOff is what was told of hosts that pages were kept off. Safe for concurrent use.
type keptOff struct {
	mu   sync.Mutex
	told map[string]bool
}

// first reports whether a host is to be told of: once, and not for ever.
func (k *keptOff) first(host string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.told == nil {
		k.told = make(map[string]bool)
	}
	if k.told[host] || len(k.told) >= maxKeptOff {
		return false
	}
	k.told[host] = true
	return true
}

// offLimits tells of a request of a page that was broken off, once for each host. The User's own pages are told of by the
// step that would have opened one.
func (a *Agent) offLimits(address string, why error) {
	u, err := url.Parse(address)
	if err != nil || errors.Is(why, browser.ErrUsersOwn) || !a.keptOff.first(u.Host) {
		return
	}
	a.cfg.Logger.Warn("a request of the page was broken off", "host", u.Host, "why", why)
}
