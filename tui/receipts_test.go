package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// fakeHistory is a ledger with two operations.
type fakeHistory struct {
	all []Receipt
	err error
}

func (f fakeHistory) Receipts(context.Context) ([]Receipt, error) { return f.all, f.err }

func past(t testing.TB) []Receipt {
	old := noon().Add(-48 * time.Hour)
	return []Receipt{
		{
			Round: "r_1", Domain: "stormline.test", Act: `pressed "Exchange" on stormline.test/orders/ord_7Hk2`, OperationID: "op_1", Revision: "rev_1",
			Summary: exchangeSummary, Terms: terms(t, exchangeTerms), TermsHash: strings.Repeat("0a", 32), Began: old, Last: old.Add(time.Minute),
			Decided: old.Add(20 * time.Second), Approved: true, ByUser: true, Outcome: "performed", FirstLine: 3, LastLine: 14,
			Lines: []ReceiptLine{{At: old, Kind: "sighting"}, {At: old.Add(20 * time.Second), Kind: "answer"}, {At: old.Add(time.Minute), Kind: "settled", Why: "the Company says performed"}},
		},
		{
			Round: "r_2", Domain: "alpine.test", OperationID: "op_2", Revision: "1", Summary: "Buy the rope.", Terms: terms(t, `{"item":"rope"}`),
			Began: noon().Add(-time.Hour), Last: noon().Add(-time.Hour), Stands: "sending", Next: "send the same approval again", FirstLine: 15, LastLine: 17,
			Lines: []ReceiptLine{{At: noon().Add(-time.Hour), Kind: "sighting"}},
		},
	}
}

func withHistory(all []Receipt, err error) func(*Config) {
	return func(c *Config) { c.History, c.UntilDone = fakeHistory{all, err}, false }
}

func TestPastOperationsAreFoundAndHaveAReceipt(t *testing.T) {
	for _, size := range sizes {
		name := fmt.Sprintf("%dx%d", size.w, size.h)
		b := newBench(t, size.w, size.h, withHistory(past(t), nil))
		b.send(viewMsg{})
		b.press(runes("h"))
		fitsScreen(t, b.text(), size.w, size.h)
		golden(t, "history-"+name, b.text())
		b.press(runes("/"))
		b.press(runes("JACKET"), tea.KeyMsg{Type: tea.KeySpace, Runes: []rune(" ")}, runes("performed"))
		b.wantText("stormline.test")
		b.wantNoText("alpine.test")
		golden(t, "history-search-"+name, b.text())
		b.press(special(tea.KeyEnter), special(tea.KeyEnter))
		fitsScreen(t, b.text(), size.w, size.h)
		golden(t, "receipt-"+name, b.text())
		seen := b.text()
		for range 20 {
			b.press(runes(" "))
			seen += "\n" + b.text()
		}
		for _, part := range []string{"approved by you", "op_1", "rev_1", "Trail Jacket", "settled: the Company says performed", "lines 3 to 14"} {
			if !strings.Contains(strings.Join(strings.Fields(seen), " "), part) {
				t.Errorf("the receipt does not say %q:\n%s", part, seen)
			}
		}
		b.press(runes("q"), runes("/"), special(tea.KeyEsc))
		b.wantText("alpine.test")
		b.press(runes("q"))
		b.wantText("No task runs here now")
	}
}

func TestAnOpenOperationSaysWhereItStands(t *testing.T) {
	b := newBench(t, 80, 24, withHistory(past(t), nil))
	b.send(viewMsg{})
	b.press(runes("h"), special(tea.KeyEnter))
	b.wantText("open: it has no outcome yet")
	b.wantText("sending; a later run may: send the same approval again")
}

func TestALedgerThatCanNotBeReadSaysSo(t *testing.T) {
	b := newBench(t, 80, 24, withHistory(nil, errors.New("line 3 is not intact")))
	b.send(viewMsg{})
	b.press(runes("h"))
	b.wantText("line 3 is not intact")
	b = newBench(t, 80, 24, withHistory(nil, nil))
	b.send(viewMsg{})
	b.press(runes("h"))
	b.wantText("No operation has been met yet.")
}

// Clauses: OPS3-5.05, OPS3-5.06
func TestAQuestionDuringASearchIsNotAnsweredByWhatIsTypedForIt(t *testing.T) {
	b := newBench(t, 80, 24, withHistory(past(t), nil))
	b.send(viewMsg{})
	b.press(runes("h"), runes("/"), runes("j"))
	b.show(short(t))
	b.wantText("you were typing")
	b.pass(2 * time.Second)
	b.press(runes("a"))
	b.pass(2 * time.Second)
	b.wantAnswers()
	b.press(special(tea.KeyDown))
	b.pass(time.Second)
	b.press(runes("d"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers(false)
	b.wantText("past operations")
}

func TestHostileTextInAReceiptLeavesOurLinesAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, text := range hostile() {
		r := past(t)[0]
		r.Domain, r.Act, r.OperationID, r.Revision, r.Summary, r.Round, r.TermsHash, r.Next, r.Stands = text, text, text, text, text, text, text, text, text
		r.Lines = []ReceiptLine{{Kind: text, Why: text}}
		r.Terms = hostileQuestion(t, text).Request.Question.Operation.Terms
		for w := minWidth; w <= 300; w += 13 {
			b := newBench(t, w, 24, withHistory([]Receipt{r}, nil))
			b.send(viewMsg{})
			b.press(runes("h"))
			checkScreen(t, b.text(), w)
			b.press(special(tea.KeyEnter))
			checkScreen(t, b.m.painter.page(b.m.receipts.body(b.m.painter, w)), w)
		}
	}
}
