package main

import (
	"errors"
	"fmt"

	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
)

// verified is the line of `ledger verify --json`. Line and Why are of the first bad line; Records and Head of what stands
// before it.
type verified struct {
	Intact  bool   `json:"intact"`
	Records uint64 `json:"records"`
	Head    string `json:"head"`
	Files   int    `json:"files"`
	Torn    bool   `json:"torn"`
	Line    int    `json:"line,omitempty"`
	Why     string `json:"why,omitempty"`

	// Of --head: whether it is in the chain, and how many records were added since.
	Remembered *bool   `json:"remembered,omitempty"`
	Since      *uint64 `json:"since,omitempty"`

	Odd []opsweb.Oddity `json:"odd,omitempty"`
}

func verifiedAs(r ledger.Report, err error) verified {
	v := verified{Intact: err == nil, Records: r.Records, Head: r.Head, Files: r.Files, Torn: r.Torn}
	if err != nil {
		v.Why = err.Error()
	}
	if damage, ok := errors.AsType[*ledger.DamageError](err); ok {
		v.Line, v.Why = damage.Line, damage.Reason
	}
	return v
}

// verify says what the chain, a head that somebody remembered, and the rounds' own table say of a ledger that was read whole.
func verify(e env, f *flags, path string, records []ledger.Record, r ledger.Report, head string) error {
	v := verifiedAs(r, nil)
	v.Odd = opsweb.Audit(records)
	if head != "" {
		after, found := ledger.Place(records, r, head)
		v.Remembered = &found
		if found {
			since := r.Records - after
			v.Since = &since
		}
	}
	if f.json {
		out := lines{w: e.stdout}
		out.write(v)
		if err := out.failed(); err != nil {
			return err
		}
	} else {
		v.say(e)
	}
	if v.Remembered != nil && !*v.Remembered {
		return &trouble.Error{What: "the head " + head + " is not in the ledger " + path, Done: fmt.Sprintf("its %d records were read and are a whole chain", r.Records), Undone: "nothing was changed",
			Next: "when the hash was copied right, the ledger's end was cut off or another ledger put in its place: put back the one that had this head"}
	}
	if len(v.Odd) > 0 {
		return &trouble.Error{What: fmt.Sprintf("%d lines of the ledger %s are none that papaver writes where they stand", len(v.Odd), path), Done: "the chain itself is whole", Undone: "nothing was changed",
			Next: "look at their rounds with papaver ledger show; when nobody but papaver wrote this file, report it"}
	}
	return nil
}

func (v verified) say(e env) {
	files := ""
	if v.Files > 1 {
		files = fmt.Sprintf(" in %d files", v.Files)
	}
	fmt.Fprintf(e.stdout, "intact: %d records%s, head %s\n", v.Records, files, v.Head)
	if v.Torn {
		fmt.Fprintln(e.stdout, "the last line is unfinished: its writer died, and nothing was done because of it; the next run cuts it off")
	}
	if v.Since != nil {
		if *v.Since == 0 {
			fmt.Fprintln(e.stdout, "the remembered head is its last line: nothing was added and nothing cut off")
		} else {
			fmt.Fprintf(e.stdout, "the remembered head is in it: nothing before it was changed or cut off, and %d records were added since\n", *v.Since)
		}
	}
	for _, o := range v.Odd {
		fmt.Fprintf(e.stdout, "odd: record %d, round %s: %s\n", o.Record, o.Round, plaintext.Line(o.What, 300))
	}
}
