package browser

import (
	"strings"
	"testing"
)

func TestOnlyAHostOrTheHostsBelowOneAreAllowed(t *testing.T) {
	t.Parallel()
	for pattern, fine := range map[string]bool{
		"shop.example": true, "*.shop.example": true, "localhost": true, "10.1.2.3": true, "xn--bcher-kva.example": true, "a_b.example": true,
		"": false, "*": false, "*.": false, "*.*": false, "*.example": false, "*.10.1.2.3": false, "shop.*": false, "a*.example": false, "**.shop.example": false,
		"Shop.example": false, "bücher.example": false, "shop.example:443": false, "https://shop.example": false, "shop.example/": false, "[::1]": false,
		"::1": false, "shop.example.": false, ".shop.example": false, "shop..example": false, "a b": false, "a,b": false, "a, MAP * 1.2.3.4": false, "~NOTFOUND": false,
	} {
		if err := CheckAllowed(pattern); (err == nil) != fine {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

func TestAHostIsAllowedByItsNameAndNotByAnotherThatLooksLikeIt(t *testing.T) {
	t.Parallel()
	allowed := []string{"shop.example", "*.cdn.example", "10.1.2.3"}
	for host, want := range map[string]bool{
		"shop.example": true, "SHOP.example": true, "a.cdn.example": true, "a.b.cdn.example": true, "10.1.2.3": true,
		"a.shop.example": false, "cdn.example": false, "evilcdn.example": false, "shop.example.evil": false, "shop.example.": false, "10.1.2.30": false, "": false,
	} {
		if Allows(allowed, host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
	if !Allows(nil, "anything") {
		t.Error("an empty list keeps something off")
	}
}

func TestTheResolverKnowsTheAllowedHostsAlone(t *testing.T) {
	t.Parallel()
	named := "MAP shop.test:443 127.0.0.1:8443, MAP [::1]:443 127.0.0.1:8443, MAP auth.shop.test:443 [::1]:8443, MAP other.test:443 127.0.0.1:8443"
	for name, tc := range map[string]struct {
		named   string
		allowed []string
		want    string
	}{
		"off":                        {named, nil, named},
		"off, without named hosts":   {"", nil, ""},
		"a host":                     {"", []string{"a.example"}, "MAP a.example a.example, MAP * ~NOTFOUND"},
		"hosts below one":            {"", []string{"*.a.example"}, "EXCLUDE *.a.example, MAP * ~NOTFOUND"},
		"a named host":               {named, []string{"shop.test"}, "MAP shop.test:443 127.0.0.1:8443, MAP shop.test shop.test, MAP * ~NOTFOUND"},
		"a named host below another": {named, []string{"*.shop.test"}, "MAP auth.shop.test:443 [::1]:8443, MAP * ~NOTFOUND"},
		"others than the named":      {named, []string{"b.example", "*.c.example"}, "MAP b.example b.example, EXCLUDE *.c.example, MAP * ~NOTFOUND"},
	} {
		if got := resolverRules(tc.named, tc.allowed); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func FuzzAllowedHostsMakeNoRuleOfTheirOwn(f *testing.F) {
	for _, seed := range []string{"shop.example", "*.shop.example", "a, MAP * 1.2.3.4", "a\x00b", "*", "10.0.0.1", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if CheckAllowed(pattern) != nil {
			return
		}
		rules := strings.Split(resolverRules("", []string{pattern}), ", ")
		if len(rules) != 2 || rules[1] != "MAP * ~NOTFOUND" || strings.ContainsAny(pattern, " ,~:[]/\\") {
			t.Errorf("%q makes %q", pattern, rules)
		}
	})
}
