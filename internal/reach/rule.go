package reach

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Rule is one --connect-to: a connection to Host:Port is made to To instead.
type Rule struct {
	Host string // lower case, without brackets
	Port string
	To   string // "addr:port", the address in brackets when it is IPv6
}

func (r Rule) from() string { return net.JoinHostPort(r.Host, r.Port) }

// ParseRule reads HOST:PORT:ADDR:PORT. IPv6 addresses stand in brackets. Unlike curl's, no part may be empty: a rule
// that matches every host would lift the refusal of private addresses for all of them.
func ParseRule(s string) (Rule, error) {
	wrong := func(why string) (Rule, error) {
		return Rule{}, fmt.Errorf("--connect-to %q: %s; it is written HOST:PORT:ADDR:PORT", s, why)
	}
	host, rest, ok := cutHost(s)
	if !ok || host == "" {
		return wrong("the host is missing")
	}
	if !isHost(host) {
		return wrong("the host is not one host's name or address")
	}
	port, rest, ok := strings.Cut(rest, ":")
	if !ok || !isPort(port) {
		return wrong("the first port is not a number from 1 to 65535")
	}
	addr, toPort, ok := cutHost(rest)
	if !ok || addr == "" {
		return wrong("the address is missing")
	}
	if !isHost(addr) {
		return wrong("the address is not one host's name or address")
	}
	if !isPort(toPort) {
		return wrong("the second port is not a number from 1 to 65535")
	}
	return Rule{Host: strings.ToLower(host), Port: port, To: net.JoinHostPort(addr, toPort)}, nil
}

// cutHost splits "host:rest" or "[v6]:rest".
func cutHost(s string) (host, rest string, ok bool) {
	if inner, found := strings.CutPrefix(s, "["); found {
		host, rest, ok = strings.Cut(inner, "]:")
		return host, rest, ok && net.ParseIP(host) != nil
	}
	return strings.Cut(s, ":")
}

// isHost reports whether s is one host: a name or an address. A pattern such as * would name every host, and what
// Chromium's switch takes for syntax (a comma, a space, a tilde) would make more rules of one.
func isHost(s string) bool {
	if net.ParseIP(s) != nil {
		return true
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-._", r)
	})
}

func isPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n > 0 && n < 1<<16 && strconv.Itoa(n) == s
}
