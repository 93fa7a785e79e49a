package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/operation"
	"github.com/papaver-agent/papaver/opsweb"
)

// siege is a run at a locked home that asks, and somebody who has everything of the User's but the passphrase.
type siege struct {
	*bench
	key    *lock.Key // the User's; the attacker has only signatures of it
	other  *lock.Key // the attacker's own, which their passphrase opens
	theirs string
	run    *sitting
}

const theirPassphrase = "not the User's words"

// besieged begins the run, and gives it the passphrase as the User would.
func besieged(t *testing.T) *siege {
	t.Helper()
	s := &siege{bench: atCompany(t), theirs: t.TempDir()}
	s.key = s.locked()
	var err error
	if s.other, err = lock.Make(s.theirs, secret.New(theirPassphrase), quickWork, time.Now(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	s.run = (&resumption{bench: s.bench}).sitTo("", append(s.task(s.flow("exchange.json")), "--json", "--no-tui")...)
	s.run.sees("The passphrase of this home: ")
	s.run.types(passphrase + "\n")
	s.run.event("question", 1)
	return s
}

// sign is a signature; whose key and over what is the row's.
func sign(t *testing.T, k *lock.Key, s lock.Statement) lock.Signature {
	t.Helper()
	sig, err := k.Sign(s)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

// press has a terminal UI of the attacker's own press a key on the question; they type what they have as a passphrase.
func (s *siege) press(t *testing.T, b *bench, typed string, flags ...string) string {
	t.Helper()
	u := b.sit(100, 60, nil, append([]string{"tui"}, flags...)...)
	u.t = t
	seen := ""
	for range 20 { // a screen that was late takes no key
		u.sees("a approve")
		u.types("a")
		if seen = u.sees(`a approve|asks for your passphrase|not signed`); seen != "a approve" {
			break
		}
		u.seen -= len(seen)
	}
	if strings.Contains(seen, "passphrase") {
		u.types(typed + "\r")
		seen = u.sees(`does not open the lock|not signed|You approved`)
	}
	u.types("\x03")
	<-u.ended
	return seen
}

// swap puts data in the place of a file of the home, for as long as the row takes; nil takes the file away.
func (s *siege) swap(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join(s.home, name)
	kept := filepath.Join(s.dir, "kept")
	if err := os.Rename(path, kept); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Rename(kept, path); err != nil {
			t.Error(err)
		}
	})
	if data != nil {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func contents(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// fails runs papaver at a home on a terminal, types each line when it is asked for, and returns what it said at its end.
func fails(t *testing.T, b *bench, lines []string, args ...string) string {
	t.Helper()
	u := b.sit(200, 60, nil, args...)
	u.t = t
	for _, line := range lines {
		u.sees("assphrase of this home: ")
		u.types(line + "\n")
	}
	u.exits(1)
	return plainText(u.screen.String())
}

// A process of the same user with the home's files, the sockets and a terminal, but without the passphrase, gets no answer
// through: each way that is known, and what comes of it. With the passphrase it is one key and one line.
func TestWithoutThePassphraseNothingIsAnswered(t *testing.T) {
	t.Parallel()
	s := besieged(t)
	open := func(t *testing.T) *peer { return s.reach(t) }
	for _, row := range []struct {
		name string
		try  func(t *testing.T) string
		want string // a pattern of what came of it
	}{
		{"a terminal UI of one's own, and a guess", func(t *testing.T) string { return s.press(t, s.bench, "password123") }, "^does not open the lock$"},
		{"the same line by line", func(t *testing.T) string { return s.press(t, s.bench, "password123", "--plain") }, "^does not open the lock$"},
		{"the socket, unsigned yes", func(t *testing.T) string { p := open(t); return p.answers(true, p.request.Shows(), "") }, "^unsigned$"},
		{"the socket, unsigned no", func(t *testing.T) string { p := open(t); return p.answers(false, p.request.Shows(), "") }, "^unsigned$"},
		{"the socket, signed with one's own key", func(t *testing.T) string {
			p := open(t)
			return p.answers(true, p.request.Shows(), sign(t, s.other, p.request.Statement(true)))
		}, "^unsigned$"},
		{"the socket, a no's signature under a yes", func(t *testing.T) string {
			p := open(t)
			return p.answers(true, p.request.Shows(), sign(t, s.key, p.request.Statement(false)))
		}, "^unsigned$"},
		{"the socket, another question's signature", func(t *testing.T) string {
			p := open(t)
			earlier := p.request
			earlier.ID = "q_earlier"
			return p.answers(true, p.request.Shows(), sign(t, s.key, earlier.Statement(true)))
		}, "^unsigned$"},
		{"the socket, another question's signature and its name", func(t *testing.T) string {
			p := open(t)
			earlier := p.request
			earlier.ID = "q_earlier"
			return p.answers(true, earlier.Shows(), sign(t, s.key, earlier.Statement(true)))
		}, "^unknown$"},
		{"the socket, another revision's signature", func(t *testing.T) string {
			p := open(t)
			before := p.request
			before.Question.Operation.Revision = "rev_before"
			return p.answers(true, p.request.Shows(), sign(t, s.key, before.Statement(true)))
		}, "^unsigned$"},
		{"the socket, another revision", func(t *testing.T) string {
			p := open(t)
			before := p.request
			before.Question.Operation.Revision = "rev_before"
			return p.answers(true, before.Shows(), sign(t, s.key, before.Statement(true)))
		}, "^other-terms$"},
		{"the socket, a signature for another Company", func(t *testing.T) string {
			p := open(t)
			elsewhere := p.request
			elsewhere.Question.Company.Domain = "elsewhere.test"
			return p.answers(true, p.request.Shows(), sign(t, s.key, elsewhere.Statement(true)))
		}, "^unsigned$"},
		{"a lock of one's own in the place of the User's, and one's own passphrase", func(t *testing.T) string {
			s.swap(t, "answers/lock.json", contents(t, filepath.Join(s.theirs, "lock.json")))
			return s.press(t, s.bench, theirPassphrase)
		}, "^not signed$"},
		{"the lock taken away", func(t *testing.T) string {
			s.swap(t, "answers/lock.json", nil)
			return s.press(t, s.bench, "")
		}, "^not signed$"},
		{"the public key replaced in the User's lock, for them to open", func(t *testing.T) string {
			c := s.copied()
			swapKeys(t, filepath.Join(c.home, "answers", "lock.json"), filepath.Join(s.theirs, "lock.json"))
			return fails(t, c, []string{passphrase}, append(s.task(s.flow("exchange.json")), "--no-tui")...)
		}, "somebody who doesn't know your passphrase changed this home's lock"},
		{"a copy of the home, its lock taken away", func(t *testing.T) string {
			c := s.copied()
			remove(t, filepath.Join(c.home, "answers", "lock.json"))
			return fails(t, c, nil, append(s.task(s.flow("exchange.json")), "--no-tui")...)
		}, `(?s)sealed|passphrase is needed`},
		{"a copy of the home, and a lock of one's own", func(t *testing.T) string {
			c := s.copied()
			overwrite(t, filepath.Join(c.home, "answers", "lock.json"), contents(t, filepath.Join(s.theirs, "lock.json")))
			return fails(t, c, []string{theirPassphrase}, append(s.task(s.flow("exchange.json")), "--no-tui")...)
		}, `can(no|')t be opened with this lock's key`},
		{"lock set over the lock", func(t *testing.T) string {
			c := s.copied()
			before := contents(t, filepath.Join(c.home, "answers", "lock.json"))
			said := fails(t, c, []string{"guess one", "guess two", "guess three"}, "lock", "set")
			if string(contents(t, filepath.Join(c.home, "answers", "lock.json"))) != string(before) {
				t.Error("the lock was changed")
			}
			return said
		}, "this home's lock was not opened"},
		{"lock set while the run lives", func(t *testing.T) string { return fails(t, s.bench, nil, "lock", "set") }, "tasks of this home are running"},
		{"lock remove", func(t *testing.T) string {
			c := s.copied()
			return fails(t, c, []string{"guess one", "guess two", "guess three"}, "lock", "remove")
		}, "this home's lock was not opened"},
		{"lock set in a copy whose lock was taken away", func(t *testing.T) string {
			c := s.copied()
			remove(t, filepath.Join(c.home, "answers", "lock.json"))
			p := c.start("lock", "status")
			p.exits(1)
			return p.told()
		}, "this home's keys are sealed, and its lock is gone"},
		{"an instruction added, which nothing here takes", func(t *testing.T) string {
			folder := filepath.Join(s.home, "instructions")
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { remove(t, filepath.Join(folder, "all.json")); remove(t, folder) })
			overwrite(t, filepath.Join(folder, "all.json"), []byte(`{"company":"*","approve":"everything"}`))
			open(t) // the question is still there
			p := s.start("instructions", "add", "--company", "*")
			p.exits(2)
			return p.told()
		}, `there is no command "instructions"`},
		{"a yes added to the ledger", func(t *testing.T) string {
			c := s.copied()
			appendTo(t, filepath.Join(c.home, "ledger"), ledger.Entry{Kind: "answer", Round: s.rounds()[0].text("round"), Data: forged(t, s), Claim: s.owner(t)})
			return verifies(t, c)
		}, "an answer or a change of the lock in this ledger is not the User's"},
		{"the lock's removal added to the ledger", func(t *testing.T) string {
			c := s.copied()
			note, err := s.other.Note(lock.KindRemoved)
			if err != nil {
				t.Fatal(err)
			}
			appendTo(t, filepath.Join(c.home, "ledger"), ledger.Entry{Kind: lock.KindRemoved, Data: note})
			return verifies(t, c)
		}, "an answer or a change of the lock in this ledger is not the User's"},
		{"a ledger written anew, without the lock", func(t *testing.T) string {
			c := s.copied()
			rewrite(t, filepath.Join(c.home, "ledger"))
			return verifies(t, c)
		}, "this home has a lock of which the ledger knows nothing"},
		{"an older ledger put back, and the User's remembered head", func(t *testing.T) string {
			c := s.copied()
			records, report, err := ledger.Read(filepath.Join(c.home, "ledger", ledger.FileName))
			if err != nil || len(records) < 2 {
				t.Fatal(len(records), err)
			}
			older(t, filepath.Join(c.home, "ledger", ledger.FileName))
			return verifies(t, c, "--head", report.Head)
		}, "the head [0-9a-f]+ is not in the ledger"},
		{"an older ledger put under the run, which the User then answers", func(t *testing.T) string {
			path := filepath.Join(s.home, "ledger", ledger.FileName)
			data := contents(t, path)
			lines := strings.SplitAfter(string(data), "\n")
			s.swap(t, filepath.Join("ledger", ledger.FileName), []byte(strings.Join(lines[:len(lines)-2], "")))
			p := open(t)
			return p.answers(true, p.request.Shows(), sign(t, s.key, p.request.Statement(true)))
		}, "was not written down and does not count"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.try(t); !regexp.MustCompile(row.want).MatchString(got) {
				t.Errorf("it came to\n%s\nwant %s", got, row.want)
			}
		})
		if given := s.run.named("answer"); len(given) > 0 {
			t.Fatalf("%s: it was answered: %v", row.name, given)
		}
	}
	s.counted(0, 0)

	// With the passphrase.
	u := s.sit(100, 60, nil, "tui")
	for range 20 {
		u.sees("a approve")
		u.types("a")
		if u.sees(`a approve|asks for your passphrase`) != "a approve" {
			break
		}
		u.seen -= len("a approve")
	}
	u.types(passphrase + "\r")
	s.run.exits(0)
	s.counted(1, 1)
	u.types("\x03")
	u.exits(0)
	if strings.Contains(plainText(u.screen.String()), passphrase) {
		t.Error("the passphrase was drawn")
	}
	if out := s.bench.run(0, "ledger", "verify"); !strings.Contains(out, "is signed with it (1 in all)") {
		t.Errorf("ledger verify says\n%s", out)
	}
}

// forged is a yes as a run writes it, in every member but the signature.
func forged(t *testing.T, s *siege) opsweb.Answer {
	t.Helper()
	r := s.reach(t).request
	statement := r.Statement(true)
	return opsweb.Answer{Request: r.ID, Approver: operation.ByUser, Approved: true, State: approval.Approved, Shown: r.Shows(),
		Signed: &statement, Signature: sign(t, s.other, statement)}
}

// owner is the run's name in the ledger.
func (s *siege) owner(t *testing.T) string {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(s.home, "run", "*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets: %q, %v", sockets, err)
	}
	return strings.TrimSuffix(filepath.Base(sockets[0]), ".sock")
}

func verifies(t *testing.T, b *bench, flags ...string) string {
	t.Helper()
	p := b.start(append([]string{"ledger", "verify"}, flags...)...)
	p.exits(1)
	return p.told()
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// older cuts the last line off, which leaves a whole chain.
func older(t *testing.T, path string) {
	t.Helper()
	lines := strings.SplitAfter(string(contents(t, path)), "\n")
	overwrite(t, path, []byte(strings.Join(lines[:len(lines)-2], "")))
}

// rewrite chains a ledger anew without what it says of locks.
func rewrite(t *testing.T, dir string) {
	t.Helper()
	records, _, err := ledger.Read(filepath.Join(dir, ledger.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var entries []ledger.Entry
	for _, r := range records {
		if r.Kind != lock.KindSet {
			entries = append(entries, ledger.Entry{Kind: r.Kind, Round: r.Round, Data: r.Data})
		}
	}
	appendTo(t, dir, entries...)
}

// swapKeys puts the public half of one lock's file into another.
func swapKeys(t *testing.T, into, from string) {
	t.Helper()
	var users, theirs map[string]any
	for path, members := range map[string]*map[string]any{into: &users, from: &theirs} {
		if err := json.Unmarshal(contents(t, path), members); err != nil {
			t.Fatal(err)
		}
	}
	for _, member := range []string{"public_key", "recipient"} {
		users[member] = theirs[member]
	}
	data, err := json.Marshal(users)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, into, data)
}
