package tui

import (
	"strconv"

	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/plaintext"
)

// fact is something that happened to a task, told once in lines.
type fact struct {
	key   string // names it for ever; never shown
	lines []line
}

// facts are all there is to tell of a task so far, in the order it is told.
func (t task) facts(p painter, w int) []fact {
	var out []fact
	tell := func(key string, lines []line) { out = append(out, fact{t.id + "\x00" + key, lines}) }
	tell("task", flow(line{theirs(t.title, plain)}, w, say(wTask), say(repeat(" ", wTask.cells()))))
	if with := t.with(w); len(with) > 0 {
		tell("with", with)
	}
	for i, s := range t.steps {
		if s.state == attach.StepToDo {
			continue
		}
		lead := say(stepWords(i+1, len(t.steps), s.state))
		tell("step "+strconv.Itoa(i)+string(s.state), flow(line{theirs(s.label, plain)}, w, lead, say("  ")))
	}
	for i, r := range t.rounds {
		id := "round " + strconv.Itoa(i)
		if r.summary != (plaintext.Text{}) {
			tell(id, flow(line{theirs(r.summary, plain)}, w, say(wOperation+wCompanyCallsIt), say("  ")))
		}
		for n, s := range r.stages {
			lead := say("  " + words(s.at.In(p.zone).Format("15:04:05")) + "  ")
			tell(id+" stage "+strconv.Itoa(n), flow(line{theirs(s.label, plain)}, w, lead, say("    ")))
		}
		settled := roundText{outcome: r.outcome, said: r.said}
		if lines := settled.lines(p, w); len(lines) > 2 {
			tell(id+" outcome", lines[2:]) // without the empty line and the title
		}
	}
	if t.unexplained > 0 {
		tell("unexplained "+strconv.Itoa(t.unexplained), flow(say(unexplainedWords(t.unexplained)), w, nil, nil))
	}
	if t.performed != (plaintext.Text{}) {
		tell("performed "+t.performed.String(), flow(line{theirs(t.performed, plain)}, w, say("  "), say("  ")))
	}
	if t.trouble != nil {
		tell("trouble", t.trouble.lines(w))
	}
	if said, _ := endWords(t.outcome); said != "" {
		tell("ended", flow(say(said), w, say(wEnded), say("  ")))
	}
	return out
}
