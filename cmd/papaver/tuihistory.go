package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/operation"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/tui"
)

// tuiHistory reads the home's ledger for the screen of past operations.
type tuiHistory struct{ h home.Home }

// Receipts implements tui.History.
func (t tuiHistory) Receipts(context.Context) ([]tui.Receipt, error) {
	path := filepath.Join(t.h.Ledger(), ledger.FileName)
	var digest opsweb.Digest
	read := make(map[string]*tui.Receipt)
	_, err := ledger.Scan(path, func(rec ledger.Record) error {
		if digest.Sees(rec) == nil {
			return nil
		}
		r, known := read[rec.Round]
		if !known {
			r = &tui.Receipt{Began: rec.Time, FirstLine: rec.Seq}
			read[rec.Round] = r
		}
		takeLine(r, rec)
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, &trouble.Error{What: "the ledger can't be trusted", Err: err, Undone: "no past operation is shown",
			Next: "run papaver ledger verify; keep the file as it is"}
	}
	var out []tui.Receipt
	for p := range digest.Rounds() {
		out = append(out, receipt(p, *read[p.ID]))
	}
	return out, nil
}

// receipt completes what a round's lines say by how it stands after them.
func receipt(p *opsweb.Past, r tui.Receipt) tui.Receipt {
	r.Round, r.Domain, r.OperationID, r.Revision, r.Summary = p.ID, p.Company, p.OpID, p.Revision, p.Summary
	r.TermsHash, r.Outcome = p.TermsHash, string(p.Outcome)
	if p.State != opsweb.Settled {
		r.Stands, r.Next = string(p.State), p.Restart()
	}
	return r
}

// takeLine takes a round's next line in.
func takeLine(r *tui.Receipt, rec ledger.Record) {
	r.Last, r.LastLine = rec.Time, rec.Seq
	r.Lines = append(r.Lines, tui.ReceiptLine{At: rec.Time, Kind: rec.Kind})
	line := &r.Lines[len(r.Lines)-1]
	switch rec.Kind {
	case "sighting":
		var s opsweb.Sighting
		if json.Unmarshal(rec.Data, &s) == nil && s.Act != nil {
			r.Act = s.Act.Words
		}
	case "operation":
		var o opsweb.Operation
		if json.Unmarshal(rec.Data, &o) == nil {
			r.Terms, _ = operation.ParseTerms(o.Terms) // terms that can't be read were not approved
		}
	case "answer", "refusal":
		var a opsweb.Answer
		if json.Unmarshal(rec.Data, &a) == nil && a.DecidedAt != (tui.Receipt{}).Decided {
			r.Decided, r.Approved, r.ByUser = a.DecidedAt, a.Approved, a.Approver == operation.ByUser
		}
	case "settled":
		var s opsweb.SettledAs
		if json.Unmarshal(rec.Data, &s) == nil {
			line.Why = s.Why
		}
	}
}
