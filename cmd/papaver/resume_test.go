package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// resumption is a run that died and the one that settles what it left, each with a person at its terminal who presses the
// same key on every question.
type resumption struct {
	*bench
	number    int
	siteFiles []string // of a Company that was killed
}

// sitting is a run with a terminal of its own, and its events in a file.
type sitting struct {
	*user
	file string
}

// eventsSoFar are those that the run told, whole lines alone.
func (s *sitting) eventsSoFar() []event {
	s.t.Helper()
	data, err := os.ReadFile(s.file)
	if err != nil {
		s.t.Fatal(err)
	}
	return readEvents(s.t, string(data))
}

// named are the events of that name.
func (s *sitting) named(name string) []event {
	var list []event
	for _, e := range s.eventsSoFar() {
		if e.name() == name {
			list = append(list, e)
		}
	}
	return list
}

// event waits for the nth event of that name.
func (s *sitting) event(name string, nth int) event {
	s.t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		if list := s.named(name); len(list) >= nth {
			return list[nth-1]
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			s.t.Fatalf("no event %q number %d came\n%s", name, nth, plainText(s.screen.String()))
		}
	}
}

// ends waits for the end, whatever its status.
func (s *sitting) ends() {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(2 * patience):
		s.t.Fatalf("papaver %v did not end\n%s", s.cmd.Args[1:], plainText(s.screen.String()))
	}
}

func (s *sitting) status() int { return s.cmd.ProcessState.ExitCode() }

// presses presses a key on each question, in order, the last one on all that follow; none leaves the questions.
func (s *sitting) presses(keys string) {
	s.t.Helper()
	for keys != "" && s.asked() {
		s.types(keys[:1])
		if len(keys) > 1 {
			keys = keys[1:]
		}
	}
}

// play runs papaver at a terminal to its end, with a User who presses these keys. It dies at a place, or nowhere.
func (b *resumption) play(place, keys string, args ...string) *sitting {
	b.t.Helper()
	s := b.sitTo(place, append(args, "--json", "--plain")...)
	s.presses(keys)
	return s
}

// sitTo begins a run at a terminal of its own.
func (b *resumption) sitTo(place string, args ...string) *sitting {
	b.t.Helper()
	b.number++
	path := filepath.Join(b.dir, "events-"+strings.Repeat("i", b.number))
	file, err := os.Create(path)
	if err != nil {
		b.t.Fatal(err)
	}
	b.dies = place
	u := b.sit(100, 60, file, args...)
	b.dies = ""
	if err := file.Close(); err != nil {
		b.t.Fatal(err)
	}
	return &sitting{user: u, file: path}
}

// asked waits until a key counts on a question that was not looked at yet; false when the run has ended before.
func (u *user) asked() bool {
	u.t.Helper()
	const mark = "a approve"
	found := false
	u.screen.await(u.ended, func(text string) bool {
		text = plainText(text)
		at := strings.Index(text[min(u.seen, len(text)):], mark)
		if at < 0 {
			return false
		}
		u.seen += at + len(mark)
		found = true
		return true
	})
	return found
}

// performed counts what the Company performed of the operations of this home.
func (b *resumption) performed() int {
	b.t.Helper()
	ours := make(map[string]bool)
	for _, r := range b.rounds() {
		ours[r.text("operation_id")] = true
	}
	n := 0
	for _, p := range b.report().Performances {
		if ours[p.OperationID] {
			n++
		}
	}
	return n
}

// What a run left that was killed is settled by the next one, from the ledger alone: what was asked is asked again, what
// was being sent is sent again, and what was recorded is finished by the flow when the User says so.
//
// Clauses: OPS3-5.06
func TestWhatAKilledRunLeftIsSettledByTheNextOne(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, place string
		first, keys string // of the run that dies, and of the one that resumes
		flow        bool   // it has the flow
		status      int
		outcome     string
		kinds       string // of its questions
		performed   int
	}{
		{"a question that was open", "answer:before:1", "a", "a", true, 0, "performed", "approval", 1},
		{"an answer that was not sent, and a no now", "answer:after:1", "a", "d", true, 3, "refused", "approval", 0},
		{"a no", "refusal:after:1", "d", "", true, 3, "refused", "", 0},
		{"an approval that did not leave", "request:before:2", "a", "a", true, 0, "performed", "rerun", 1},
		{"recorded, and the flow is not wanted", "recorded:after:1", "a", "d", true, 5, "unknown", "rerun", 0},
		{"recorded, and no flow is at hand", "recorded:after:1", "a", "", false, 5, "unknown", "", 0},
		{"a replay that was made", "replayed:before:1", "a", "", true, 0, "performed", "", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := &resumption{bench: atCompany(t)}
			task := b.task(b.flow("exchange.json"))
			dead := b.play(tc.place, tc.first, task...)
			dead.exits(-1)
			if tc.performed == 0 { // one terminal UI is enough of them
				u := b.sit(100, 60, nil, "tui")
				u.sees("it stands at ")
				u.sees(`papaver run --resume settles it`)
				u.types("q")
				u.exits(0)
			}
			again := append(task, "--resume")
			if !tc.flow {
				again = append([]string{"run", "--resume"}, task[4:]...)
			}
			s := b.play("", tc.keys, again...)
			s.exits(tc.status)
			var kinds, outcomes []string
			for _, e := range s.named("question") {
				kinds = append(kinds, e.text("kind"))
			}
			for _, e := range s.named("settled") {
				outcomes = append(outcomes, e.text("outcome"))
			}
			if got := strings.Join(kinds, " "); got != tc.kinds {
				t.Errorf("questions %q, want %q", got, tc.kinds)
			}
			for _, o := range outcomes {
				if o != tc.outcome {
					t.Errorf("settled as %q, want all %q", outcomes, tc.outcome)
				}
			}
			if len(outcomes) == 0 {
				t.Errorf("nothing was settled\n%v", s.eventsSoFar())
			}
			wantMembers(t, s.eventsSoFar())
			if taken := s.named("resumed"); len(taken) != 1 || taken[0].text("next") == "" || taken[0].text("state") == "" {
				t.Errorf("taken up: %v", taken)
			}
			if got := b.performed(); got != tc.performed {
				t.Errorf("performed %d times, want %d", got, tc.performed)
			}
			for _, v := range b.report().Broken {
				t.Errorf("the Company saw a broken rule: %s: %s", v.Rule, v.Seen)
			}
			if t.Failed() {
				t.Logf("%v\n%s", s.eventsSoFar(), plainText(s.screen.String()))
			}
		})
	}
}
