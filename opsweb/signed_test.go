package opsweb

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/operation"
)

func newLock(t *testing.T) *lock.Key {
	t.Helper()
	k, err := lock.Make(filepath.Join(t.TempDir(), "answers"), secret.New("alpine start 4am"), 2, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// From the ledger's file alone: an answer that somebody without the passphrase wrote is found, and so is the end of the lock
// that they wrote before it.
func TestAnAnswerWithoutItsSignatureIsFoundInTheLedger(t *testing.T) {
	t.Parallel()
	k, stranger := newLock(t), newLock(t)
	line := func(kind string, data any) ledger.Record {
		raw, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		return ledger.Record{Kind: kind, Round: "r", Data: raw}
	}
	note := func(k *lock.Key, kind, says string) ledger.Record {
		n, err := k.Note(says)
		if err != nil {
			t.Fatal(err)
		}
		return line(kind, n)
	}
	shown := approval.Shown{Request: "q_1", OperationID: "exc_1", Revision: "v1", TermsHash: "abc"}
	answer := func(k *lock.Key, change func(*Answer)) ledger.Record {
		a := Answer{Request: shown.Request, Approver: operation.ByUser, Approved: true, State: approval.Approved, Shown: shown}
		if k != nil {
			a.Signed = &lock.Statement{Request: "q_1", Kind: string(approval.KindApproval), Company: "shop.example", Operation: "exc_1", Revision: "v1", TermsHash: "abc", Approved: true}
			var err error
			if a.Signature, err = k.Sign(*a.Signed); err != nil {
				t.Fatal(err)
			}
		}
		kind := lineYes
		if change != nil {
			change(&a)
		}
		if !a.Approved {
			kind = lineNo
		}
		return line(kind, a)
	}
	set, removed := note(k, lock.KindSet, lock.KindSet), note(k, lock.KindRemoved, lock.KindRemoved)
	byAgent := func(a *Answer) { a.Approver = operation.ByAgent }
	for name, tc := range map[string]struct {
		records []ledger.Record
		wrong   int // the record that is found, counted from 1
	}{
		"no lock":                        {[]ledger.Record{answer(nil, nil)}, 0},
		"signed":                         {[]ledger.Record{answer(nil, nil), set, answer(k, nil), note(k, lock.KindChanged, lock.KindChanged), answer(k, nil)}, 0},
		"removed by who could":           {[]ledger.Record{set, removed, answer(nil, nil), note(stranger, lock.KindSet, lock.KindSet), answer(stranger, nil)}, 0},
		"a refusal nobody was asked for": {[]ledger.Record{set, answer(nil, func(a *Answer) { byAgent(a); a.Approved = false })}, 0},
		"unsigned":                       {[]ledger.Record{set, answer(k, nil), answer(nil, nil)}, 3},
		"an unsigned no":                 {[]ledger.Record{set, answer(nil, func(a *Answer) { a.Approved = false })}, 2},
		"a yes of nobody":                {[]ledger.Record{set, answer(k, byAgent)}, 2},
		"signed by another lock":         {[]ledger.Record{set, answer(stranger, nil)}, 2},
		"other terms than were signed":   {[]ledger.Record{set, answer(k, func(a *Answer) { a.Shown.TermsHash = "abd" })}, 2},
		"a no made a yes":                {[]ledger.Record{set, answer(k, func(a *Answer) { a.Signed.Approved = false })}, 2},
		"an approval for a rerun's":      {[]ledger.Record{set, answer(k, func(a *Answer) { a.Signed.Kind = string(approval.KindRerun) })}, 2},
		"removed by who could not":       {[]ledger.Record{set, note(k, lock.KindRemoved, lock.KindSet), answer(nil, nil)}, 2},
		"replaced by who could not":      {[]ledger.Record{set, note(stranger, lock.KindSet, lock.KindSet), answer(stranger, nil)}, 2},
		"removed with another key":       {[]ledger.Record{set, note(stranger, lock.KindRemoved, lock.KindRemoved)}, 2},
		"a line that is no note":         {[]ledger.Record{line(lock.KindSet, map[string]any{"key": 7})}, 1},
	} {
		for i := range tc.records {
			tc.records[i].Seq = uint64(i + 1)
		}
		var check AnswerCheck
		for _, rec := range tc.records {
			check.Sees(rec)
		}
		_, err := check.Found()
		unsigned, found := errors.AsType[*UnsignedError](err)
		if found != (tc.wrong > 0) || found && (int(unsigned.Seq) != tc.wrong || !errors.Is(err, lock.ErrSignature)) {
			t.Errorf("%s: %v, want record %d", name, err, tc.wrong)
		}
	}

	// An approval that was being sent is sent again where its signed yes is on record.
	public := k.Lock()
	sent := Sent{Approver: operation.ByUser, OperationID: "exc_1", Revision: "v1"}
	for name, tc := range map[string]struct {
		past Past
		sent Sent
		want bool
	}{
		"its yes":              {Past{Company: "shop.example", Records: []ledger.Record{answer(k, nil)}}, sent, true},
		"no yes":               {Past{Company: "shop.example"}, sent, false},
		"an unsigned yes":      {Past{Company: "shop.example", Records: []ledger.Record{answer(nil, nil)}}, sent, false},
		"another lock's":       {Past{Company: "shop.example", Records: []ledger.Record{answer(stranger, nil)}}, sent, false},
		"at another Company":   {Past{Company: "other.example", Records: []ledger.Record{answer(k, nil)}}, sent, false},
		"of another revision":  {Past{Company: "shop.example", Records: []ledger.Record{answer(k, nil)}}, Sent{Approver: operation.ByUser, OperationID: "exc_1", Revision: "v2"}, false},
		"of another operation": {Past{Company: "shop.example", Records: []ledger.Record{answer(k, nil)}}, Sent{Approver: operation.ByUser, OperationID: "exc_2", Revision: "v1"}, false},
		"nobody's":             {Past{Company: "shop.example", Records: []ledger.Record{answer(k, nil)}}, Sent{Approver: operation.ByAgent, OperationID: "exc_1", Revision: "v1"}, false},
	} {
		if got := tc.past.signed(public, tc.sent); got != tc.want {
			t.Errorf("%s: signed is %v", name, got)
		}
	}
}
