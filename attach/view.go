// Package attach carries what a running process shows to the terminals that watch it, and their answers back.
//
// Each process that runs tasks holds HOME/run/<id>.lock, locked, and listens on HOME/run/<id>.sock; both are gone when
// it ends. A terminal UI connects to every live socket it finds there, its own process's included: there is one way
// for an answer to reach a desk. The peer of a connection must be the same user; the wire is JSON lines, one message
// each, with a version in the first.
package attach

import (
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/internal/trouble"
)

// Step is one step of a task.
type Step struct {
	Label string    `json:"label"` // our words around the flow's; not sanitised
	State StepState `json:"state"`
}

// StepState says whether a step is still to come.
type StepState string

// The states of a step.
const (
	StepToDo   StepState = "todo"
	StepDoing  StepState = "doing"
	StepDone   StepState = "done"
	StepFailed StepState = "failed"
)

// Stage is one stage a round went through, in our words, such as "approval sent".
type Stage struct {
	Label string    `json:"label"`
	At    time.Time `json:"at"`
}

const (
	maxText   = 4 << 10        // bytes of a round's texts that reach a terminal; a question has the whole
	maxRounds = 200            // rounds of a task that reach a terminal: the last ones
	maxStages = 100            // stages of a round that reach a terminal: the last ones
	maxTask   = maxMessage / 2 // bytes of a task with its rounds
)

// bounded returns t as it is sent, so that it fits in one message however long the Company's texts and however many its
// rounds are. What is cut off is in the ledger.
func (t Task) bounded() Task {
	all := len(t.Rounds)
	t.Rounds = slices.Clone(t.Rounds[max(0, len(t.Rounds)-maxRounds):])
	for i := range t.Rounds {
		r := &t.Rounds[i]
		r.Summary, r.Said = cut(r.Summary), cut(r.Said)
		r.Stages = slices.Clone(r.Stages[max(0, len(r.Stages)-maxStages):])
		for j := range r.Stages {
			r.Stages[j].Label = cut(r.Stages[j].Label)
		}
	}
	for len(t.Rounds) > 0 {
		if data, err := json.Marshal(t); err != nil || len(data) <= maxTask { // what can't be marshalled is writeMessage's to say
			break
		}
		t.Rounds = t.Rounds[(len(t.Rounds)+1)/2:]
	}
	t.Earlier += all - len(t.Rounds)
	return t
}

// cut shortens s to maxText bytes at most, at the beginning of a character, and says so.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	const mark = "…"
	at := maxText - len(mark)
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	return s[:at] + mark
}

// Round is what a task shows of one operation.
type Round struct {
	ID      string    `json:"id"`
	Summary string    `json:"summary"` // the Company's; not sanitised
	Stages  []Stage   `json:"stages"`
	Outcome string    `json:"outcome,omitempty"` // a CLI outcome when settled
	Said    string    `json:"said,omitempty"`    // the Company's reason and alternative of a decline; not sanitised
	Expires time.Time `json:"expires,omitzero"`
}

// Task is one browsing task as it stands.
type Task struct {
	ID          string           `json:"id"`
	Title       string           `json:"title"` // from the flow; not sanitised
	Company     approval.Company `json:"company"`
	Steps       []Step           `json:"steps"`
	Now         string           `json:"now"` // what is happening now, in our words
	Started     time.Time        `json:"started"`
	Ended       time.Time        `json:"ended,omitzero"`
	Rounds      []Round          `json:"rounds"`
	Earlier     int              `json:"earlier,omitempty"` // operations that are left out before those of Rounds; the ledger has them
	Outcome     string           `json:"outcome,omitempty"` // how the run ended; empty while it runs
	Trouble     *trouble.Error   `json:"trouble,omitempty"`
	Performed   string           `json:"performed,omitempty"`   // what the demo adds about the bundled site's own count
	Unexplained int              `json:"unexplained,omitempty"` // sightings that no act of ours explains
}

// Closed is a question that got its outcome while we watched.
type Closed struct {
	Request  approval.RequestID `json:"request"`
	Round    string             `json:"round"`
	Decision approval.Decision  `json:"decision"`
}

// Question is an open question and the task it belongs to.
type Question struct {
	Task    string           `json:"task"`
	Request approval.Request `json:"request"`
	// Front is false for a question that no act of ours explains: it waits in the list and never comes to the front by
	// itself.
	Front bool `json:"front"`
}

// View is everything a terminal shows, as one value. Questions are ordered by their deadline, soonest first.
type View struct {
	Tasks     []Task
	Questions []Question
	Closed    []Closed
}
