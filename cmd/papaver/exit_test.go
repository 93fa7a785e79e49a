package main

import (
	"errors"
	"testing"

	"github.com/papaver-agent/papaver/opsweb"
)

// With several operations the first of 5, 1, 4, 3 and 0 that applies is the exit status.
func TestTheWeightiestOutcomeIsTheExitStatus(t *testing.T) {
	broken := errors.New("a step was not finished")
	for name, tc := range map[string]struct {
		outcomes []opsweb.Outcome
		err      error
		want     ending
	}{
		"no operation":                 {nil, nil, ending{0, "done"}},
		"performed":                    {[]opsweb.Outcome{opsweb.Performed}, nil, ending{0, "performed"}},
		"refused":                      {[]opsweb.Outcome{opsweb.Performed, opsweb.Refused}, nil, ending{3, "refused"}},
		"declined":                     {[]opsweb.Outcome{opsweb.Declined, opsweb.Performed}, nil, ending{3, "declined"}},
		"expired outweighs refused":    {[]opsweb.Outcome{opsweb.Refused, opsweb.Expired}, nil, ending{4, "expired"}},
		"failed outweighs expired":     {[]opsweb.Outcome{opsweb.Expired, opsweb.Failed}, nil, ending{1, "error"}},
		"unknown outweighs all":        {[]opsweb.Outcome{opsweb.Failed, opsweb.Unknown, opsweb.Refused}, nil, ending{5, "unknown"}},
		"an error outweighs expired":   {[]opsweb.Outcome{opsweb.Expired}, broken, ending{1, "error"}},
		"an error outweighs performed": {[]opsweb.Outcome{opsweb.Performed}, broken, ending{1, "error"}},
		"unknown outweighs an error":   {[]opsweb.Outcome{opsweb.Unknown}, broken, ending{5, "unknown"}},
	} {
		if got := endingOf(tc.outcomes, tc.err); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
