package main

import (
	"slices"
	"testing"
)

func TestAllowKeepsTheBrowserToTheCompanysOwnHostsAndThose(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want []string
	}{
		"without it": {[]string{"--company", "https://shop.example"}, nil},
		"two":        {[]string{"--company", "https://shop.example", "--allow", "cdn.example", "--allow", "*.pay.example"}, []string{"shop.example", "*.shop.example", "cdn.example", "*.pay.example"}},
	} {
		o := runFlags()
		if err := o.Parse(tc.args); err != nil || !slices.Equal(o.allowed(), tc.want) {
			t.Errorf("%s: %q, %v; want %q", name, o.allowed(), err, tc.want)
		}
	}
}
