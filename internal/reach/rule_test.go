package reach_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/internal/reach"
)

func TestParseRule(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]reach.Rule{
		"shop.test:443:127.0.0.1:8443":     {Host: "shop.test", Port: "443", To: "127.0.0.1:8443"},
		"Shop.TEST:443:localhost:1":        {Host: "shop.test", Port: "443", To: "localhost:1"},
		"shop.test:443:[::1]:8443":         {Host: "shop.test", Port: "443", To: "[::1]:8443"},
		"[2001:DB8::1]:443:10.0.0.1:65535": {Host: "2001:db8::1", Port: "443", To: "10.0.0.1:65535"},
		"my_shop-1.test:1:a.b:2":           {Host: "my_shop-1.test", Port: "1", To: "a.b:2"},
	} {
		if got, err := reach.ParseRule(in); err != nil || got != want {
			t.Errorf("%q = %+v, %v; want %+v", in, got, err, want)
		}
	}
	for name, in := range map[string]string{
		"nothing":                   "",
		"one part":                  "shop.test",
		"two parts":                 "shop.test:443",
		"three parts":               "shop.test:443:127.0.0.1",
		"five parts":                "shop.test:443:127.0.0.1:8443:1",
		"no host":                   ":443:127.0.0.1:8443",
		"no port":                   "shop.test::127.0.0.1:8443",
		"no address":                "shop.test:443::8443",
		"no second port":            "shop.test:443:127.0.0.1:",
		"all empty":                 ":::",
		"port 0":                    "shop.test:0:127.0.0.1:8443",
		"second port 0":             "shop.test:443:127.0.0.1:0",
		"port 65536":                "shop.test:65536:127.0.0.1:8443",
		"port +443":                 "shop.test:+443:127.0.0.1:8443",
		"port 0443":                 "shop.test:0443:127.0.0.1:8443",
		"a port by name":            "shop.test:https:127.0.0.1:8443",
		"IPv6 without brackets":     "::1:443:127.0.0.1:8443",
		"IPv6 address without them": "shop.test:443:::1:8443",
		"a bracket that is open":    "[::1:443:127.0.0.1:8443",
		"a name in brackets":        "[shop.test]:443:127.0.0.1:8443",
		"every host":                "*:443:127.0.0.1:8443",
		"every host below one":      "*.test:443:127.0.0.1:8443",
		"two rules in one host":     "a.test:443 127.0.0.1:1, MAP *:443:127.0.0.1:8443",
		"two rules in the address":  "shop.test:443:127.0.0.1 , MAP * x:8443",
		"a word of Chromium's":      "shop.test:443:~NOTFOUND:8443",
		"an escape":                 "shop\x1b[2J.test:443:127.0.0.1:8443",
	} {
		got, err := reach.ParseRule(in)
		if err == nil {
			t.Errorf("%s: %q = %+v", name, in, got)
			continue
		}
		if !strings.Contains(err.Error(), "--connect-to") || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%s: error %q", name, err)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"shop.test:443:127.0.0.1:8443", "[::1]:1:[::1]:2", ":::", "[", "a:1:b:", "*:1:b:2", "a:1:b, MAP * c:2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rule, err := reach.ParseRule(s)
		if err != nil {
			return
		}
		if rule.Host == "" || strings.ContainsAny(rule.Host+rule.To, "*, ~\t\n") {
			t.Fatalf("%q = %+v", s, rule)
		}
	})
}

func TestOnlyAddressesOfPublicHostsArePublic(t *testing.T) {
	t.Parallel()
	for want, list := range map[bool][]string{
		true: {"1.1.1.1", "93.184.216.34", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"},
		false: {
			"127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
			"169.254.169.254", "100.64.0.1", "100.127.255.255", "192.0.0.8", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
			"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "fe80::1", "fe80::1%lo", "fec0::1", "fec0::1%lo", "fc00::1", "fd12::1", "ff02::1",
			"64:ff9b::10.0.0.1", "64:ff9b:1::1", "2002:7f00:1::",
		},
	} {
		for _, s := range list {
			if got := reach.Public(netip.MustParseAddr(s)); got != want {
				t.Errorf("Public(%s) = %v", s, got)
			}
		}
	}
}
