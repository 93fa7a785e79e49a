package browser

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Why a request was broken off before it left, see [Config.OnKeptOff].
var (
	ErrNotAllowed     = errors.New("its host is not among those that are allowed")
	ErrPrivateAddress = errors.New("its address is one of this machine or its network")
	ErrUsersOwn       = errors.New("its page is one for the User's own browser")
)

// CheckAllowed says what is wrong with a host of [Config.Allowed]: it is written shop.example for that host alone, or
// *.shop.example for those below it, in ASCII (xn-- where it is not) and without a port. An IPv4 address is a host; an IPv6
// one cannot be named.
func CheckAllowed(pattern string) error {
	host := strings.TrimPrefix(pattern, "*.")
	wrong := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-._", r)
	}
	switch {
	case host == "" || strings.ContainsFunc(host, wrong) || strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") || strings.Contains(host, ".."):
		return fmt.Errorf("%q names no host: it is written shop.example or *.shop.example, in small ASCII letters and without a port", pattern)
	case host != pattern && address(host):
		return fmt.Errorf("%q: nothing is below an address", pattern)
	case host != pattern && !strings.Contains(host, "."):
		return fmt.Errorf("%q names every host of a top-level domain", pattern)
	}
	return nil
}

func address(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// Allows reports whether a host (without a port) is among those that are allowed. An empty list allows all.
func Allows(allowed []string, host string) bool {
	if len(allowed) == 0 {
		return true
	}
	host = strings.ToLower(host)
	return slices.ContainsFunc(allowed, func(pattern string) bool {
		if below, wild := strings.CutPrefix(pattern, "*."); wild {
			return strings.HasSuffix(host, "."+below)
		}
		return host == pattern
	})
}

// resolverRules are the rules of --host-resolver-rules that keep a Chromium to the allowed hosts, beside the rules that say
// where named hosts are. Every connection of Chromium's asks its resolver first, also one to an address and one of a
// WebSocket, of WebTransport or of WebRTC over TCP [measured], so what has no place there is not connected to. The
// first rule that fits is the one that holds, but an exclusion goes before all of them; so a host is allowed by a rule that
// leads to itself, and only those below another one by an exclusion.
func resolverRules(named string, allowed []string) string {
	if len(allowed) == 0 {
		return named
	}
	var rules, hosts []string
	for rule := range strings.SplitSeq(named, ", ") {
		host, found := namedHost(rule)
		if found && Allows(allowed, host) {
			rules, hosts = append(rules, rule), append(hosts, host)
		}
	}
	for _, pattern := range allowed {
		if !strings.HasPrefix(pattern, "*.") {
			rules = append(rules, "MAP "+pattern+" "+pattern)
			continue
		}
		// An exclusion would undo the rules for named hosts below it. Then those are the ones that are allowed.
		if !slices.ContainsFunc(hosts, func(host string) bool { return Allows([]string{pattern}, host) }) {
			rules = append(rules, "EXCLUDE "+pattern)
		}
	}
	return strings.Join(append(rules, "MAP * ~NOTFOUND"), ", ")
}

// namedHost is the host of a rule of package reach: MAP HOST:PORT ADDR:PORT.
func namedHost(rule string) (string, bool) {
	words := strings.Fields(rule)
	if len(words) != 3 || words[0] != "MAP" {
		return "", false
	}
	at := strings.LastIndex(words[1], ":")
	if at < 0 {
		return "", false
	}
	return strings.Trim(words[1][:at], "[]"), true
}

// keepsOff is why a request for address is not made; nil when it may be.
func (b *Browser) keepsOff(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || !b.mayReach(address):
		return ErrPrivateAddress
	case !Allows(b.cfg.Allowed, u.Hostname()):
		return ErrNotAllowed
	case b.usersOwn(address):
		return ErrUsersOwn
	}
	return nil
}

// unresolved tells of a request that failed because its host is not allowed.
func (b *Browser) unresolved(p Paused) {
	if len(b.cfg.Allowed) == 0 || b.cfg.OnKeptOff == nil || p.Status != 0 {
		return
	}
	u, err := url.Parse(p.URL)
	if err == nil && (u.Scheme == "https" || u.Scheme == "http") && !Allows(b.cfg.Allowed, u.Hostname()) {
		b.cfg.OnKeptOff(p.URL, ErrNotAllowed)
	}
}
