package tui

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/operation"
)

// unknownInput stands for the messages of a keyboard that Bubble Tea has no key for, such as the kitty code ESC[97;1u.
type unknownInput []byte

// Clauses: OPS3-5.05, OPS3-5.06
func TestOnlyALoneKeyAfterTheTermsWereShownAnswers(t *testing.T) {
	wait := 750 * time.Millisecond
	for name, tc := range map[string]struct {
		question func(testing.TB) attach.Question
		do       func(*bench)
		want     []bool
	}{
		"a after a quiet moment": {short, func(b *bench) { b.pass(wait); b.press(runes("a")) }, []bool{true}},
		"d after a quiet moment": {short, func(b *bench) { b.pass(wait); b.press(runes("d")) }, []bool{false}},
		"a at once":              {short, func(b *bench) { b.press(runes("a")) }, nil},
		"a too early":            {short, func(b *bench) { b.pass(650 * time.Millisecond); b.press(runes("a")) }, nil},
		"d too early":            {short, func(b *bench) { b.pass(650 * time.Millisecond); b.press(runes("d")) }, nil},
		"a typed on and on": {short, func(b *bench) {
			for range 50 {
				b.pass(600 * time.Millisecond)
				b.press(runes("a"))
			}
		}, nil},
		"prose typed on and on": {short, func(b *bench) {
			for _, r := range "and add a dad, had a salad and a date and a" {
				b.press(runes(string(r)))
				b.pass(150 * time.Millisecond)
			}
		}, nil},
		"a early, then late": {short, func(b *bench) { b.press(runes("a")); b.pass(wait); b.press(runes("a")) }, []bool{true}},
		"a and at once another key": {short, func(b *bench) {
			b.pass(wait)
			b.press(runes("a"), runes("n"))
		}, nil},
		"a and at once a space": {short, func(b *bench) { b.pass(wait); b.press(runes("a"), special(tea.KeySpace)) }, nil},
		"a, and another key after a wake that was due before": {short, func(b *bench) {
			b.pass(wait)
			b.press(runes("a"))
			b.send(wakeMsg{})
			b.press(runes("n"))
		}, nil},
		"a twice at once":   {short, func(b *bench) { b.pass(wait); b.press(runes("a"), runes("a")) }, nil},
		"aa in one message": {short, func(b *bench) { b.pass(wait); b.press(runes("aa")) }, nil},
		"a pasted":          {short, func(b *bench) { b.pass(wait); b.press(pasted("a")) }, nil},
		"a after a paste":   {short, func(b *bench) { b.pass(wait); b.press(pasted("x")); b.press(runes("a")) }, nil},
		"Alt+a":             {short, func(b *bench) { b.pass(wait); b.press(withAlt("a")) }, nil},
		"Esc, then a":       {short, func(b *bench) { b.pass(wait); b.press(special(tea.KeyEsc), runes("a")) }, nil},
		"A":                 {short, func(b *bench) { b.pass(wait); b.press(runes("A")) }, nil},
		"Ctrl+A":            {short, func(b *bench) { b.pass(wait); b.press(special(tea.KeyCtrlA)) }, nil},
		"a with a mark":     {short, func(b *bench) { b.pass(wait); b.press(runes("á")) }, nil},
		"Cyrillic a":        {short, func(b *bench) { b.pass(wait); b.press(runes("\u0430")) }, nil},
		"Enter":             {short, func(b *bench) { b.pass(wait); b.press(special(tea.KeyEnter)) }, nil},
		"line feed":         {short, func(b *bench) { b.pass(wait); b.press(special(tea.KeyCtrlJ)) }, nil},
		"Esc":               {short, func(b *bench) { b.pass(wait); b.press(special(tea.KeyEsc)) }, nil},
		"space":             {short, func(b *bench) { b.pass(wait); b.press(special(tea.KeySpace)) }, nil},
		"y":                 {short, func(b *bench) { b.pass(wait); b.press(runes("y")) }, nil},
		"Tab":               {short, func(b *bench) { b.pass(wait); b.press(special(tea.KeyTab)) }, nil},
		"mouse": {short, func(b *bench) {
			b.pass(wait)
			b.send(tea.MouseMsg{Action: tea.MouseActionPress, Button: tea.MouseButtonLeft})
		}, nil},
		"kitty code": {short, func(b *bench) { b.pass(wait); b.send(unknownInput("\x1b[97;1u")) }, nil},
		"a right after a kitty code": {short, func(b *bench) {
			b.pass(wait)
			b.send(unknownInput("\x1b[98;1u"))
			b.press(runes("a"))
		}, nil},
		"a before the end was shown": {exchange, func(b *bench) { b.pass(2 * wait); b.press(runes("a")); b.pass(wait) }, nil},
		"d before the end was shown": {exchange, func(b *bench) { b.pass(2 * wait); b.press(runes("d")); b.pass(wait) }, nil},
		"a after the end was shown":  {exchange, func(b *bench) { b.toEnd(); b.pass(wait); b.press(runes("a")) }, []bool{true}},
		"a at once after the end":    {exchange, func(b *bench) { b.toEnd(); b.press(runes("a")) }, nil},
		"a after scrolling back": {exchange, func(b *bench) {
			b.toEnd()
			b.press(special(tea.KeyUp))
			b.pass(wait)
			b.press(runes("a"))
		}, []bool{true}},
		"a after a resize": {short, func(b *bench) {
			b.pass(wait)
			b.send(tea.WindowSizeMsg{Width: 81, Height: 24})
			b.press(runes("a"))
		}, nil},
		"a after a resize of a long one": {exchange, func(b *bench) {
			b.toEnd()
			b.send(tea.WindowSizeMsg{Width: 79, Height: 24})
			b.pass(wait)
			b.press(runes("a"))
		}, nil},
		"resize while a settles": {short, func(b *bench) {
			b.pass(wait)
			b.press(runes("a"))
			b.send(tea.WindowSizeMsg{Width: 81, Height: 24})
		}, nil},
		"a in a terminal that is too small": {short, func(b *bench) {
			b.send(tea.WindowSizeMsg{Width: 39, Height: 24})
			b.pass(wait)
			b.press(runes("a"))
		}, nil},
		"a on the help": {short, func(b *bench) {
			b.pass(wait)
			b.press(runes("?"))
			b.pass(wait)
			b.press(runes("a"))
		}, nil},
		"a right after the help": {short, func(b *bench) {
			b.pass(wait)
			b.press(runes("?"))
			b.pass(wait)
			b.press(runes("?"), runes("a"))
		}, nil},
		"a a while after the help": {short, func(b *bench) {
			b.press(runes("?"))
			b.pass(wait)
			b.press(runes("?"))
			b.pass(wait)
			b.press(runes("a"))
		}, []bool{true}},
		"a after the question was left": {short, func(b *bench) {
			b.pass(wait)
			b.press(runes("q"))
			b.pass(wait)
			b.press(runes("a"))
		}, nil},
		"a right after the process stood still": {short, func(b *bench) {
			b.pass(wait)
			b.at = b.at.Add(time.Minute)
			b.press(runes("a"))
		}, nil},
		"a right after the screen stood still": {short, func(b *bench) {
			b.pass(wait)
			b.m.d.stalled = b.at.Add(-100 * time.Millisecond)
			b.press(runes("a"))
		}, nil},
		"a after the deadline": {short, func(b *bench) {
			b.pass(5 * time.Minute)
			b.press(runes("a"))
		}, nil},
		"two answers to one question": {short, func(b *bench) {
			b.pass(wait)
			b.press(runes("a"))
			b.pass(wait)
			b.press(runes("d"))
		}, []bool{true}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 80, 24)
			b.show(tc.question(t))
			tc.do(b)
			b.pass(100 * time.Millisecond)
			b.wantAnswers(tc.want...)
		})
	}
}

// Clauses: OPS3-5.05, OPS3-3.27
func TestANewRevisionStartsFromNothing(t *testing.T) {
	b := newBench(t, 80, 24)
	b.show(short(t))
	b.pass(time.Second)
	next := short(t)
	next.Request.Question.Operation.Revision = "rev_2"
	next.Request.Question.Operation.Terms = terms(t, `{"item":"Trail Jacket","amount":"70.00"}`)
	b.press(runes("a"))
	b.show(next)
	b.press(runes("a"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers()
	b.wantText("This question has changed. Read it again.")
	b.wantText("70.00")
	b.pass(time.Second)
	b.press(runes("a"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers(true)
	if got, want := b.feed.given()[0].Shown(), next.Request.Shows(); got != want {
		t.Errorf("the answer was given to %+v, want %+v", got, want)
	}
}

// Clauses: OPS3-5.05
func TestAnotherQuestionIsNotAnsweredByTheKeyForTheFirst(t *testing.T) {
	b := newBench(t, 80, 24)
	first, second := short(t), short(t)
	second.Request.ID = "q2"
	b.show(first)
	b.pass(time.Second)
	b.show(second) // the first was withdrawn
	b.press(runes("a"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers()
}

func TestAQuestionThatIsOnTheScreenStaysThere(t *testing.T) {
	b := newBench(t, 80, 24)
	second := short(t)
	second.Request.ID = "q2"
	second.Request.Question.Operation.ID = "op_2"
	b.show(short(t))
	b.pass(time.Second)
	before := b.text()
	b.show(second, short(t)) // a more urgent one came, and the task went on
	if b.text() != before {
		t.Errorf("the screen changed:\n%s\nit was:\n%s", b.text(), before)
	}
	b.press(runes("a"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers(true)
	if got := b.feed.given()[0].Shown().Request; got != "q1" {
		t.Errorf("the answer went to %s", got)
	}
}

func TestAnUnexplainedQuestionWaitsInTheList(t *testing.T) {
	b := newBench(t, 80, 24)
	q := short(t)
	q.Front = false
	b.show(q)
	b.wantNoText("Papaver asks")
	b.wantText("1 question waits for your answer")
	b.press(runes("l"))
	b.wantText("so it waits here.")
	b.press(special(tea.KeyEnter))
	b.wantText("Papaver asks")
	b.press(special(tea.KeyEnter), runes("a"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers()
	b.pass(time.Second)
	b.press(runes("d"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers(false)
}

func TestManyKeysAtOncePassOverNoLine(t *testing.T) {
	b := newBench(t, 60, 20)
	b.show(exchange(t))
	b.pass(time.Second)
	for range 40 { // in one burst, faster than any frame
		b.press(special(tea.KeyPgDown))
	}
	if b.m.shown.top > b.m.shown.frame.room {
		t.Errorf("the screen moved by %d lines in one frame of %d", b.m.shown.top, b.m.shown.frame.room)
	}
}

func TestAnAnswerThatChangedNothingSaysSo(t *testing.T) {
	expired := approval.Decision{State: approval.Expired}
	denied := approval.Decision{State: approval.Denied, Approver: operation.ByUser}
	for name, tc := range map[string]struct {
		decision *approval.Decision
		err      error
		says     string
	}{
		"expired":      {&expired, approval.ErrAnswered, "The question has expired. Your key press did nothing"},
		"answered":     {&denied, approval.ErrAnswered, "The question had closed already. Your key press did nothing."},
		"changed":      {nil, approval.ErrOtherTerms, "Your key press did nothing; read it again."},
		"unknown":      {nil, approval.ErrUnknownRequest, "The question had closed already. Your key press did nothing."},
		"not recorded": {nil, tea.ErrProgramKilled, "Your answer was not recorded and does not count."},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 80, 24)
			b.feed.decision, b.feed.err = tc.decision, tc.err
			b.show(short(t))
			b.pass(time.Second)
			b.press(runes("a"))
			b.pass(100 * time.Millisecond)
			b.wantAnswers(true)
			b.wantText(tc.says)
			b.wantNoText("You approved.")
		})
	}
}

func TestAQuestionThatClosedSaysHow(t *testing.T) {
	for name, tc := range map[string]struct {
		decision approval.Decision
		says     string
	}{
		"expired":   {approval.Decision{State: approval.Expired}, "That question expired unanswered. Nothing was approved."},
		"approved":  {approval.Decision{State: approval.Approved, Approver: operation.ByUser}, "That question was approved by you, at another terminal."},
		"by agent":  {approval.Decision{State: approval.Approved, Approver: operation.ByAgent}, "by an instruction you gave in advance."},
		"denied":    {approval.Decision{State: approval.Denied, Approver: operation.ByUser}, "That question was answered with no by you, at another terminal."},
		"withdrawn": {approval.Decision{State: approval.Cancelled}, "That question was withdrawn. Nothing was approved."},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 80, 24)
			b.show(short(t))
			b.pass(time.Second)
			view := viewOf()
			view.Closed = []attach.Closed{{Request: "q1", Round: "r1", Decision: tc.decision}}
			b.send(viewMsg{view})
			b.wantText(tc.says)
			b.press(runes("a"))
			b.pass(100 * time.Millisecond)
			b.wantAnswers()
		})
	}
}

func TestLeavingAQuestionAnswersNothingAndItCanBeOpenedAgain(t *testing.T) {
	b := newBench(t, 80, 24)
	b.show(short(t))
	b.pass(time.Second)
	b.press(runes("q"))
	b.wantText("You left the question unanswered. It stays open.")
	b.show(short(t))
	b.wantNoText("Papaver asks")
	b.press(runes("l"), special(tea.KeySpace))
	b.wantText("Papaver asks")
	b.wantAnswers()
}

func TestOnlyTheCountdownChangesWhileAQuestionIsOpen(t *testing.T) {
	b := newBench(t, 80, 24)
	b.show(exchange(t))
	b.pass(time.Second)
	before := b.text()
	view := viewOf(exchange(t))
	view.Tasks[0].Now = "something else"
	view.Tasks[0].Unexplained = 3
	b.send(viewMsg{view})
	b.pass(300 * time.Millisecond)
	if b.text() != before {
		t.Errorf("within a second the screen changed to\n%s", b.text())
	}
	b.pass(time.Second)
	was, is := splitLines(before), splitLines(b.text())
	for i := range was {
		if i > 0 && was[i] != is[i] {
			t.Errorf("line %d changed from %q to %q", i, was[i], is[i])
		}
	}
	if was[0] == is[0] {
		t.Error("the countdown stands still")
	}
}

func TestTheKeyLineIsTrue(t *testing.T) {
	b := newBench(t, 80, 24)
	b.show(exchange(t))
	b.pass(time.Second)
	b.wantText("scroll to the end to answer")
	b.wantNoText("a approve")
	b.toEnd()
	b.wantText("wait a moment")
	b.wantNoText("a approve")
	b.pass(time.Second)
	b.wantText("a approve · d don't approve")
	b.wantNoText("wait a moment")
}
