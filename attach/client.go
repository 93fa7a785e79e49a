package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/papaver-agent/papaver/approval"
)

const (
	dialTimeout   = 2 * time.Second
	answerTimeout = 15 * time.Second // for the desk's reply to an answer
	maxClosed     = 100              // closed questions that are remembered
)

// ErrProcessGone is returned for an answer to a question whose process has ended. The question is still open in the
// ledger.
var ErrProcessGone = errors.New("the process that asked has ended")

// Client watches the running processes of a home. Safe for concurrent use.
type Client struct {
	folder  folder
	only    string // the one run to watch; empty: all
	notices notices
	ended   chan struct{} // a connection ended: its socket is tried again, if it is still there

	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	links   map[string]*link // by run
	view    View
	changed chan struct{}
	fresh   bool // the view has changed since Next returned it
}

// link is the connection to one running process.
type link struct {
	conn    *net.UnixConn
	mu      sync.Mutex // of writing
	waiting map[int]chan decided
	number  int
}

// Watch begins to watch the running processes in dir: that of run only, or all, those that start later included.
// Close ends it.
func Watch(ctx context.Context, dir, run string) (*Client, error) {
	d, err := openFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("the run folder: %w", err)
	}
	return watchFolder(ctx, d, run, noticesOf(d)), nil
}

func watchFolder(ctx context.Context, d folder, run string, n notices) *Client {
	c := &Client{
		folder: d, only: run, notices: n, ended: make(chan struct{}, 1), links: make(map[string]*link), changed: make(chan struct{}), fresh: true,
	}
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	left := c.look()
	c.running.Go(func() { c.lookOn(left) })
	return c
}

// Close ends the watch. Open questions stay open.
func (c *Client) Close() {
	c.end()
	c.mu.Lock()
	for _, l := range c.links {
		_ = l.conn.Close()
	}
	c.mu.Unlock()
	c.running.Wait()
	c.notices.close()
	c.folder.close()
}

// Next blocks until the view has changed since it was last returned, and returns it; the first call returns at once.
func (c *Client) Next(ctx context.Context) (View, error) {
	for {
		c.mu.Lock()
		if c.fresh {
			c.fresh = false
			view := c.copyLocked()
			c.mu.Unlock()
			return view, nil
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-c.life.Done():
			return View{}, c.life.Err()
		case <-ctx.Done():
			return View{}, ctx.Err()
		}
	}
}

// copyLocked returns the view with its questions ordered by deadline, in slices that nobody else changes.
func (c *Client) copyLocked() View {
	v := View{Tasks: slices.Clone(c.view.Tasks), Questions: slices.Clone(c.view.Questions), Closed: slices.Clone(c.view.Closed)}
	slices.SortStableFunc(v.Tasks, func(a, b Task) int { return a.Started.Compare(b.Started) })
	slices.SortStableFunc(v.Questions, func(a, b Question) int {
		return a.Request.Question.Deadline.Compare(b.Request.Question.Deadline)
	})
	return v
}

// Answer gives an answer to the desk it belongs to and returns the decision that stands, with ErrAnswered when that is
// an earlier one.
func (c *Client) Answer(ctx context.Context, a approval.Answer) (approval.Decision, error) {
	c.mu.Lock()
	i := indexOf(c.view.Questions, func(q Question) bool { return q.Request.ID == a.Shown().Request })
	if i < 0 {
		defer c.mu.Unlock()
		if j := indexOf(c.view.Closed, func(o Closed) bool { return o.Request == a.Shown().Request }); j >= 0 {
			return c.view.Closed[j].Decision, approval.ErrAnswered
		}
		return approval.Decision{}, approval.ErrUnknownRequest
	}
	l := c.links[c.view.Questions[i].Task]
	c.mu.Unlock()
	if l == nil {
		return approval.Decision{}, ErrProcessGone
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	return l.ask(ctx, a)
}

func (l *link) ask(ctx context.Context, a approval.Answer) (approval.Decision, error) {
	l.mu.Lock()
	if l.waiting == nil {
		l.mu.Unlock()
		return approval.Decision{}, ErrProcessGone
	}
	l.number++
	number, reply := l.number, make(chan decided, 1)
	l.waiting[number] = reply
	_ = l.conn.SetWriteDeadline(time.Now().Add(dialTimeout))
	err := writeMessage(l.conn, message{Answer: &answer{Number: number, Approved: a.Approved(), Shown: a.Shown(), Signature: a.Signature()}})
	l.mu.Unlock()
	if err != nil {
		return approval.Decision{}, fmt.Errorf("%w: %w", ErrProcessGone, err)
	}
	select {
	case d, ok := <-reply:
		if !ok {
			return approval.Decision{}, ErrProcessGone
		}
		return d.Decision, errorOf(d.Refused)
	case <-ctx.Done():
		return approval.Decision{}, ctx.Err()
	}
}

// lookOn looks at the folder when there is a reason to. left says that the first look left a socket out.
func (c *Client) lookOn(left bool) {
	pause := c.notices.pause(left, 0)
	for {
		fresh, ok := c.notices.wait(c.life, c.ended, pause)
		if !ok {
			return
		}
		if fresh {
			pause = 0
		}
		pause = c.notices.pause(c.look(), pause)
	}
}

// look connects to the sockets that are new, and clears away what a process that was killed left behind. It reports whether
// a socket is left that could not be joined.
func (c *Client) look() (left bool) {
	entries, err := os.ReadDir(c.folder.path("."))
	if err != nil {
		return false // the home was removed: nothing runs there any more
	}
	for _, entry := range entries {
		run, ok := strings.CutSuffix(entry.Name(), sockSuffix)
		if !ok || (c.only != "" && run != c.only) {
			continue
		}
		c.mu.Lock()
		_, known := c.links[run]
		c.mu.Unlock()
		if !known && !c.connect(run) {
			left = true
		}
	}
	return left
}

// connect joins a run's socket. It reports false when the socket is there and can't be joined now.
func (c *Client) connect(run string) bool {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(c.life, "unix", c.folder.path(run+sockSuffix))
	if err != nil {
		return c.clear(run)
	}
	l := &link{conn: conn.(*net.UnixConn), waiting: make(map[int]chan decided)}
	if err := sameUser(l.conn); err != nil {
		_ = conn.Close()
		return false
	}
	c.mu.Lock()
	c.links[run] = l
	c.mu.Unlock()
	c.running.Go(func() { c.follow(run, l) })
	return true
}

// clear removes the files of a run whose lock is free: its process is dead. It reports false when it is not.
func (c *Client) clear(run string) bool {
	lock, err := tryLock(c.folder.path(run + lockSuffix))
	if err != nil || lock == nil {
		return false
	}
	_ = os.Remove(c.folder.path(run + sockSuffix))
	_ = os.Remove(c.folder.path(run + lockSuffix))
	_ = lock.Close()
	return true
}

// follow reads one process's news until its connection ends.
func (c *Client) follow(run string, l *link) {
	stop := context.AfterFunc(c.life, func() { _ = l.conn.Close() })
	defer stop()
	reader := newReader(l.conn)
	greeted, foreign := false, false
	for {
		m, err := readMessage(reader)
		if err != nil {
			foreign = !greeted && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !errors.Is(err, syscall.ECONNRESET)
			break
		}
		if !greeted && (m.Hello == nil || m.Hello.Protocol != protocol) {
			foreign = true // another version's process: its socket stays in links and is left alone
			break
		}
		greeted = true
		if m.Decided != nil {
			l.mu.Lock()
			if reply, ok := l.waiting[m.Decided.Number]; ok {
				delete(l.waiting, m.Decided.Number)
				reply <- *m.Decided
			}
			l.mu.Unlock()
			continue
		}
		c.update(func(v *View) { v.take(m, run) })
	}
	_ = l.conn.Close()
	l.mu.Lock()
	for _, reply := range l.waiting {
		close(reply)
	}
	l.waiting = nil
	l.mu.Unlock()
	c.update(func(v *View) { v.lose(run) })
	if !foreign { // one that ended before its greeting may only have been about to begin, or to end: it is tried again
		c.mu.Lock()
		delete(c.links, run)
		c.mu.Unlock()
		select {
		case c.ended <- struct{}{}:
		default: // that is told already
		}
	}
}

func (c *Client) update(change func(*View)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.view)
	c.fresh = true
	close(c.changed)
	c.changed = make(chan struct{})
}

// take puts one piece of news in the view.
func (v *View) take(m message, run string) {
	switch {
	case m.Task != nil:
		m.Task.ID = run
		if i := indexOf(v.Tasks, func(t Task) bool { return t.ID == run }); i >= 0 {
			v.Tasks[i] = *m.Task
		} else {
			v.Tasks = append(v.Tasks, *m.Task)
		}
	case m.Question != nil:
		m.Question.Task = run
		v.drop(m.Question.Request.ID)
		v.Questions = append(v.Questions, *m.Question)
	case m.Gone != "":
		v.drop(m.Gone)
	case m.Closed != nil:
		v.Closed = append(v.Closed, *m.Closed)
		if len(v.Closed) > maxClosed {
			v.Closed = slices.Delete(v.Closed, 0, len(v.Closed)-maxClosed)
		}
	}
}

func (v *View) drop(id approval.RequestID) {
	v.Questions = slices.DeleteFunc(v.Questions, func(q Question) bool { return q.Request.ID == id })
}

// lose notes that a process is gone. A task that did not say how it ended was interrupted.
func (v *View) lose(run string) {
	v.Questions = slices.DeleteFunc(v.Questions, func(q Question) bool { return q.Task == run })
	for i := range v.Tasks {
		if v.Tasks[i].ID == run && v.Tasks[i].Outcome == "" {
			v.Tasks[i].Outcome, v.Tasks[i].Now = "interrupted", "its process has ended"
		}
	}
}
