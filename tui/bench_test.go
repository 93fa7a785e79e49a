package tui

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/operation"
)

// noon is the moment at which every test's clock starts.
func noon() time.Time { return time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC) }

const exchangeTerms = `{"action":"exchange","order":"ord_7Hk2","item":{"name":"Trail Jacket","size_from":"M","size_to":"L"},` +
	`"price_difference":{"amount":"7.00","currency":"USD"},` +
	`"conditions":["Return the worn jacket within 14 days","No refund after the exchange"],"note":""}`

const exchangeSummary = "Exchange the **Trail Jacket** (size M) for size L.\n\n" +
	"- You pay *USD 70.00* for the difference in price, charged to the card that paid for the order.\n" +
	"- You return the worn jacket within 14 days.\n\n" +
	"See [the terms](https://stormline.test/terms) ![x](https://log.test/x.png) <b>now</b>."

func terms(t testing.TB, raw string) operation.Terms {
	t.Helper()
	parsed, err := operation.ParseTerms([]byte(raw))
	if err != nil {
		t.Fatalf("terms of the test: %v", err)
	}
	return parsed
}

// exchange is the question that most tests ask.
func exchange(t testing.TB) attach.Question {
	return attach.Question{Task: "t1", Front: true, Request: approval.Request{ID: "q1", Opened: noon(), Question: approval.Question{
		Kind: approval.KindApproval, Round: "r1",
		Company: approval.Company{Domain: "stormline.test", Name: "Stormline Outdoor"},
		Act:     `pressed "Exchange" on stormline.test/orders/ord_7Hk2`,
		Operation: operation.Operation{
			ID: "op_1", Revision: "rev_1", Summary: exchangeSummary, Terms: terms(t, exchangeTerms), ExpiresAt: noon().Add(5 * time.Minute),
		},
		Differences: []string{"Differs: the summary says 70.00, the terms say 7.00"},
		Deadline:    noon().Add(5 * time.Minute),
	}}}
}

// short is a question that a terminal of 80x24 shows without scrolling.
func short(t testing.TB) attach.Question {
	q := exchange(t)
	q.Request.Question.Operation.Summary = "Exchange the jacket."
	q.Request.Question.Operation.Terms = terms(t, `{"item":"Trail Jacket","amount":"7.00"}`)
	q.Request.Question.Differences = nil
	return q
}

func jacketTask() attach.Task {
	return attach.Task{
		ID: "t1", Title: "Exchange the jacket for a larger one",
		Company: approval.Company{Domain: "stormline.test", Name: "Stormline Outdoor"},
		Now:     "waiting for your answer", Started: noon().Add(-42 * time.Second),
		Steps: []attach.Step{
			{Label: "open stormline.test/orders", State: attach.StepDone},
			{Label: `press "Exchange"`, State: attach.StepDoing},
			{Label: "choose size L", State: attach.StepToDo},
		},
		Rounds: []attach.Round{{ID: "r1", Summary: exchangeSummary, Stages: []attach.Stage{
			{Label: "operation seen", At: noon().Add(-2 * time.Second)}, {Label: "you are asked", At: noon().Add(-time.Second)},
		}}},
	}
}

func viewOf(questions ...attach.Question) attach.View {
	return attach.View{Tasks: []attach.Task{jacketTask()}, Questions: questions}
}

// fakeFeed keeps the answers it gets and says that the desk took them.
type fakeFeed struct {
	views chan attach.View

	mu       sync.Mutex
	answers  []approval.Answer
	decision *approval.Decision // what the desk says, if not the answer
	err      error
	onAnswer func(approval.Answer)
}

func newFakeFeed() *fakeFeed { return &fakeFeed{views: make(chan attach.View, 100)} }

func (f *fakeFeed) Next(ctx context.Context) (attach.View, error) {
	select {
	case v := <-f.views:
		return v, nil
	case <-ctx.Done():
		return attach.View{}, ctx.Err()
	}
}

func (f *fakeFeed) Answer(_ context.Context, a approval.Answer) (approval.Decision, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers = append(f.answers, a)
	if f.onAnswer != nil {
		f.onAnswer(a)
	}
	if f.decision != nil || f.err != nil {
		if f.decision == nil {
			return approval.Decision{}, f.err
		}
		return *f.decision, f.err
	}
	state := approval.Denied
	if a.Approved() {
		state = approval.Approved
	}
	return approval.Decision{State: state, Approver: operation.ByUser, Shown: a.Shown()}, nil
}

func (f *fakeFeed) given() []approval.Answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]approval.Answer(nil), f.answers...)
}

// bench drives a model without a terminal: messages in, text out, time by hand.
type bench struct {
	t    testing.TB
	feed *fakeFeed
	m    *model
	at   time.Time

	ticked time.Time // when the last tick came
}

func newBench(t testing.TB, w, h int, configure ...func(*Config)) *bench {
	b := &bench{t: t, feed: newFakeFeed(), at: noon(), ticked: noon()}
	cfg := Config{Feed: b.feed, Now: func() time.Time { return b.at }, Unicode: true, UntilDone: true}
	for _, c := range configure {
		c(&cfg)
	}
	d := newDevice(context.Background(), nil, cfg.Now)
	d.end(nil) // commands that wait for time or views give nothing, at once
	t.Cleanup(d.close)
	b.m = newModel(cfg, d)
	b.send(tea.WindowSizeMsg{Width: w, Height: h})
	return b
}

// send hands msg to the model, and does at once what it wants done outside.
func (b *bench) send(msg tea.Msg) {
	_, cmd := b.m.Update(msg)
	b.do(cmd)
}

func (b *bench) do(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil, tea.QuitMsg:
	case tea.BatchMsg:
		for _, c := range msg {
			b.do(c)
		}
	case signedInMsg:
		if !errors.Is(msg.err, errUnderWay) {
			b.send(msg)
		}
	default:
		b.send(msg)
	}
}

func (b *bench) show(questions ...attach.Question) { b.send(viewMsg{viewOf(questions...)}) }

// pass lets time pass in steps of at most a second, with the ticks and wakes that come in it.
func (b *bench) pass(d time.Duration) {
	for d > 0 {
		step := min(d, time.Second)
		b.at, d = b.at.Add(step), d-step
		if b.at.Sub(b.ticked) >= time.Second {
			b.ticked = b.at
			b.send(tickMsg{})
		}
		b.send(wakeMsg{})
	}
}

func (b *bench) press(keys ...tea.KeyMsg) {
	for _, k := range keys {
		b.send(k)
	}
}

// toEnd scrolls to the end of the question, as slowly as a person.
func (b *bench) toEnd() {
	for range 500 {
		if b.m.place != atQuestion || b.m.shown.end() {
			return
		}
		b.press(special(tea.KeyPgDown))
		b.pass(50 * time.Millisecond)
	}
	b.t.Fatal("the end of the question was not reached")
}

func (b *bench) text() string {
	return newPainter(false, b.m.cfg.Unicode, time.UTC).page(b.m.screen())
}

func (b *bench) wantAnswers(want ...bool) {
	b.t.Helper()
	given := b.feed.given()
	if len(given) != len(want) {
		b.t.Fatalf("%d answers were given, want %d\n%s", len(given), len(want), b.text())
	}
	for i, a := range given {
		if a.Approved() != want[i] {
			b.t.Errorf("answer %d approves: %v, want %v", i, a.Approved(), want[i])
		}
	}
}

func (b *bench) wantText(part string) {
	b.t.Helper()
	if !strings.Contains(b.text(), part) {
		b.t.Errorf("the screen does not say %q:\n%s", part, b.text())
	}
}

func (b *bench) wantNoText(part string) {
	b.t.Helper()
	if strings.Contains(b.text(), part) {
		b.t.Errorf("the screen says %q:\n%s", part, b.text())
	}
}

func runes(s string) tea.KeyMsg        { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s)} }
func special(t tea.KeyType) tea.KeyMsg { return tea.KeyMsg{Type: t} }
func pasted(s string) tea.KeyMsg {
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Paste: true}
}
func withAlt(s string) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Alt: true} }

func splitLines(s string) []string { return strings.Split(s, "\n") }
