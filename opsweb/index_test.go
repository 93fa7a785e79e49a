package opsweb

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/ledger"
)

// anyLine is a line of any kind and outcome, whether it has a place where its round stands or not.
func anyLine(chance *rand.Rand) ledger.Entry {
	one := func(list ...string) string { return list[chance.IntN(len(list))] }
	e := ledger.Entry{Round: fmt.Sprint("r", chance.IntN(12))}
	var kinds []string
	for _, a := range arrows {
		kinds = append(kinds, a.line)
	}
	op := one("op-1", "op-2", "op-10", `op "3"`)
	switch e.Kind = one(append(kinds, "sighting", "settled", "settled", "sending", "operation")...); e.Kind {
	case "sighting":
		e.Data = Sighting{Accepted: true, Company: "a.test", Ref: "ref"}
		if chance.IntN(3) == 0 {
			e.Round = ""
		}
	case "operation":
		e.Data = Operation{Company: "a.test", ID: op, Revision: one("v1", "v2")}
	case lineYes:
		e.Data = Answer{Approved: chance.IntN(3) > 0}
	case "sending":
		e.Data = Sent{Issuer: "https://a.test", OperationID: op, Revision: "v1"}
	case "approved-before":
		e.Data = ApprovedBefore{Earlier: "r0", Sent: Sent{Issuer: "https://a.test", OperationID: op, Revision: "v1"}}
	case "settled":
		e.Data = SettledAs{Outcome: Outcome(one(string(Performed), string(Unknown), string(Refused))), Verdict: Outcome(one("", string(Declined)))}
	}
	return e
}

// The index tells of a ledger what the whole of it tells: the rounds of an operation, those that a run took over, and
// those that are open or may have an approval at the Company.
func TestTheIndexTellsWhatTheWholeHistoryTells(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ledger")
	chance := rand.New(rand.NewPCG(3, 4))
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: dir, Owner: "run_1", Index: Index(), MaxFile: 20_000, Coarse: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	settled := 0
	for step := range 400 {
		if _, err := l.Append(t.Context(), anyLine(chance)); err != nil {
			t.Fatal(err)
		}
		if step%20 > 0 {
			continue
		}
		records, _, err := ledger.Read(filepath.Join(dir, ledger.FileName))
		if err != nil {
			t.Fatal(err)
		}
		all := History(records)
		approved := make(map[string][]string)
		var unended []string
		for _, p := range all {
			if !p.State.final() || p.State == Settled && p.Outcome == Unknown || p.Approval() != nil {
				unended = append(unended, p.ID)
			}
			if p.State == Settled && p.Outcome == Performed {
				settled++
			}
			for _, rec := range p.Records {
				var s Sent
				if (rec.Kind == "sending" || rec.Kind == "approved-before") && json.Unmarshal(rec.Data, &s) == nil && !slices.Contains(approved[s.OperationID], p.ID) {
					approved[s.OperationID] = append(approved[s.OperationID], p.ID)
				}
			}
		}
		same := func(what string, want []string, got []Past) {
			t.Helper()
			var names []string
			for _, p := range got {
				names = append(names, p.ID)
				i := slices.IndexFunc(all, func(other Past) bool { return other.ID == p.ID })
				if i < 0 || len(all[i].Records) != len(p.Records) || all[i].State != p.State || all[i].Outcome != p.Outcome || (all[i].Approval() == nil) != (p.Approval() == nil) {
					t.Errorf("step %d, %s: round %s is told in another way", step, what, p.ID)
				}
			}
			if !slices.Equal(want, names) {
				t.Fatalf("step %d, %s: %v, want %v", step, what, names, want)
			}
		}
		if err := ledger.Look(filepath.Join(dir, ledger.FileName), Index(), func(v ledger.View) error {
			for _, op := range []string{"op-1", "op-2", "op-10", `op "3"`, "op-none"} {
				got, err := roundsOf(v, op)
				if err != nil {
					return err
				}
				same("operation "+op, approved[op], got)
			}
			taken, err := v.Rounds(takenKey("run_1"))
			if err != nil {
				return err
			}
			var over []string
			for _, p := range all {
				if slices.ContainsFunc(p.Records, func(rec ledger.Record) bool { return rec.Kind == "resumed" }) {
					over = append(over, p.ID)
				}
			}
			same("taken over", over, History(taken))
			records, err := v.Unended()
			same("unended", unended, History(records))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if settled == 0 {
		t.Error("no round ended")
	}
}
