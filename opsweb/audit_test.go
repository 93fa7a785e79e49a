package opsweb

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/papaver-agent/papaver/ledger"
)

func TestALedgerOfOursHasNothingOdd(t *testing.T) {
	for name, run := range map[string]func(*testing.T) *world{"long": longStory().run, "merged": mergedStory().run, "approved before": approvedBefore, "two runs": sentMeanwhile} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if odd := audit(run(t).disk.records()); len(odd) != 0 {
					t.Errorf("%+v", odd)
				}
			})
		})
	}
}

// What the hashes can't show, since they can be made anew, the table does.
func TestAnAuditNamesEachLineThatHasNoPlace(t *testing.T) {
	var whole []ledger.Record
	synctest.Test(t, func(t *testing.T) { whole = longStory().run(t).disk.records() })
	at := func(kind string) int {
		return slices.IndexFunc(whole, func(r ledger.Record) bool { return r.Kind == kind })
	}
	without := func(kind string) []ledger.Record {
		return slices.Delete(slices.Clone(whole), at(kind), at(kind)+1)
	}
	with := func(kind string, change func(*ledger.Record)) []ledger.Record {
		list := slices.Clone(whole)
		change(&list[at(kind)])
		return list
	}
	in := func(old, new string) func(*ledger.Record) {
		return func(r *ledger.Record) {
			if !bytes.Contains(r.Data, []byte(old)) {
				t.Fatalf("%s is not in %s", old, r.Data)
			}
			r.Data = bytes.ReplaceAll(r.Data, []byte(old), []byte(new))
		}
	}
	for name, tc := range map[string]struct {
		records []ledger.Record
		kind    string // of the first odd line
		says    string
	}{
		"no sighting":             {without("sighting"), "operation", "begins with operation"},
		"no answer":               {without(lineYes), "sending", "sending has no place in state asking"},
		"no sending":              {without("sending"), "sending-again", "sending-again has no place in state answered"},
		"no replaying":            {without("replaying"), "replayed", "replayed has no place in state recorded"},
		"another's line":          {with("sending", func(r *ledger.Record) { r.Owner = "run_9" }), "sending", "written by run run_9"},
		"an answer to others":     {with(lineYes, in(`"revision":"v1"`, `"revision":"v0"`)), lineYes, "it approves other terms"},
		"an approval of others":   {with("sending", in(`"revision":"v1"`, `"revision":"v0"`)), "sending", "an approval leaves of exc_1 revision v0"},
		"other terms, one hash":   {with("operation", in(`"amount":"1.00"`, `"amount":"9.00"`)), "operation", "its terms are not those of its hash"},
		"a no that became a send": {with(lineYes, func(r *ledger.Record) { r.Kind = lineNo }), "sending", "sending has no place in state denied"},
	} {
		t.Run(name, func(t *testing.T) {
			odd := audit(tc.records)
			if len(odd) == 0 {
				t.Fatal("nothing is odd")
			}
			i := slices.IndexFunc(tc.records, func(r ledger.Record) bool { return r.Seq == odd[0].Record })
			if tc.records[i].Kind != tc.kind || !strings.Contains(odd[0].What, tc.says) {
				t.Errorf("%s: %+v", tc.records[i].Kind, odd)
			}
		})
	}
}

// audit is what an Audit of records finds.
func audit(records []ledger.Record) []Oddity {
	var a Audit
	for _, rec := range records {
		a.Sees(rec)
	}
	return a.Odd
}
