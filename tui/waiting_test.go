package tui

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
)

// several are questions of two Companies, soonest deadline first.
func several(t testing.TB) []attach.Question {
	var out []attach.Question
	for i, domain := range []string{"alpine.test", "stormline.test", "alpine.test"} {
		q := short(t)
		q.Request.ID, q.Front = approval.RequestID("q"+string(rune('1'+i))), false
		q.Request.Question.Company = approval.Company{Domain: domain, Name: "The " + domain[:6]}
		q.Request.Question.Act = "pressed \"Buy " + string(rune('1'+i)) + "\" on " + domain
		q.Request.Question.Deadline = noon().Add(time.Duration(i+1) * time.Minute)
		out = append(out, q)
	}
	return out
}

func TestWaitingQuestionsStandCompanyByCompanySoonestFirst(t *testing.T) {
	b := newBench(t, 80, 24)
	b.show(several(t)...)
	b.press(runes("l"))
	b.wantText("Papaver: 3 questions wait")
	text, at := b.text(), -1
	for _, part := range []string{"alpine.test, calls itself", `"Buy 1"`, `"Buy 3"`, "stormline.test, calls itself", `"Buy 2"`} {
		next := strings.Index(text, part)
		if next <= at || strings.Count(text, part) != 1 {
			t.Fatalf("%q does not follow what is before it, or stands twice:\n%s", part, text)
		}
		at = next
	}
	b.press(special(tea.KeyDown), runes(" "))
	b.wantText(`Act      pressed "Buy 3" on alpine.test`)
}

func TestTheWindowsTitleCountsWhatWaits(t *testing.T) {
	b := newBench(t, 80, 24, func(c *Config) { c.Title = true })
	b.show()
	if b.m.titled != "Papaver: no question waits" {
		t.Errorf("the title is %q", b.m.titled)
	}
	b.show(several(t)...)
	if b.m.titled != "Papaver: 3 questions wait" {
		t.Errorf("the title is %q", b.m.titled)
	}
	b.show(several(t)[:1]...)
	if b.m.titled != "Papaver: 1 question waits" {
		t.Errorf("the title is %q", b.m.titled)
	}
}

func TestTheBellRingsOnceForAQuestionAndOnlyWhenAskedFor(t *testing.T) {
	for name, run := range modes() {
		for _, bell := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				r := startWith(t, run, 80, 24, false, func(c *Config) { c.Bell, c.Title = bell, name == "full screen" })
				r.feed.views <- viewOf(live(short(t)))
				r.waitFor("Trail Jacket")
				r.feed.views <- viewOf(live(short(t))) // it is told of again
				r.waitFor("a approve")
				want := 0
				if bell {
					want = 1
				}
				r.wait("the bell", func(string) bool { return r.screen.bells == want })
				if name == "full screen" {
					r.wait("the title", func(string) bool { return r.screen.title == "Papaver: 1 question waits" })
				}
				r.stop()
				_ = r.end()
				r.wantRestored()
				r.wait("no title of ours", func(string) bool { return r.screen.title == "" })
			})
		}
	}
}

func TestThePlainWayChoosesAQuestionByItsNumber(t *testing.T) {
	b := newPlainBench(t, 80, 24)
	b.send(viewMsg{viewOf(several(t)...)})
	b.press(runes("9"))
	b.press(runes("l"))
	text := strings.ReplaceAll(b.text(), "\r\n", "\n")
	for _, part := range []string{"Papaver: 3 questions wait\n1. alpine.test", `pressed "Buy 3" on alpine.test`, "3. stormline.test", "Press a number, 1 to 3"} {
		if !strings.Contains(text, part) {
			t.Errorf("it does not say %q:\n%s", part, text)
		}
	}
	b.press(runes("4"))
	b.press(runes("2")) // the choice is gone with any key
	if b.m.asking != nil {
		t.Fatalf("a question was opened:\n%s", b.text())
	}
	b.press(runes("l"))
	b.press(pasted("2"))
	b.press(runes("l"))
	b.press(runes("2"))
	if b.m.asking == nil || b.m.asking.q.id != "q3" {
		t.Fatalf("asked is %+v\n%s", b.m.asking, b.text())
	}
	b.pass(time.Second)
	b.press(runes("d"))
	if given := b.feed.given(); len(given) != 1 || given[0].Approved() {
		t.Errorf("answers %+v", given)
	}
}
