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
	records, _, err := ledger.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, &trouble.Error{What: "the ledger can't be trusted", Err: err, Undone: "no past operation is shown",
			Next: "run papaver ledger verify; keep the file as it is"}
	}
	var out []tui.Receipt
	for _, p := range opsweb.History(records) {
		out = append(out, receipt(p))
	}
	return out, nil
}

// receipt is a round as the ledger tells it.
func receipt(p opsweb.Past) tui.Receipt {
	first, last := p.Records[0], p.Records[len(p.Records)-1]
	r := tui.Receipt{
		Round: p.ID, Domain: p.Company, Began: first.Time, Last: last.Time, OperationID: p.OpID, Revision: p.Revision, Summary: p.Summary,
		TermsHash: p.TermsHash, Outcome: string(p.Outcome), FirstLine: first.Seq, LastLine: last.Seq,
	}
	if p.State != opsweb.Settled {
		r.Stands, r.Next = string(p.State), p.Restart()
	}
	for _, rec := range p.Records {
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
	return r
}
