package tui

import (
	"slices"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/internal/plaintext"
)

// minWidth and minHeight are the smallest terminal, in cells, in which a question is shown and answered.
const minWidth, minHeight = 40, 12

// questionView is one question on the screen: what it says, laid out for one size, and how far it is scrolled.
type questionView struct {
	q     question
	frame frame
	top   int // the first line of the body that is on the screen
	// seenTop and seenAt are where the screen stood when a frame was surely drawn: however many keys come at once, the
	// screen moves by at most a page from there, so no line is passed over.
	seenTop int
	seenAt  time.Time
}

// frame is a question at one size: our lines that stay, lines that scroll, and the room for them.
type frame struct {
	head, body []line
	room       int
}

// newQuestionView lays q out for a screen of w by h cells, and shows its beginning. note says what happened just before.
func newQuestionView(q question, p painter, w, h int, note words, now time.Time) questionView {
	who, head, body := whoLines(q, w), ourLines(q, w, note, now), companyLines(q, p, w)
	fixed := 2 + len(questionFoot(p, w, ready)) // the title, and the rule above the foot
	if room := h - fixed; len(who)+len(head) <= room/2 {
		head = append(who, head...)
	} else {
		head, body = briefHead(q, w, room/2, who, append(head, body...))
	}
	return questionView{q: q, frame: frame{head, body, max(h-fixed-len(head), 1)}, seenAt: now}
}

// last is the largest top.
func (f frame) last() int { return max(len(f.body)-f.room, 0) }

// end says whether the last line is on the screen.
func (v questionView) end() bool { return v.top == v.frame.last() }

// scroll moves by lines.
func (v *questionView) scroll(by int, now time.Time) {
	if now.Sub(v.seenAt) >= drawTime {
		v.seenTop, v.seenAt = v.top, now
	}
	v.top = max(v.top+by, v.seenTop-v.frame.room, 0)
	v.top = min(v.top, v.seenTop+v.frame.room, v.frame.last())
}

// whoLines say whose question it is.
func whoLines(q question, w int) []line { return labelled(wCompany, q.company.introduce(), w) }

// briefHead is what stays on a screen that has no room for all of our lines: whose question it is, and how much differs, in at
// most room lines. The others scroll before the Company's.
func briefHead(q question, w, room int, who, rest []line) (head, body []line) {
	var differ []line
	if n := len(q.differences); n > 0 {
		differ = flow(line{ours(differWords(n), alert)}, w, nil, say("  "))
	}
	if len(who)+len(differ) <= room {
		return append(who, differ...), rest
	}
	rest = append(who, rest...)
	if short := labelled(wCompany, q.company.address(), w); len(short)+len(differ) <= room {
		return append(short, differ...), rest
	}
	return nil, rest
}

// ourLines are the lines above the Company's block, below whose question it is.
func ourLines(q question, w int, note words, now time.Time) []line {
	var out []line
	add := func(label words, l line) { out = append(out, labelled(label, l, w)...) }
	if q.account == (plaintext.Text{}) {
		add(wSession, say(wGuest))
	} else {
		add(wSession, append(line{ours(wAccount, plain)}, turned(q.account, plain)...))
	}
	add(wAct, q.does())
	add(wAnswerBy, say(moment(q.deadline, now)))
	if q.before && q.kind == approval.KindApproval {
		out = append(out, flow(line{ours(wAskedBefore, strong)}, w, nil, nil)...)
	}
	for _, d := range q.differences {
		out = append(out, flow(append(line{ours(differs, alert)}, turned(d, strong)...), w, nil, say("  "))...)
	}
	if len(q.differences) == 0 && q.kind == approval.KindApproval {
		add(wChecked, say(agreeWords(len(q.summary) > 0)))
	}
	if after := afterWords(q); after != "" {
		out = append(out, flow(line{ours(after, alert)}, w, nil, nil)...)
	}
	if note != "" {
		out = append(out, flow(line{ours(note, strong)}, w, nil, nil)...)
	}
	return out
}

// kindReceipt is the kind of what was asked in the past; it is never asked.
const kindReceipt approval.Kind = "receipt"

// companyLines are the Company's block: a bar on the left of every line, a label of ours on its borders.
func companyLines(q question, p painter, w int) []line {
	m := p.marks
	var out []line
	border := func(corner, label words) {
		out = append(out, clip(line{
			ours(corner+m.rule, faint), ours(label, strong), ours(repeat(m.rule, w-2-label.cells()), faint),
		}, w))
	}
	fill := func(lines []framed) {
		for _, l := range lines {
			out = append(out, l.edge(m))
		}
	}
	corner, label := m.top, wTheirTerms
	switch q.kind {
	case approval.KindRerun:
		label = wTheirRecord
	case kindReceipt:
		label = wTheirReceipt
	}
	if len(q.summary) > 0 {
		border(corner, wTheirWords)
		fill(theirLines(summaryLines(q.summary, w-2)))
		if slices.ContainsFunc(q.summary, plaintext.RightToLeft) {
			fill(besideLines([]words{wRightToLeftValue}, 0, w-2))
		}
		corner = m.middle
	}
	border(corner, label)
	fill(termLines(q.terms, w-2, p))
	border(m.bottom, "")
	return out
}

// title is the first line of a screen that stands between a question and its deadline.
func (v questionView) title(says words, now time.Time, w int) line {
	left := v.q.deadline.Sub(now)
	urgency := plain
	if left < time.Minute {
		urgency = alert
	}
	return spread(line{ours(says, strong)}, line{ours(timeLeft(left), urgency)}, w)
}

// view is the screen.
func (v questionView) view(p painter, w int, r readiness, now time.Time) []line {
	out := []line{v.title(wTitleQuestion, now, w)}
	out = append(out, v.frame.head...)
	end := min(v.top+v.frame.room, len(v.frame.body))
	out = append(out, v.frame.body[v.top:end]...)
	for range v.frame.room - (end - v.top) {
		out = append(out, line{})
	}
	return append(append(out, extent(p, v.top, end, len(v.frame.body), w)), questionFoot(p, w, r)...)
}

// extent is the rule below what scrolls; it says how much of it there is.
func extent(p painter, top, end, all, w int) line {
	if top == 0 && end == all {
		return line{ours(repeat(p.marks.rule, w), faint)}
	}
	at := extentWords(top+1, end, all)
	return line{
		ours(repeat(p.marks.rule, w-2-at.cells()), faint), ours(at, strong), ours(repeat(p.marks.rule, 2), faint),
	}
}

// tooSmallView says how large the terminal must be.
func tooSmallView(w, h int) []line {
	lines := append(flow(say(wTooSmall1), max(w, 2), nil, nil), flow(say(wTooSmall2), max(w, 2), nil, nil)...)
	return lines[:min(len(lines), max(h, 1))]
}
