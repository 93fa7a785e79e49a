package tui

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
)

// printedMsg says that everything handed to the terminal was taken by it.
type printedMsg struct{}

// plainModel asks line by line: nothing is drawn twice and nothing moves, so a screen reader can follow, and a terminal
// that knows no control sequences will do. A question is printed page by page. While it is open nothing else is.
type plainModel struct {
	cfg     Config
	d       *device
	painter painter
	w, h    int

	inbox   inbox
	out     []line          // waits for the terminal
	busy    bool            // the terminal is being written to
	told    map[string]bool // the facts that were printed
	choices []approval.RequestID
	asking  *asking
	keeper  keeper
	unlock  *unlocking // the passphrase is asked for; nil else
	arming  arming
	ending  error
	leaving bool // everything is said; quit when it is printed
	ticking bool // a tick is due

	toldOf      string // the task that was told of last
	seen        bool   // a view has come
	saidWaiting bool   // whether the keys that were printed last were those while a question waits
}

// asking is a question while it is being read and answered.
type asking struct {
	q     question
	lines []line // what has not been printed yet
	page  bool   // a page was handed to the terminal and its end not yet told to the arming
	begun bool   // the arming knows of it

	offered bool // the answer keys were printed
}

func newPlainModel(cfg Config, d *device) *plainModel {
	return &plainModel{
		keeper: newKeeper(cfg, cfg.Now()), cfg: cfg, d: d, painter: newPainter(false, cfg.Unicode, cfg.Now().Location()), inbox: newInbox(charset{cfg.Unicode}), told: map[string]bool{},
	}
}

// Init implements tea.Model.
func (m *plainModel) Init() tea.Cmd {
	return tea.Batch(m.d.size(), nextView(m.d, m.cfg.Feed))
}

// Update implements tea.Model.
func (m *plainModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	now := m.cfg.Now()
	if stood := m.d.stood(now); !stood.IsZero() {
		m.arming.disturb(stood)
	}
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		if m.asking != nil {
			m.say(wResized)
			m.ask(m.asking.q, now)
		}
		m.next(now)
	case viewMsg:
		news := m.changed(msg.view, now)
		cmd = tea.Batch(nextView(m.d, m.cfg.Feed), ring(m.d, m.cfg.Bell && news))
	case feedEndMsg:
		m.ending, m.leaving = msg.err, true
	case tickMsg:
		m.keeper.pass(now)
		m.remind(now)
		m.ticking = false
	case printedMsg:
		m.busy = false
		m.printed(now)
	case wakeMsg:
		if approve, shown, ok := m.arming.settled(now); ok && m.asking != nil {
			cmd = m.answer(approve, shown, now)
		}
		m.offer(now)
	case lockedMsg:
		m.locked(msg, now)
	case openedMsg:
		cmd = m.opened(msg, now)
	case answeredMsg:
		if msg.err == nil {
			m.keeper.used = now.Round(0)
		}
		m.say(m.inbox.answered(msg))
		m.next(now)
	case knownMsg:
		if m.asking == nil && m.unlock == nil { // while a question is open nothing else is printed
			m.companies(msg)
		}
	case tea.KeyMsg:
		cmd = m.key(msg, now)
	case suspendMsg:
		m.putAside()
		cmd = m.d.suspend()
	case continuedMsg:
		m.putAside()
		cmd = m.d.again()
	case resumedMsg:
		m.putAside()
		if m.asking != nil {
			m.say(noteResumed)
			m.ask(m.asking.q, now)
		} else {
			m.next(now)
		}
	default:
		m.arming.disturb(now)
	}
	return m, tea.Batch(cmd, m.print(), m.wake(now), m.tick())
}

// tick comes back in a second where a deadline passes, or the lock stays open.
func (m *plainModel) tick() tea.Cmd {
	if m.ticking || m.asking == nil && m.unlock == nil && m.keeper.key == nil {
		return nil
	}
	m.ticking = true
	return m.d.after(tickTime, tickMsg{})
}

// wake comes back when the answer keys begin to count.
func (m *plainModel) wake(now time.Time) tea.Cmd {
	if wait := m.arming.wait(now); wait > 0 && m.asking != nil && !m.asking.offered {
		return m.d.after(wait, wakeMsg{})
	}
	return nil
}

// View implements tea.Model. Lines are printed as they come; there is no screen.
func (m *plainModel) View() string { return "" }

func (m *plainModel) say(w words) { m.out = append(m.out, flow(say(w), m.width(), nil, nil)...) }

func (m *plainModel) width() int { return max(m.w, minWidth) }

// print hands what waits to the terminal, once at a time.
func (m *plainModel) print() tea.Cmd {
	if m.busy || m.w == 0 {
		return nil
	}
	if len(m.out) == 0 {
		if m.leaving {
			return tea.Quit
		}
		return nil
	}
	var b strings.Builder
	for _, l := range m.out {
		b.WriteString(m.painter.paint(l) + "\r\n")
	}
	m.out, m.busy = nil, true
	text := b.String()
	return m.d.do(func(context.Context) tea.Msg {
		_, _ = m.d.Write([]byte(text)) // a terminal that is gone ends the UI by itself (device)
		return printedMsg{}
	})
}

func (m *plainModel) changed(view attach.View, now time.Time) (news bool) {
	news = m.inbox.take(view)
	m.seen = true
	if u := m.unlock; u != nil {
		switch q, open := m.inbox.question(u.needed.question.id); {
		case !open:
			m.dropUnlock()
			m.say(m.inbox.ended(u.needed.question.id))
		case !q.same(u.needed.question):
			m.dropUnlock()
			m.say(noteChangedNow)
		}
	}
	if a := m.asking; a != nil {
		switch q, open := m.inbox.question(a.q.id); {
		case !open:
			m.asking, m.arming = nil, arming{}
			m.say(m.inbox.ended(a.q.id))
		case !q.same(a.q):
			m.say(noteChangedNow)
			m.ask(q, now)
		}
	}
	m.next(now)
	return news
}

// next tells what is new and asks what waits, unless a question is open already.
func (m *plainModel) next(now time.Time) {
	if m.asking != nil || m.unlock != nil || m.w == 0 {
		return
	}
	for _, t := range m.inbox.tasks {
		for i, f := range t.facts(m.painter, m.width()) {
			if m.told[f.key] {
				continue
			}
			if i > 0 && m.toldOf != t.id { // another task was told of since
				m.out = append(m.out, t.facts(m.painter, m.width())[0].lines...)
			}
			m.told[f.key], m.toldOf = true, t.id
			m.out = append(m.out, f.lines...)
		}
	}
	if m.cfg.UntilDone && m.inbox.done() {
		m.leaving = true
		return
	}
	if q, ok := m.inbox.next(); ok {
		m.ask(q, now)
		return
	}
	for _, q := range m.inbox.waiting() {
		if key := "waits " + string(q.id); !m.told[key] {
			m.told[key] = true
			m.say(waitingWords(len(m.inbox.waiting())))
			break
		}
	}
	m.idle()
}

// ask prints a question from its beginning.
func (m *plainModel) ask(q question, now time.Time) {
	m.arming = arming{}
	if m.w < minWidth || m.h < minHeight {
		m.asking = &asking{q: q}
		m.say(wTooSmall1)
		m.say(wTooSmall2)
		return
	}
	head := []line{{}, spread(line{ours(wTitleQuestion, strong)}, say(timeLeft(q.deadline.Sub(now))), m.width())}
	lines := append(append(head, whoLines(q, m.width())...), ourLines(q, m.width(), "", now)...)
	m.asking = &asking{q: q, lines: append(lines, companyLines(q, m.painter, m.width())...)}
	m.page()
}

// page hands the next page of the question to the terminal.
func (m *plainModel) page() {
	a := m.asking
	n := min(max(m.h-2, 1), len(a.lines))
	m.out, a.lines, a.page = append(m.out, a.lines[:n]...), a.lines[n:], true
	if more := len(a.lines); more > 0 {
		m.say(moreWords(more))
		return
	}
	m.say(wPlainRule)
}

// offer prints the keys when they count for the first time.
func (m *plainModel) offer(now time.Time) {
	if m.asking == nil || m.asking.offered || m.arming.state(now) != ready {
		return
	}
	m.asking.offered = true
	m.out = append(m.out, foot(m.painter, m.width(), "", slices.DeleteFunc(plainKeys(), func(b binding) bool {
		return b.does == actPageDown // there is no more to read
	}))...)
}

// printed tells the arming what is on the terminal now.
func (m *plainModel) printed(now time.Time) {
	a := m.asking
	if a == nil || !a.page || len(m.out) > 0 {
		return
	}
	a.page = false
	if !a.begun {
		a.begun = true
		m.arming.show(a.q.shows, len(a.lines) == 0, now)
		return
	}
	m.arming.moved(len(a.lines) == 0, now)
}

func (m *plainModel) key(k tea.KeyMsg, now time.Time) tea.Cmd {
	keys := plainKeys()
	switch {
	case m.unlock != nil:
		keys = m.unlock.keys()
	case m.asking == nil:
		keys = m.idleKeys(len(m.inbox.waiting()) > 0)
	}
	does := meaning(keys, k)
	if does == actStop {
		if m.cfg.UntilDone {
			m.ending = ErrInterrupted
		}
		return tea.Quit
	}
	if does == actSuspend {
		m.putAside()
		return m.d.suspend()
	}
	if m.unlock != nil {
		return m.unlockKey(k, does, now)
	}
	if m.asking == nil {
		return m.idleKey(does, k, now)
	}
	switch does {
	case actApprove, actDeny:
		if m.asking.page { // its end is not on the terminal yet
			m.arming.disturb(now)
			return nil
		}
		if m.arming.press(does == actApprove, now) {
			return m.d.after(settleTime, wakeMsg{})
		}
		return nil
	case actPageDown:
		if len(m.asking.lines) > 0 && !m.asking.page {
			m.page()
		}
	case actHelp: // the terms go off the screen with it, so they are shown anew
		m.out = append(append(m.out, m.help()...), line{})
		m.ask(m.asking.q, now)
		return nil
	case actLeave:
		m.inbox.leave(m.asking.q.id)
		m.asking, m.arming = nil, arming{}
		m.say(noteLeft)
		m.next(now)
		return nil
	}
	m.arming.disturb(now)
	return nil
}

// answer sends the User's answer to the desk, unless the question closed in the meantime.
func (m *plainModel) answer(approve bool, shown approval.Shown, now time.Time) tea.Cmd {
	q := m.asking.q
	m.asking = nil
	if q.shows != shown {
		m.inbox.leave(q.id)
		m.say(noteExpired)
		m.next(now)
		return nil
	}
	return m.send(approve, q, now)
}

// remind says twice how little time is left.
func (m *plainModel) remind(now time.Time) {
	if m.asking == nil {
		return
	}
	left := m.asking.q.deadline.Sub(now)
	for _, at := range []time.Duration{time.Minute, 10 * time.Second} {
		key := "left " + at.String() + string(m.asking.q.id)
		if left > 0 && left <= at && !m.told[key] {
			m.told[key] = true
			m.say(timeLeft(left) + wToAnswer)
			return
		}
	}
}
