package browser

import (
	"context"
	"net/netip"
	"net/url"
	"strings"

	"github.com/papaver-agent/papaver/internal/reach"
)

// guarded are the URLs that are looked at before they are asked for: those that could be pages of a sign-in, and those
// that could be at an address of this machine or its network: literal addresses and localhost, with and without a name
// and password before them. Chromium writes an address in its one canonical form, which begins
// with a digit or a bracket, whatever the page wrote. The patterns match more than that, and letLeave looks closely.
func guarded() []string {
	var patterns []string
	for _, host := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "[", "localhost", "*.localhost"} {
		patterns = append(patterns, "*://"+host+"*", "*://*@"+host+"*")
	}
	return append(patterns, ofSignIn()...)
}

// ofSignIn are the URLs that could be pages of a sign-in (RFC 6749, section 4.1.1; RFC 8628, section 3.3.1). A page that
// wants to hide such an address from us, by writing the parameter's name in escapes or posting it, can; what keeps the
// sign-in the User's is then that nothing of ours has credentials to type there.
func ofSignIn() []string { return []string{"*client_id=*", "*user_code=*"} }

// letLeave lets a guarded request leave, or breaks it off when it goes to an address that no page of ours may reach, or to
// a page that is the User's own. A
// name that resolves to such an address is not seen here, and a WebSocket neither; Chromium's own rules for local networks
// are for those.
func (b *Browser) letLeave(p Paused) {
	ctx, cancel := context.WithTimeout(b.life, releaseTimeout)
	defer cancel()
	why := b.keepsOff(p.URL)
	if why == nil {
		_ = b.engine.Release(ctx, p.ID) // when that fails, Chromium is gone and the request with it
		return
	}
	_ = b.engine.Fail(ctx, p.ID)
	if b.cfg.OnKeptOff != nil {
		b.cfg.OnKeptOff(p.URL, why)
	}
}

func (b *Browser) usersOwn(address string) bool {
	u, err := url.Parse(address)
	return err == nil && b.cfg.UsersOwn != nil && b.cfg.UsersOwn(u)
}

func (b *Browser) mayReach(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	ip, err := netip.ParseAddr(host)
	local := err == nil && !reach.Public(ip)
	if err != nil {
		name := strings.ToLower(host)
		local = name == "localhost" || strings.HasSuffix(name, ".localhost")
	}
	return !local || b.probes(address) || (b.cfg.Private != nil && b.cfg.Private(host))
}
