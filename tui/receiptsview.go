package tui

import "github.com/papaver-agent/papaver/internal/plaintext"

// view is the screen of past operations, of h lines.
func (r *receipts) view(p painter, cs charset, w, h int, keys []binding) []line {
	bottom := foot(p, w, "", keys)
	if r.stage == receiptsOne {
		body := r.body(p, w)
		return scrolled(p, w, h, wTitleReceipt, body, bottom, max(min(r.top, len(body)-roomFor(h, bottom)), 0))
	}
	if r.stage == receiptsSearch || len(r.field.text) > 0 {
		searched := flow(line{ours(wSearchedFor, strong)}, w, nil, nil)
		bottom = append(append(searched, r.field.lines(cs, w, 2)...), bottom...)
	}
	body, from, to := r.list(p, w)
	top := 0
	if room := roomFor(h, bottom); to > room {
		top = min(from, max(len(body)-room, 0))
	}
	return scrolled(p, w, h, wTitleReceipts, body, bottom, top)
}

// list is one entry for each operation that is found, and which of its lines are chosen.
func (r *receipts) list(p painter, w int) (out []line, from, to int) {
	found := r.found()
	switch {
	case !r.loaded:
		return flow(say(wReadingLedger), w, nil, nil), 0, 0
	case r.failed != nil:
		return r.failed.lines(w), 0, 0
	case len(r.all) == 0:
		return flow(say(wNoReceipts), w, nil, nil), 0, 0
	case len(found) == 0:
		return flow(say(wNothingFound), w, nil, nil), 0, 0
	}
	for i, one := range found {
		lead := say("  ")
		if i == r.at(found) {
			lead, from = line{ours(p.marks.doing+" ", strong)}, len(out)
		}
		said, l := one.ended()
		head := line{ours(words(one.began.In(p.zone).Format("2 Jan 2006 15:04  ")), faint), theirs(one.company.domain, strong), ours("  "+said, l)}
		out = append(out, flow(head, w, lead, say("    "))...)
		if one.first != (plaintext.Text{}) {
			out = append(out, flow(append(line{ours(wCompanyCalls, faint)}, turned(one.first, plain)...), w, say("    "), say("    "))...)
		}
		if i == r.at(found) {
			to = len(out)
		}
	}
	return out, from, to
}

// ended says how it ended, or that it has not.
func (one receiptText) ended() (words, look) {
	if one.outcome == "" {
		return wOpen, alert
	}
	return outcomeWords(one.outcome)
}

// body is the receipt that is chosen.
func (r *receipts) body(p painter, w int) []line {
	found := r.found()
	if len(found) == 0 {
		return nil
	}
	one := found[r.at(found)]
	out := labelled(wCompany, one.company.address(), w)
	add := func(label words, l line) { out = append(out, labelled(label, l, w)...) }
	said, l := one.ended()
	add(wOutcome, line{ours(said, l)})
	if one.next != (plaintext.Text{}) {
		add(wStands, append(append(line{}, theirs(one.stands, plain)), ours(wLaterRun, plain), theirs(one.next, plain)))
	}
	if one.act != (plaintext.Text{}) {
		add(wAct, turned(one.act, plain))
	} else {
		add(wAct, line{ours(wNoAct, alert)})
	}
	if !one.decided.IsZero() {
		add(wAnswered, say(answeredWords(one.approved, one.byUser)+whenWords(one.decided.In(p.zone))))
	}
	add(wRecorded, say(linesWords(one.firstLine, one.lastLine)))
	out = append(out, labelled(wRoundID, line{theirs(one.round, plain)}, w)...)
	out = append(out, one.block(p, w)...)
	for _, s := range one.lines {
		lead := line{ours(words(s.at.In(p.zone).Format("2006-01-02 15:04:05  ")), faint)}
		out = append(out, flow(line{theirs(s.label, plain)}, w, lead, say("    "))...)
	}
	return out
}

// block are the Company's words and terms, framed as in a question.
func (one receiptText) block(p painter, w int) []line {
	if len(one.terms) == 0 {
		return flow(say(wNoTerms), w, nil, nil)
	}
	q := question{kind: kindReceipt, summary: one.summary, terms: one.terms}
	out := companyLines(q, p, w)
	out = append(out, labelled(wOperationID, append(turned(one.operation, plain), ours(wRevision, faint), theirs(one.revision, plain)), w)...)
	return append(out, labelled(wHash, line{theirs(one.hash, plain)}, w)...)
}
