package tui

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
)

// answerTimeout is how long the desk may take to write an answer down.
const answerTimeout = 10 * time.Second

// The messages of our own commands. Whatever else arrives came from the keyboard, and starts the quiet time again.
type (
	viewMsg     struct{ view attach.View }
	feedEndMsg  struct{ err error }
	tickMsg     struct{}
	wakeMsg     struct{} // something of the arming is due
	browsedMsg  struct{ err error }
	answeredMsg struct {
		shown    approval.Shown
		approve  bool
		decision approval.Decision
		err      error
	}
)

// place is the screen the User is at. Help lies over it.
type place int

const (
	atTasks place = iota
	atList
	atQuestion
	atCompanies
	atReceipts
)

// model is the state of the full-screen UI.
type model struct {
	cfg     Config
	d       *device
	charset charset
	painter painter

	w, h     int
	now      time.Time // what the screen shows; changes once a second
	lastTick time.Time
	ticking  bool // a tick is due

	inbox  inbox
	place  place
	help   *helpView
	tasks  tasksView
	chosen int // in the list
	shown  questionView
	arming arming
	note   words // what happened last
	titled words // the window's title

	keeper keeper
	unlock *unlocking // the passphrase is asked for; nil else

	companies companies
	receipts  receipts
	under     place // where the User was when the question came that is on the screen
	held      bool  // the User was typing when it came; see arming

	ending error // why the UI ended by the User's key or the feed
}

func newModel(cfg Config, d *device) *model {
	now := cfg.Now()
	return &model{
		keeper: newKeeper(cfg, now), cfg: cfg, d: d, charset: charset{cfg.Unicode}, painter: newPainter(cfg.Color, cfg.Unicode, now.Location()), now: now, lastTick: now,
		tasks: tasksView{stays: !cfg.UntilDone, signs: cfg.Accounts != nil, history: cfg.History != nil}, inbox: newInbox(charset{cfg.Unicode}),
	}
}

// Init implements tea.Model.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.d.size(), nextView(m.d, m.cfg.Feed))
}

// Update implements tea.Model. It does no I/O: what has to be done outside is in the command it returns.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := m.cfg.Now()
	if stood := m.d.stood(now); !stood.IsZero() {
		m.arming.disturb(stood)
	}
	if m.ticking && now.Sub(m.lastTick) > asleepTime {
		m.arming.disturb(now)
	}
	cmd := m.handle(msg, now)
	if m.cfg.Title {
		m.titled = titleWords(len(m.inbox.waiting()))
	}
	return m, tea.Batch(cmd, m.tick(now))
}

// resumed goes on after the process was stopped: the User may have seen anything meanwhile, so nothing that was shown or
// pressed before counts.
func (m *model) resumed(now time.Time) tea.Cmd {
	m.putAside()
	if m.place == atQuestion {
		m.note = noteResumed
	}
	m.show(now)
	return tea.Batch(m.wake(now), m.d.size())
}

func (m *model) handle(msg tea.Msg, now time.Time) tea.Cmd {
	switch msg := msg.(type) {
	case tickMsg:
		m.keeper.pass(now)
		m.now, m.lastTick, m.ticking = now, now, false
		return nil
	case viewMsg:
		return tea.Batch(m.changed(msg.view, now), nextView(m.d, m.cfg.Feed))
	case feedEndMsg:
		m.ending = msg.err
		return tea.Quit
	case knownMsg, offersMsg, signedOutMsg, promptMsg, signedInMsg:
		return m.companiesMsg(msg)
	case receiptsMsg:
		m.receipts.take(m.charset, msg)
		return nil
	case browsedMsg:
		m.companies.browsed(msg.err)
		return nil
	case lockedMsg:
		return m.locked(msg, now)
	case openedMsg:
		return m.opened(msg, now)
	case suspendMsg:
		m.putAside()
		return m.d.suspend()
	case continuedMsg:
		m.putAside()
		return m.d.again()
	case resumedMsg:
		return m.resumed(now)
	case answeredMsg:
		return m.answered(msg, now)
	case wakeMsg:
		if approve, shown, ok := m.arming.settled(now); ok && m.place == atQuestion && m.help == nil && m.unlock == nil && shown == m.shown.q.shows {
			return m.answer(approve, m.shown.q, now)
		}
		return nil
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		m.show(now)
		return m.wake(now)
	case tea.KeyMsg:
		return m.key(msg, now)
	default:
		m.arming.disturb(now)
		return m.wake(now)
	}
}

// nextView waits for the next view of the feed.
func nextView(d *device, feed Feed) tea.Cmd {
	return d.do(func(ctx context.Context) tea.Msg {
		view, err := feed.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return feedEndMsg{err}
		}
		return viewMsg{view}
	})
}

// errLockUnread is returned for an answer that was not sent because the home's lock could not be read or used.
var errLockUnread = errors.New("this home's lock can't be used")

// sendAnswer gives the User's answer to the desk, signed when the home has a lock: when that is not open, it says so and sends
// nothing. It is the one place that makes an answer.
func sendAnswer(d *device, feed Feed, k keeper, approve bool, q question) tea.Cmd {
	return d.do(func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		answer := approval.FromUser(approve, q.shows)
		key, closed, err := k.open()
		switch {
		case err != nil:
			return answeredMsg{q.shows, approve, approval.Decision{}, fmt.Errorf("%w: %w", errLockUnread, err)}
		case closed != nil:
			return lockedMsg{lock: *closed, errand: toAnswer, question: q, approve: approve}
		case key != nil:
			statement := q.statement
			statement.Approved = approve
			sig, err := key.Sign(statement)
			if err != nil {
				return answeredMsg{q.shows, approve, approval.Decision{}, fmt.Errorf("%w: %w", errLockUnread, err)}
			}
			answer = answer.Signed(sig)
		}
		decision, err := feed.Answer(ctx, answer)
		return answeredMsg{q.shows, approve, decision, err}
	})
}

// changed takes a new view in. What is on the screen stays, unless it is no longer true.
func (m *model) changed(view attach.View, now time.Time) tea.Cmd {
	news := m.inbox.take(view)
	m.tasks.tasks = m.inbox.tasks
	if m.cfg.UntilDone && m.inbox.done() {
		m.place, m.help = atTasks, nil
		return tea.Quit
	}
	if m.place == atQuestion {
		switch q, open := m.inbox.question(m.shown.q.id); {
		case !open:
			m.leave(m.inbox.ended(m.shown.q.id))
		case !q.same(m.shown.q):
			m.open(q, noteChangedNow, now)
		}
	}
	m.come(now)
	return tea.Batch(m.wake(now), ring(m.d, m.cfg.Bell && news))
}

// ring rings the terminal's bell.
func ring(d *device, wanted bool) tea.Cmd {
	if !wanted {
		return nil
	}
	return d.do(func(context.Context) tea.Msg {
		_, _ = d.Write([]byte("\a")) // a terminal that is gone ends the UI by itself
		return nil
	})
}

// come brings the first question to the front that may come by itself, unless another one is there.
func (m *model) come(now time.Time) {
	if m.place == atQuestion {
		return
	}
	if q, ok := m.inbox.next(); ok {
		m.open(q, "", now)
	}
}

// open puts a question on the screen. note says why, where that is not plain.
func (m *model) open(q question, note words, now time.Time) {
	typing := m.unlockAt()
	if typing && m.unlock.needed.errand != toAnswer {
		m.toList(say(noteAskedMeanwhile))
	}
	m.dropUnlock()
	if m.place != atQuestion {
		m.under = m.place
		m.held = typing || m.place == atCompanies && m.companies.typing() || m.place == atReceipts && m.receipts.stage == receiptsSearch
		if m.companies.stage == stageConfirm {
			m.companies.stage = stageList // it is said once more when the User is back
		}
	}
	m.place, m.help, m.note, m.shown = atQuestion, nil, note, questionView{q: q}
	m.show(now)
}

// show draws the question on the screen anew from its beginning: nothing that was pressed or seen before counts.
func (m *model) show(now time.Time) {
	m.arming = arming{}
	if m.place != atQuestion || m.tooSmall() {
		return
	}
	m.shown = newQuestionView(m.shown.q, m.painter, m.w, m.h, m.note, now)
	m.now = now
	m.arming.show(m.shown.q.shows, m.shown.end(), now)
	m.arming.held = m.held
}

// leave goes from a question to where the User was, or to what still waits.
func (m *model) leave(note words) {
	m.dropUnlock()
	m.note, m.arming = note, arming{}
	m.place = m.back()
	if m.place == atTasks && !m.cfg.UntilDone && len(m.inbox.waiting()) > 0 {
		m.place = atList
	}
}

// back is where the User goes on after a question.
func (m *model) back() place {
	if m.under == atCompanies || m.under == atReceipts {
		return m.under
	}
	return atTasks
}

func (m *model) tooSmall() bool { return m.w < minWidth || m.h < minHeight }

// wake comes back when the arming has something due.
func (m *model) wake(now time.Time) tea.Cmd {
	if wait := m.arming.wait(now); wait > 0 {
		return m.d.after(wait, wakeMsg{})
	}
	return nil
}

// answer sends the User's answer to the desk, unless the question closed in the meantime.
func (m *model) answer(approve bool, read question, now time.Time) tea.Cmd {
	shown := read.shows
	q, open := m.inbox.question(shown.Request)
	if !open || !q.same(read) || !now.Before(q.deadline) {
		note := noteExpired
		if open && now.Before(q.deadline) {
			note = noteChanged
		} else if !open {
			note = noteTooLate
		}
		m.inbox.leave(shown.Request)
		m.leave(note)
		m.come(now)
		return m.wake(now)
	}
	m.inbox.sending(shown.Request)
	m.note, m.place = "", m.back()
	m.keeper.pass(now)
	return sendAnswer(m.d, m.cfg.Feed, m.keeper, approve, read)
}

// answered says what became of an answer. A question that is still open comes back with it.
func (m *model) answered(msg answeredMsg, now time.Time) tea.Cmd {
	note := m.inbox.answered(msg)
	if msg.err == nil {
		m.keeper.used = now.Round(0)
	}
	if m.place == atQuestion { // another one, which it says nothing about
		return nil
	}
	m.note = note
	if q, open := m.inbox.question(msg.shown.Request); open {
		m.open(q, note, now)
	}
	m.come(now)
	return m.wake(now)
}

// View implements tea.Model.
func (m *model) View() string {
	if m.w == 0 {
		return ""
	}
	return m.painter.page(m.screen())
}

func (m *model) screen() []line {
	switch {
	case m.tooSmall():
		return tooSmallView(m.w, m.h)
	case m.help != nil:
		out := m.help.view(m.painter, m.w, m.h)
		if m.place == atQuestion {
			out[0] = m.shown.title(wTitleHelp, m.now, m.w)
		}
		return out
	case m.unlockAt():
		return m.unlock.view(m.painter, m.charset, m.w, m.h, m.now)
	case m.place == atQuestion:
		return m.shown.view(m.painter, m.w, m.arming.state(m.cfg.Now()), m.now)
	case m.place == atCompanies:
		return m.companies.view(m.painter, m.charset, m.w, m.h, m.note, m.keys(), m.now)
	case m.place == atReceipts:
		return m.receipts.view(m.painter, m.charset, m.w, m.h, m.keys())
	case m.place == atList:
		return m.list().view(m.painter, m.w, m.h, m.now)
	default:
		return m.tasksNow().view(m.painter, m.w, m.h, m.now)
	}
}

func (m *model) list() listView {
	waiting := m.inbox.grouped()
	return listView{waiting, max(min(m.chosen, len(waiting)-1), 0), m.note}
}

func (m *model) tasksNow() tasksView {
	v := m.tasks
	v.waiting, v.note = len(m.inbox.waiting()), m.note
	return v
}

// lastScreen is what stays in the terminal when the UI is gone: all of the tasks.
func (m *model) lastScreen(w int) string {
	body := m.tasks.body(m.painter, w, m.cfg.Now())
	return m.painter.page(body) + "\n"
}
