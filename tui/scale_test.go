package tui

import (
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
)

var (
	measure = flag.Bool("measure", false, "measure how the terminal UI grows with what waits")
	write   = flag.Bool("write", false, "with -measure: draw the table of docs/scale-tui.md")
)

// manyWaiting is a view of n questions, twenty of a task, at ten Companies.
func manyWaiting(t testing.TB, n int) attach.View {
	t.Helper()
	var view attach.View
	for i := range n {
		q := exchange(t)
		q.Request.ID, q.Request.Question.Round = approval.RequestID(fmt.Sprint("q", i)), fmt.Sprint("r", i)
		q.Request.Question.Company.Domain = fmt.Sprintf("shop%d.test", i%10)
		q.Request.Question.Deadline = noon().Add(time.Duration(i+10) * time.Minute)
		q.Task = fmt.Sprint("t", i/20)
		if i%20 == 0 {
			task := jacketTask()
			task.ID = q.Task
			view.Tasks = append(view.Tasks, task)
		}
		view.Questions = append(view.Questions, q)
	}
	return view
}

// Each piece of news comes with all that waits: what was there before is not made into text again, and what changed is.
func TestNewsMakesNoOtherTextAnew(t *testing.T) {
	b := newBench(t, 80, 24, func(c *Config) { c.UntilDone = false })
	view := manyWaiting(t, 30)
	b.send(viewMsg{view})
	first, task := &b.m.inbox.questions[0].terms[0], &b.m.inbox.tasks[0].steps[0]
	next := manyWaiting(t, 31)
	next.Questions[1].Request.Question.Act, next.Tasks[1].Title = "pressed something else", "another title"
	b.send(viewMsg{next})
	in := b.m.inbox
	if first != &in.questions[0].terms[0] || task != &in.tasks[0].steps[0] {
		t.Error("what did not change was made again")
	}
	if got := in.questions[1].act.String(); got != "pressed something else" || in.tasks[1].title.String() != "another title" || len(in.questions) != 31 {
		t.Errorf("what changed says %q and %q", got, in.tasks[1].title)
	}
}

// least is how long f takes, the least of a few tries.
func least(tries int, f func()) time.Duration {
	out := time.Duration(math.MaxInt64)
	for range tries {
		begun := time.Now()
		f()
		out = min(out, time.Since(begun))
	}
	return out
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// costOf is a row of the table: what n waiting questions cost.
func costOf(t testing.TB, n int) string {
	all := manyWaiting(t, n+9)
	part := func(n int) attach.View { return attach.View{Tasks: all.Tasks, Questions: all.Questions[:n]} }
	b := newBench(t, 120, 40, func(c *Config) { c.Color, c.UntilDone = true, false })
	frame := func(msg tea.Msg) time.Duration {
		return least(9, func() { b.at = b.at.Add(100 * time.Millisecond); b.send(msg); _ = b.m.View() })
	}
	before := heap()
	come := least(1, func() { b.send(viewMsg{part(n)}); _ = b.m.View() })
	bytes := (heap() - before) / n
	one := n
	more := least(9, func() { one++; b.send(viewMsg{part(one)}); _ = b.m.View() })
	b.send(viewMsg{part(n)})
	question := frame(special(tea.KeyDown))
	for b.m.place == atQuestion {
		b.press(runes("q"))
	}
	list, listTick := frame(special(tea.KeyDown)), frame(tickMsg{})
	b.press(runes("q"))
	tasks := frame(tickMsg{})
	return fmt.Sprintf("| %d | %s | %s | %s | %s | %s | %s | %.1f KiB |\n", n, ms(come), ms(more), ms(question), ms(list), ms(listTick), ms(tasks), float64(bytes)/1024)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }

// scrollOf is a row of the other table: what a page of one question's terms costs.
func scrollOf(t testing.TB, name, raw string) string {
	b := newBench(t, 120, 40, func(c *Config) { c.Color = true })
	q := exchange(t)
	q.Request.Question.Operation.Terms = terms(t, raw)
	opened := least(3, func() { b.send(viewMsg{viewOf()}); b.show(q); _ = b.m.View() })
	var all time.Duration
	const pages = 50
	for range pages {
		all += least(1, func() { b.press(special(tea.KeyPgDown)); _ = b.m.View() })
		b.at = b.at.Add(50 * time.Millisecond)
	}
	return fmt.Sprintf("| %s | %d | %s | %s |\n", name, len(b.m.shown.frame.body), ms(opened), ms(all/pages))
}

// The figures of docs/scale-tui.md; without -measure only that they can be taken.
func TestHowItGrowsWithWhatWaits(t *testing.T) {
	sizes := []int{1}
	if *measure {
		sizes = []int{1, 10, 100, 1000}
	}
	var out strings.Builder
	out.WriteString("| waiting | all come at once | one more comes | question scrolled by a line | list moved by one | list, a second later | tasks, a second later | memory of each |\n" +
		"| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, n := range sizes {
		out.WriteString(costOf(t, n))
	}
	out.WriteString("\n| question | lines | opened | scrolled by a page |\n| --- | ---: | ---: | ---: |\n")
	out.WriteString(scrollOf(t, "one term", `{"item":"Trail Jacket"}`))
	if *measure {
		out.WriteString(scrollOf(t, "200 terms of 1,000 characters", manyTerms(t)))
	}
	t.Log("\n" + out.String())
	if !*write {
		return
	}
	const path, mark = "../docs/scale-tui.md", "<!-- drawn by make scale-tui SCALE=-write -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(page), mark)
	if !found {
		t.Fatalf("%s has no mark", path)
	}
	machine := fmt.Sprintf("%s, %d processors.\n\n", runtime.Version(), runtime.NumCPU())
	if err := os.WriteFile(path, []byte(before+mark+"\n"+machine+out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
