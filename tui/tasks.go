package tui

import (
	"time"

	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/plaintext"
)

const (
	// doneShown and toDoShown are how many steps stand before and after the present one; the others are counted.
	doneShown, toDoShown = 4, 5
	barCells             = 24
)

// tasksView is the task view: every task, one below the other.
type tasksView struct {
	tasks   []task
	waiting int   // questions that wait and are not on the screen
	stays   bool  // the UI stays until it is left
	signs   bool  // there is a screen of Companies
	history bool  // there is one of past operations
	note    words // what happened last
	top     int
	pinned  bool // the User scrolled; else the screen follows what happens
}

// with says whose site the task is at; nothing while that is not known yet.
func (t task) with(w int) []line {
	if t.company.domain == (plaintext.Text{}) {
		return nil
	}
	return flow(t.company.introduce(), w, say(wWith), say(repeat(" ", wWith.cells())))
}

// body is all there is to see, however long.
func (v tasksView) body(p painter, w int, now time.Time) []line {
	var out []line
	if len(v.tasks) == 0 {
		out = append(out, flow(say(wNothing), w, nil, nil)...)
	}
	for i, t := range v.tasks {
		if i > 0 {
			out = append(out, line{})
		}
		out = append(out, t.lines(p, w, now, len(v.tasks) > 1)...)
	}
	return out
}

func (v tasksView) foot(p painter, w int) []line {
	var out []line
	if v.note != "" {
		out = append(out, flow(line{ours(v.note, strong)}, w, nil, nil)...)
	}
	if v.waiting > 0 {
		out = append(out, flow(line{ours(waitingWords(v.waiting), alert)}, w, nil, nil)...)
	}
	return append(out, foot(p, w, "", taskKeys(v.waiting > 0, v.stays, v.signs, v.history))...)
}

// view is the screen, of at most h lines. It follows the end of the body until the User scrolls.
func (v tasksView) view(p painter, w, h int, now time.Time) []line {
	bottom := v.foot(p, w)
	return scrolled(p, w, h, wTitleTasks, v.body(p, w, now), bottom, v.first(p, w, h, now))
}

// first is the first line of the body that is on the screen.
func (v tasksView) first(p painter, w, h int, now time.Time) int {
	last := max(len(v.body(p, w, now))-roomFor(h, v.foot(p, w)), 0)
	if !v.pinned {
		return last
	}
	return min(v.top, last)
}

// roomFor is how many lines stay between the title and the foot with its rule.
func roomFor(h int, bottom []line) int { return max(h-2-len(bottom), 1) }

// scrolled is a screen with a title, a body that scrolls, and a foot.
func scrolled(p painter, w, h int, title words, body, bottom []line, top int) []line {
	room := roomFor(h, bottom)
	end := min(top+room, len(body))
	out := append([]line{clip(line{ours(title, strong)}, w)}, body[top:end]...)
	for range room - (end - top) {
		out = append(out, line{})
	}
	out = append(append(out, clip(extent(p, top, end, len(body), w), w)), bottom...)
	return out[:min(len(out), max(h, 1))]
}

// lines are one task; brief, where it is one of several, without its steps and without the stages of what has ended.
func (t task) lines(p painter, w int, now time.Time, brief bool) []line {
	elapsed := clock(now.Sub(t.started))
	switch {
	case !t.ended.IsZero():
		elapsed = clock(t.ended.Sub(t.started))
	case t.over():
		elapsed = ""
	}
	time := ours(elapsed, faint)
	room := w - time.cells() - 1
	out := flow(line{theirs(t.title, strong)}, room, say(wTask), say(repeat(" ", wTask.cells())))
	out[0] = spread(out[0], line{time}, w)
	out = append(out, t.with(w)...)
	out = append(out, t.progress(p, w)...)
	if !brief {
		out = append(out, t.stepLines(p, w)...)
	}
	hang := say(repeat(" ", wNow.cells()))
	switch said, l := endWords(t.outcome); {
	case said != "":
		out = append(out, flow(line{ours(said, l)}, w, say(wEnded), hang)...)
	case t.now != (plaintext.Text{}):
		out = append(out, flow(line{theirs(t.now, plain)}, w, line{ours(wNow, strong)}, hang)...)
	}
	if t.unexplained > 0 {
		out = append(out, flow(line{ours(unexplainedWords(t.unexplained), alert)}, w, nil, nil)...)
	}
	if t.earlier > 0 {
		out = append(out, flow(line{ours(leftOutWords(t.earlier), faint)}, w, nil, nil)...)
	}
	for _, r := range t.rounds {
		if brief && r.outcome != "" {
			r.stages = nil
		}
		lines := r.lines(p, w)
		if brief {
			lines = lines[1:] // without the empty line
		}
		out = append(out, lines...)
	}
	if t.performed != (plaintext.Text{}) {
		out = append(out, flow(line{theirs(t.performed, good)}, w, say("  "), say("  "))...)
	}
	return append(out, t.trouble.lines(w)...)
}

func (t task) progress(p painter, w int) []line {
	if len(t.steps) == 0 {
		return nil
	}
	done, at := 0, len(t.steps)
	for i, s := range t.steps {
		if s.state == attach.StepDone {
			done++
		} else if at == len(t.steps) {
			at = i + 1
		}
	}
	full := barCells * done / len(t.steps)
	said := progressWords(at, done, len(t.steps))
	return []line{clip(line{
		ours(repeat(p.marks.full, full), good), ours(repeat(p.marks.void, barCells-full), faint), ours(" "+said, plain),
	}, w)}
}

// stepLines are the steps around the present one; those far away are counted.
func (t task) stepLines(p painter, w int) []line {
	present := len(t.steps)
	for i, s := range t.steps {
		if s.state != attach.StepDone {
			present = i
			break
		}
	}
	from, to := max(present-doneShown, 0), min(present+toDoShown+1, len(t.steps))
	var out []line
	if from > 0 {
		out = append(out, line{ours("  "+p.marks.done+" "+earlierWords(from), faint)})
	}
	for _, s := range t.steps[from:to] {
		mark, l := p.marks.toDo, faint
		switch s.state {
		case attach.StepDone:
			mark, l = p.marks.done, good
		case attach.StepDoing:
			mark, l = p.marks.doing, strong
		case attach.StepFailed:
			mark, l = p.marks.failed, bad
		}
		label := plain
		if s.state == attach.StepDoing {
			label = strong
		}
		out = append(out, flow(line{theirs(s.label, label)}, w, line{ours("  "+mark+" ", l)}, say("    "))...)
	}
	if more := len(t.steps) - to; more > 0 {
		out = append(out, line{ours("  "+p.marks.toDo+" "+laterWords(more), faint)})
	}
	return out
}

func (r roundText) lines(p painter, w int) []line {
	title := line{ours(wOperation, strong)}
	if r.summary != (plaintext.Text{}) {
		title = append(title, ours(wCompanyCallsIt, plain), theirs(r.summary, plain))
	}
	out := append([]line{{}}, flow(title, w, nil, say("  "))...)
	for _, s := range r.stages {
		at := line{ours("  "+words(s.at.In(p.zone).Format("15:04:05"))+"  ", faint)}
		out = append(out, flow(line{theirs(s.label, plain)}, w, at, say(repeat(" ", at.cells())))...)
	}
	if r.outcome != "" {
		said, l := outcomeWords(r.outcome)
		mark := p.marks.done
		if l != good {
			mark = p.marks.failed
		}
		out = append(out, flow(line{ours(said, l)}, w, line{ours("  "+mark+" ", l)}, say("    "))...)
	}
	if len(r.said) > 0 {
		out = append(out, flow(say(wTheirDecline), w, say("  "), say("  "))...)
		bar := line{ours("  "+p.marks.bar+" ", faint)}
		out = append(out, valueLines(r.said, w, bar, bar)...)
	}
	return out
}

// lines are the error panel: what happened, what had been done, what had not, what to do next.
func (t *troubleText) lines(w int) []line {
	if t == nil {
		return nil
	}
	out := []line{{}}
	for _, row := range []struct {
		label words
		text  plaintext.Text
		look  look
	}{{wErrorWhat, t.what, bad}, {wErrorDone, t.done, plain}, {wErrorUndone, t.undone, plain}, {wErrorNext, t.next, strong}} {
		if row.text == (plaintext.Text{}) {
			continue
		}
		label := line{ours(row.label, row.look)}
		out = append(out, flow(line{theirs(row.text, plain)}, w, label, say(repeat(" ", label.cells())))...)
	}
	return out
}
