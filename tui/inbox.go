package tui

import (
	"errors"
	"reflect"
	"slices"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/lock"
)

// inbox is what the feed has told, and what the User did with it.
type inbox struct {
	charset   charset
	tasks     []task
	questions []question // soonest deadline first, as the view has them
	closed    map[approval.RequestID]approval.Decision
	left      map[approval.RequestID]bool   // the User left it: it doesn't come to the front again
	sent      map[approval.RequestID]bool   // an answer is on its way, or has arrived
	known     map[approval.RequestID]bool   // it was told of
	rounds    map[string]approval.RequestID // the first question of each round

	madeTasks     map[string]made[attach.Task, task]
	madeQuestions map[approval.RequestID]made[attach.Question, question]
}

func newInbox(c charset) inbox {
	return inbox{charset: c, left: map[approval.RequestID]bool{}, sent: map[approval.RequestID]bool{}, known: map[approval.RequestID]bool{}, rounds: map[string]approval.RequestID{}}
}

// made is the text of something in a view, which is made once for as long as that does not change: each piece of news comes
// with all the others.
type made[From, Text any] struct {
	from From
	text Text
	done bool
}

func (m made[From, Text]) anew(from From, make func(From) Text) made[From, Text] {
	if m.done && reflect.DeepEqual(m.from, from) {
		return m
	}
	return made[From, Text]{from, make(from), true}
}

// take takes a view over, and reports whether it has a question that was not there before.
func (b *inbox) take(view attach.View) (news bool) {
	b.tasks, b.questions = nil, nil
	b.closed = map[approval.RequestID]approval.Decision{}
	tasks, questions := map[string]made[attach.Task, task]{}, map[approval.RequestID]made[attach.Question, question]{}
	for _, t := range view.Tasks {
		of := b.madeTasks[t.ID].anew(t, b.charset.task)
		tasks[t.ID] = of
		b.tasks = append(b.tasks, of.text)
	}
	for _, q := range view.Questions {
		id, round := q.Request.ID, q.Request.Question.Round
		of := b.madeQuestions[id].anew(q, b.charset.question)
		questions[id] = of
		if _, met := b.rounds[round]; !met {
			b.rounds[round] = id
		}
		of.text.before = b.rounds[round] != id
		b.questions = append(b.questions, of.text)
		news = news || !b.known[id]
		b.known[id] = true
	}
	b.madeTasks, b.madeQuestions = tasks, questions
	for _, c := range view.Closed {
		b.closed[c.Request] = c.Decision
	}
	return news
}

// waiting are the questions that can be answered.
func (b *inbox) waiting() []question {
	return slices.DeleteFunc(slices.Clone(b.questions), func(q question) bool { return b.sent[q.id] })
}

// grouped are the waiting questions Company by Company: the one with the soonest deadline first, and so in each.
func (b *inbox) grouped() []question {
	waiting := b.waiting()
	first := map[companyText]int{}
	for i, q := range waiting {
		if _, known := first[q.company]; !known {
			first[q.company] = i
		}
	}
	slices.SortStableFunc(waiting, func(x, y question) int { return first[x.company] - first[y.company] })
	return waiting
}

func (b *inbox) question(id approval.RequestID) (question, bool) {
	for _, q := range b.waiting() {
		if q.id == id {
			return q, true
		}
	}
	return question{}, false
}

// next is the question that comes to the front by itself.
func (b *inbox) next() (question, bool) {
	for _, q := range b.waiting() {
		if q.front && !b.left[q.id] {
			return q, true
		}
	}
	return question{}, false
}

func (b *inbox) leave(id approval.RequestID)   { b.left[id] = true }
func (b *inbox) unsent(id approval.RequestID)  { delete(b.sent, id) }
func (b *inbox) sending(id approval.RequestID) { b.sent[id] = true }

// ended says how a question ended that is gone from the screen.
func (b *inbox) ended(id approval.RequestID) words {
	if d, ok := b.closed[id]; ok {
		return closedWords(d)
	}
	return noteGone
}

// answered says what became of an answer. A question whose answer was not recorded is open again.
func (b *inbox) answered(msg answeredMsg) words {
	switch {
	case msg.err == nil && msg.decision.State == approval.Approved && msg.approve:
		return noteApproved
	case msg.err == nil && msg.decision.State == approval.Denied && !msg.approve:
		return noteDenied
	case msg.decision.State == approval.Expired:
		return noteExpired
	case errors.Is(msg.err, approval.ErrOtherTerms):
		delete(b.sent, msg.shown.Request)
		return noteChanged
	case errors.Is(msg.err, lock.ErrSignature):
		delete(b.sent, msg.shown.Request)
		return noteUnsigned
	case errors.Is(msg.err, errLockUnread):
		delete(b.sent, msg.shown.Request)
		return noteLockUnread
	case errors.Is(msg.err, approval.ErrAnswered), errors.Is(msg.err, approval.ErrUnknownRequest), msg.err == nil:
		return noteTooLate
	default:
		delete(b.sent, msg.shown.Request)
		return noteNotRecorded
	}
}

// done says that every task it was told of has ended.
func (b *inbox) done() bool {
	for _, t := range b.tasks {
		if !t.over() {
			return false
		}
	}
	return len(b.tasks) > 0
}
