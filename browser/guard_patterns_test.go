package browser

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// TestEveryAddressThatIsNotPublicIsGuarded checks the two halves of the guard against each other: what must not be
// reached is paused, and what is paused is judged.
func TestEveryAddressThatIsNotPublicIsGuarded(t *testing.T) {
	t.Parallel()
	b := &Browser{cfg: Config{Private: func(host string) bool { return host == "10.9.9.9" || host == "named.localhost" }}}
	paused := func(address string) bool {
		return slices.ContainsFunc(guarded(), func(pattern string) bool {
			// path.Match stops at a slash, where Chromium's does not; a bracket is itself in Chromium's.
			glob := strings.ReplaceAll(strings.ReplaceAll(pattern, "/", "|"), "[", `\[`)
			ok, err := path.Match(glob, strings.ReplaceAll(address, "/", "|"))
			return ok && err == nil
		})
	}
	for host, local := range map[string]bool{
		"0.0.0.0": true, "10.1.2.3": true, "100.64.0.1": true, "127.0.0.1": true, "127.255.255.254": true, "169.254.169.254": true, "172.16.0.1": true,
		"172.31.255.255": true, "192.0.0.1": true, "192.168.1.1": true, "198.18.0.1": true, "224.0.0.1": true, "240.0.0.1": true, "255.255.255.255": true,
		"[::]": true, "[::1]": true, "[::ffff:127.0.0.1]": true, "[::ffff:7f00:1]": true, "[::7f00:1]": true, "[fc00::1]": true, "[fd12:3456::1]": true,
		"[fe80::1]": true, "[ff02::1]": true, "[64:ff9b::7f00:1]": true, "localhost": true, "a.localhost": true, "localhost.": true, "a.b.localhost": true,
		"127.0.0.1.": true, "10.9.9.9": false, "named.localhost": false, "8.8.8.8": false, "172.32.0.1": false, "[2606:4700:4700::1111]": false,
		"shop.test": false, "1und1.test": false, "localhost.shop.test": false, "mylocalhost": false,
	} {
		for _, before := range []string{"", "u@", "u:p@", ":@"} {
			for _, after := range []string{"/", ":8080/", ":8080/a?b=c@d"} {
				address := "https://" + before + host + after
				if local && !paused(address) {
					t.Errorf("%s leaves unpaused", address)
				}
				if reaches := b.mayReach(address); reaches == local {
					t.Errorf("%s: may be reached %v", address, reaches)
				}
			}
		}
	}
	for _, broken := range []string{"http://[::1", "http://%zz/", "://"} {
		if b.mayReach(broken) {
			t.Errorf("%s may be reached", broken)
		}
	}
}
