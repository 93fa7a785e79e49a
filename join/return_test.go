package join_test

import (
	"errors"
	"testing"

	"github.com/papaver-agent/papaver/join"
)

// Clauses: S01-5.10, S01-5.11
func TestOnlyAPageOfTheCompanysIsReturnedTo(t *testing.T) {
	t.Parallel()
	for returnTo, allowed := range map[string]bool{
		"https://shop.example/orders?x=1":         true,
		"https://www.shop.example/orders":         true,
		"http://shop.example/":                    false,
		"https://notshop.example/":                false,
		"https://shop.example.evil.test/":         false,
		"https://shop.example@evil.test/":         false,
		"//shop.example/":                         false,
		"/orders":                                 false,
		"javascript:location='https://shop.test'": false,
	} {
		c := shop()
		f := &form{cookies: lax, answers: []answer{landed}}
		_, err := join.Join(t.Context(), f, c, newSession(t, c), returnTo)
		if allowed {
			if err != nil || claims(t, f.assertion(t, 0))["return_to"] != returnTo {
				t.Errorf("%s: %v", returnTo, err)
			}
		} else if !errors.Is(err, join.ErrReturnTo) || len(f.actions) != 0 {
			t.Errorf("%s: err = %v after %d tries", returnTo, err, len(f.actions))
		}
	}
}
