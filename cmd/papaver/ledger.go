package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/opsweb"
)

func runLedger(_ context.Context, e env, args []string) error {
	f := newFlags("ledger")
	head := f.String("head", "", "with verify: the `HASH` that an earlier verify printed as the head; whether it is still in the chain")
	words, err := f.parse(e, args, 1, 2)
	if err != nil {
		return err
	}
	if (words[0] == "show") != (len(words) == 2) {
		return usagef("it is written papaver ledger list, show ID, verify or export")
	}
	if *head != "" && words[0] != "verify" {
		return usagef("--head goes with papaver ledger verify")
	}
	dir, err := f.homeDir(e)
	if err != nil {
		return err
	}
	h, err := home.Open(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(h.Ledger(), ledger.FileName)
	switch words[0] {
	case "list":
		return listRounds(e, f, path)
	case "show":
		return showRound(e, f, path, words[1])
	case "verify":
		return verify(e, f, h, path, *head)
	case "export":
		return export(e, path)
	default:
		return usagef("papaver ledger has list, show, verify and export, not %q", words[0])
	}
}

// scanned is ledger.Scan, and its trouble for people; a ledger that is not there has no records: nothing has happened yet.
func scanned(path string, each func(ledger.Record) error) error {
	report, err := ledger.Scan(path, each)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return mistrust(path, report, err)
}

// export writes all records, once it is certain that they are whole.
func export(e env, path string) error {
	if err := scanned(path, func(ledger.Record) error { return nil }); err != nil {
		return err
	}
	out := lines{w: e.stdout}
	if err := scanned(path, func(r ledger.Record) error { out.write(r); return out.failed() }); out.failed() == nil {
		return err
	}
	return out.failed()
}

// mistrust says of a ledger that can't be read whole what to do.
func mistrust(path string, report ledger.Report, err error) error {
	t := &trouble.Error{What: "the ledger " + path + " can't be trusted", Err: err,
		Done: fmt.Sprintf("%d records before that were read and are intact", report.Records), Undone: "nothing was changed",
		Next: "keep the file as it is, and put a good copy back"}
	if errors.Is(err, ledger.ErrVersion) {
		t.What, t.Next = "the ledger "+path+" was written by a newer papaver", "use that one, or a newer one, with this home"
	}
	return t
}

// listedRound is a round in `ledger list --json`.
type listedRound struct {
	Round   string         `json:"round"`
	Began   time.Time      `json:"began"`
	Company string         `json:"company"`
	OpID    string         `json:"operation_id,omitempty"`
	State   opsweb.State   `json:"state"`
	Outcome opsweb.Outcome `json:"outcome,omitempty"`
	Restart string         `json:"restart,omitempty"` // what a later process may do with it
}

func listRounds(e env, f *flags, path string) error {
	var digest opsweb.Digest
	var locks []ledger.Record
	if err := scanned(path, func(r ledger.Record) error {
		if digest.Sees(r) == nil && lockLines[r.Kind] != "" {
			locks = append(locks, r)
		}
		return nil
	}); err != nil {
		return err
	}
	if !f.json {
		listLocks(e, locks)
	}
	out, met := lines{w: e.stdout}, false
	for p := range digest.Rounds() {
		met = true
		item := listedRound{Round: p.ID, Began: p.Met, Company: p.Company, OpID: p.OpID, State: p.State, Outcome: p.Outcome}
		if p.State != opsweb.Settled {
			item.Restart = p.Restart()
		}
		if f.json {
			out.write(item)
			continue
		}
		stands := string(p.Outcome)
		if stands == "" {
			stands = "open: " + string(p.State)
		}
		fmt.Fprintf(e.stdout, "%s  %s  %s  %s  %s\n", p.ID, item.Began.Local().Format(time.DateTime),
			plaintext.Domain(p.Company), stands, plaintext.Line(p.Summary, 60))
	}
	if !met && !f.json {
		fmt.Fprintln(e.stderr, "papaver: no operation has been met yet")
	}
	return out.failed()
}

var lockLines = map[string]string{lock.KindSet: "the lock was set", lock.KindChanged: "the lock got another passphrase", lock.KindRemoved: "the lock was removed"}

// listLocks says when the home's lock was set, changed and removed.
func listLocks(e env, records []ledger.Record) {
	for _, r := range records {
		var note lock.Note
		what := lockLines[r.Kind]
		if json.Unmarshal(r.Data, &note) != nil || note.Check(r.Kind) != nil {
			what += ", by somebody who could not open it"
		}
		fmt.Fprintf(e.stdout, "record %d  %s  %s\n", r.Seq, r.Time.Local().Format(time.DateTime), what)
	}
}

func showRound(e env, f *flags, path, id string) error {
	var records []ledger.Record
	if err := scanned(path, func(r ledger.Record) error {
		if r.Round == id {
			records = append(records, r)
		}
		return nil
	}); err != nil {
		return err
	}
	for _, p := range opsweb.History(records) {
		out := lines{w: e.stdout}
		for _, r := range p.Records {
			if f.json {
				out.write(r)
				continue
			}
			fmt.Fprintf(e.stdout, "%6d  %s  %-16s %s\n", r.Seq, r.Time.Local().Format(time.DateTime), r.Kind, plaintext.Whole(string(r.Data)))
		}
		if !f.json {
			if p.State == opsweb.Settled {
				fmt.Fprintf(e.stdout, "it was settled: %s\n", p.Outcome)
			} else {
				fmt.Fprintf(e.stdout, "it is open (%s); a later run may: %s\n", p.State, p.Restart())
			}
		}
		return out.failed()
	}
	return fmt.Errorf("the ledger has no operation %q; papaver ledger list shows them", id)
}
