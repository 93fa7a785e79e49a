package operation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/operation"
)

func TestWhatIsReadInAValueStandsBesideIt(t *testing.T) {
	days := func(all ...string) (out []time.Time) {
		for _, s := range all {
			at, err := time.Parse(time.DateOnly, s)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, at)
		}
		return out
	}
	for terms, want := range map[string][]operation.Reading{
		`{"amount":"70.00","currency":"USD"}`:                            {{Amount: "70.00", Currency: "USD"}, {}},
		`{"currency":"eur","total":-7.5}`:                                {{}, {Amount: "-7.5", Currency: "EUR"}},
		`{"price":{"amount":"70.00","currency":"USD"}}`:                  {{}, {Amount: "70.00", Currency: "USD"}, {}},
		`{"currency":"USD","lines":[{"price":"1"},{"price":"2.00"}]}`:    {{}, {}, {}, {Amount: "1", Currency: "USD"}, {}, {Amount: "2.00", Currency: "USD"}},
		`{"amount_cents":7000,"currency":"USD"}`:                         {{Amount: "70", Currency: "USD"}, {}},
		`{"amount":"70.00"}`:                                             {{}},
		`{"amount":"1,000","currency":"USD"}`:                            {{}, {}},
		`{"quantity":2,"payment_id":"99","currency":"USD"}`:              {{}, {}, {}},
		`{"amount":"70.00","currency":"$"}`:                              {{}, {}},
		`{"at":"2026-10-08T23:30:00-07:00"}`:                             {{Moment: time.Date(2026, 10, 9, 6, 30, 0, 0, time.UTC)}},
		`{"on":"2026-10-08"}`:                                            {{Days: days("2026-10-08")}},
		`{"on":"10/8/2026"}`:                                             {{Days: days("2026-10-08", "2026-08-10")}},
		`{"on":"8.10.2026"}`:                                             {{Days: days("2026-10-08")}},
		`{"on":"2026-02-30"}`:                                            {{}},
		`{"on":"October 8"}`:                                             {{}},
		`{"on":"after 2026-10-08"}`:                                      {{}},
		`{"on":20261008,"x":null,"y":true}`:                              {{}, {}, {}},
		`{"amount":"` + strings.Repeat("7", 100) + `","currency":"USD"}`: {{}, {}},
	} {
		parsed, err := operation.ParseTerms([]byte(terms))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, parsed.Readings()); diff != "" {
			t.Errorf("%s: %s", terms, diff)
		}
	}
}
