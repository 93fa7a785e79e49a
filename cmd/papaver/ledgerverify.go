package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
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

	// Of the home's lock: how many answers carry its signature, the first record that should and does not, and whether
	// the lock that the ledger knows is the home's.
	Signed   int    `json:"signed"`
	Unsigned uint64 `json:"unsigned,omitempty"`
	Lock     string `json:"lock,omitempty"`
	Locked   *bool  `json:"locked,omitempty"`
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
func verify(e env, f *flags, h home.Home, path, head string) error {
	var audit opsweb.Audit
	var answers opsweb.AnswerCheck
	remembered := ledger.Place{Hash: head}
	r, err := ledger.Scan(path, func(rec ledger.Record) error {
		audit.Sees(rec)
		answers.Sees(rec)
		remembered.Sees(rec)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(e.stderr, "papaver: there is no ledger yet")
		err = nil
	}
	if err != nil {
		if f.json {
			out := lines{w: e.stdout}
			out.write(verifiedAs(r, err))
		}
		return mistrust(path, r, err)
	}
	v := verifiedAs(r, nil)
	v.Odd = audit.Odd
	unlocked := v.signatures(h, answers)
	if head != "" {
		remembered.Ends(r)
		v.Remembered = &remembered.Found
		if remembered.Found {
			since := r.Records - remembered.After
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
	if unlocked != nil {
		unlocked.Done, unlocked.Undone = "the chain itself is whole", "nothing was changed"
		return unlocked
	}
	if len(v.Odd) > 0 {
		return &trouble.Error{What: fmt.Sprintf("%d lines of the ledger %s are none that papaver writes where they stand", len(v.Odd), path), Done: "the chain itself is whole", Undone: "nothing was changed",
			Next: "look at their rounds with papaver ledger show; when nobody but papaver wrote this file, report it"}
	}
	return nil
}

// signatures checks the User's answers against the locks that the ledger knows, and the last of these against the home's.
func (v *verified) signatures(h home.Home, answers opsweb.AnswerCheck) *trouble.Error {
	found, err := answers.Found()
	v.Signed, v.Lock = found.Answers, found.Lock
	if unsigned, ok := errors.AsType[*opsweb.UnsignedError](err); ok {
		v.Unsigned = unsigned.Seq
		return &trouble.Error{What: "an answer or a change of the lock in this ledger is not the User's", Err: err,
			Next: "look at the record with papaver ledger export; somebody who does not know the passphrase wrote it"}
	}
	here, err := lock.Load(h.Answers())
	none := errors.Is(err, lock.ErrNone)
	same := err == nil && here.Fingerprint() == found.Lock || none && found.Lock == ""
	v.Locked = &same
	switch {
	case same:
		return nil
	case err != nil && !none:
		return &trouble.Error{What: "this home's lock can't be read", Err: err, Next: "put the file answers/lock.json back from a copy of yours"}
	case none:
		return &trouble.Error{What: "the ledger says that this home has a lock, and the lock is gone", Next: "somebody took it away without the passphrase: put the file answers/lock.json back from a copy of yours"}
	case found.Lock == "":
		return &trouble.Error{What: "this home has a lock of which the ledger knows nothing",
			Next: "run papaver lock set, should it have been interrupted; else the lock or the ledger was put in the place of yours: compare the key with papaver lock status and the head with ledger verify --head"}
	default:
		return &trouble.Error{What: "this home's lock is not the one that the ledger knows", Next: "somebody put another in its place: put the file answers/lock.json back from a copy of yours"}
	}
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
	switch {
	case v.Unsigned != 0:
		fmt.Fprintf(e.stdout, "unsigned: record %d\n", v.Unsigned)
	case v.Lock != "":
		fmt.Fprintf(e.stdout, "locked with the key %s: each answer since is signed with it (%d in all)\n", v.Lock, v.Signed)
	case v.Signed > 0:
		fmt.Fprintf(e.stdout, "no lock any more; the %d answers while there was one are signed with its key\n", v.Signed)
	}
	for _, o := range v.Odd {
		fmt.Fprintf(e.stdout, "odd: record %d, round %s: %s\n", o.Record, o.Round, plaintext.Line(o.What, 300))
	}
}
