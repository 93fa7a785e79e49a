package tui

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/operation"
)

// History is what the screen of past operations shows.
type History interface {
	// Receipts reads every operation of the verified ledger, oldest first. It returns soon after ctx ends; errors are
	// best a *[trouble.Error].
	Receipts(ctx context.Context) ([]Receipt, error)
}

// Receipt is one operation as the ledger tells it. Text is as the Company sent it: the UI sanitises it.
type Receipt struct {
	Round       string // its id in the ledger
	Domain      string
	Act         string // what the agent did, in our words; empty when no act explains it
	OperationID string
	Revision    string
	Summary     string
	Terms       operation.Terms // of the last revision
	TermsHash   string
	Began, Last time.Time // of its first and its last line

	// Decided is when a question about it got its last answer, zero while none has; Approved what it was, ByUser whose.
	Decided          time.Time
	Approved, ByUser bool

	Outcome string // as in the `settled` event; empty while it is open
	Stands  string // where an open one stands
	Next    string // what a later run may do with an open one, in our words

	FirstLine, LastLine uint64 // of the ledger
	Lines               []ReceiptLine
}

// ReceiptLine is one line of the ledger about an operation.
type ReceiptLine struct {
	At   time.Time
	Kind string // of the line
	Why  string // in our words; empty for most
}

const (
	// summaryCells is the room for a summary in the list of past operations.
	summaryCells = 60
	idCells      = 300
)

// receiptText is what is shown of one past operation.
type receiptText struct {
	company   companyText
	act       plaintext.Text
	operation plaintext.Text
	revision  plaintext.Text
	first     plaintext.Text // the first line of the summary, quoted
	summary   []plaintext.Text
	terms     []termRow
	hash      plaintext.Text
	round     plaintext.Text
	stands    plaintext.Text
	next      plaintext.Text
	lines     []stageText
	search    string // lower case; compared, never shown

	began, last, decided time.Time
	approved, byUser     bool
	outcome              string // compared, never shown
	firstLine, lastLine  int
}

func (c charset) receipt(from Receipt) receiptText {
	out := receiptText{
		company: c.company(approval.Company{Domain: from.Domain}), act: c.whole(from.Act), operation: c.line(from.OperationID, idCells),
		revision: c.line(from.Revision, idCells), hash: c.whole(from.TermsHash), round: c.whole(from.Round), stands: c.whole(from.Stands),
		next: c.whole(from.Next), began: from.Began, last: from.Last, decided: from.Decided, approved: from.Approved, byUser: from.ByUser,
		outcome: from.Outcome, firstLine: int(from.FirstLine), lastLine: int(from.LastLine), terms: c.terms(from.Terms),
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(from.Summary), "\n"); first != "" {
		out.first, out.summary = c.line(first, summaryCells), c.block(from.Summary)
	}
	for _, l := range from.Lines {
		label := string(lineWords(l.Kind))
		if label == "" {
			label = l.Kind
		}
		if l.Why != "" {
			label += ": " + l.Why
		}
		out.lines = append(out.lines, stageText{c.line(label, labelCells), l.At})
	}
	said, _ := outcomeWords(from.Outcome)
	if from.Outcome == "" {
		said = wOpen
	}
	out.search = strings.ToLower(strings.Join(append(from.Terms.Values(), from.Domain, from.Act, from.OperationID, from.Summary, from.Round, string(said)), "\n"))
	return out
}

// receiptsStage is where the User is on the screen of past operations.
type receiptsStage int

const (
	receiptsList receiptsStage = iota
	receiptsSearch
	receiptsOne
)

// receipts is the screen of past operations.
type receipts struct {
	stage  receiptsStage
	loaded bool
	failed *troubleText
	all    []receiptText // newest first
	field  field         // what is searched for
	chosen int
	top    int // of a receipt
}

type receiptsMsg struct {
	all []Receipt
	err error
}

func readReceipts(d *device, h History) tea.Cmd {
	return d.do(func(ctx context.Context) tea.Msg {
		all, err := h.Receipts(ctx)
		return receiptsMsg{all, err}
	})
}

func (r *receipts) take(c charset, msg receiptsMsg) {
	r.loaded, r.failed, r.all = true, nil, nil
	if msg.err != nil {
		r.failed = c.trouble(trouble.Of(msg.err))
	}
	for i := len(msg.all) - 1; i >= 0; i-- {
		r.all = append(r.all, c.receipt(msg.all[i]))
	}
}

// found are those that have every word that is searched for.
func (r *receipts) found() []receiptText {
	wanted := strings.Fields(strings.ToLower(string(r.field.text)))
	var out []receiptText
	for _, one := range r.all {
		has := true
		for _, word := range wanted {
			has = has && strings.Contains(one.search, word)
		}
		if has {
			out = append(out, one)
		}
	}
	return out
}

func (r *receipts) at(found []receiptText) int { return max(min(r.chosen, len(found)-1), 0) }

func (r *receipts) keys() []binding {
	switch r.stage {
	case receiptsSearch:
		return fieldKeys(false, wStopSearch)
	case receiptsOne:
		return append(scrollKeys(), binding{[]string{"q", "esc"}, actLeave, "q", wBack})
	default:
		keys := []binding{{[]string{"/"}, actSearch, "/", wSearch}}
		if len(r.found()) > 0 {
			keys = append(append(keys, longChooseKeys()...), binding{[]string{" ", "enter"}, actOpen, "space", wReceipt})
		}
		return append(keys, binding{[]string{"?"}, actHelp, "?", wHelp}, binding{[]string{"q", "esc"}, actLeave, "q", wBack})
	}
}

// receiptsKey does what a key means on the screen of past operations. None of it can become an answer.
func (m *model) receiptsKey(k tea.KeyMsg, does action) tea.Cmd {
	r := &m.receipts
	switch r.stage {
	case receiptsSearch:
		switch does {
		case actNone:
			r.field.take(k)
		case actOpen:
			r.stage = receiptsList
		case actLeave:
			r.field.wipe()
			r.stage = receiptsList
		default:
			r.field.edit(does)
		}
		r.chosen = 0
	case receiptsOne:
		if does == actLeave {
			r.stage = receiptsList
			return nil
		}
		bottom := foot(m.painter, m.w, "", r.keys())
		r.top = max(min(r.top+steps(does, roomFor(m.h, bottom)), len(r.body(m.painter, m.w))-roomFor(m.h, bottom)), 0)
	default:
		found := r.found()
		switch does {
		case actSearch:
			r.stage = receiptsSearch
		case actOpen:
			if len(found) > 0 {
				r.stage, r.top = receiptsOne, 0
			}
		case actHelp:
			m.help = m.newHelp()
		case actLeave:
			m.place = atTasks
		default:
			r.chosen = moved(r.at(found), does, len(found))
		}
	}
	return nil
}
