package attach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/internal/durable"
)

const (
	writeTimeout = 10 * time.Second       // one message to a terminal that may have stopped reading
	drainTimeout = 2 * time.Second        // for the last news at the end
	acceptPause  = 100 * time.Millisecond // after a connection that could not be taken
)

// Source is what a running process shows, and where the answers of its terminals go. Safe for concurrent use.
type Source interface {
	// Snapshot returns the process's tasks, its open questions and those that were closed lately, and a channel that
	// is closed when any of it changes.
	Snapshot() (View, <-chan struct{})
	Decide(ctx context.Context, a approval.Answer) (approval.Decision, error)
}

// Server is a running process's socket in the home's run folder.
type Server struct {
	run    string
	source Source
	folder folder
	lock   *os.File
	socket *net.UnixListener

	life    context.Context
	end     context.CancelFunc
	serving sync.WaitGroup

	mu     sync.Mutex
	ending chan struct{} // closed when the last news is to be sent and then nothing more
}

// Serve makes the lock file and the socket of the process's run in dir and begins to answer terminals. Both are gone
// after Close. run is a short name that no other run has.
func Serve(ctx context.Context, dir, run string, source Source) (*Server, error) {
	if err := durable.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("the run folder: %w", err)
	}
	d, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	s := &Server{run: run, source: source, folder: d, ending: make(chan struct{})}
	if s.lock, err = tryLock(d.path(run + lockSuffix)); err != nil || s.lock == nil {
		d.close()
		return nil, errors.Join(fmt.Errorf("the lock of run %s is taken", run), err)
	}
	// Between bind and the first accept a terminal may connect already; between bind and chmod nobody else can, the
	// folder is 0700.
	s.socket, err = net.ListenUnix("unix", &net.UnixAddr{Name: d.path(run + sockSuffix), Net: "unix"})
	if err == nil {
		s.socket.SetUnlinkOnClose(false) // its name is relative to a folder that is closed first
		err = os.Chmod(d.path(run+sockSuffix), 0o600)
	}
	if err != nil {
		if s.socket != nil {
			_ = s.socket.Close()
		}
		s.remove()
		return nil, fmt.Errorf("the socket of run %s: %w", run, err)
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.serving.Go(s.accept)
	return s, nil
}

// Close sends the terminals the last news, ends their connections and removes socket and lock.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.ending:
		s.mu.Unlock()
		return
	default:
	}
	close(s.ending)
	s.mu.Unlock()
	_ = s.socket.Close()
	stop := time.AfterFunc(drainTimeout, s.end)
	s.serving.Wait()
	stop.Stop()
	s.end()
	s.remove()
}

func (s *Server) remove() {
	_ = os.Remove(s.folder.path(s.run + sockSuffix))
	_ = os.Remove(s.folder.path(s.run + lockSuffix))
	_ = s.lock.Close()
	s.folder.close()
}

func (s *Server) accept() {
	for {
		conn, ok := s.next(s.socket.AcceptUnix)
		if !ok {
			return
		}
		if sameUser(conn) != nil {
			_ = conn.Close()
			continue
		}
		s.serving.Go(func() { s.serve(conn) })
	}
}

// next returns the next terminal's connection; false when the socket is closed. Any other error passes, as one that there
// are too many open files does, and must not leave a run without terminals.
func (s *Server) next(accept func() (*net.UnixConn, error)) (*net.UnixConn, bool) {
	for {
		conn, err := accept()
		switch {
		case err == nil:
			return conn, true
		case errors.Is(err, net.ErrClosed):
			return nil, false
		}
		timer := time.NewTimer(acceptPause)
		select {
		case <-timer.C:
		case <-s.ending:
			timer.Stop()
			return nil, false
		}
	}
}

// serve writes the news to one terminal and reads its answers.
func (s *Server) serve(conn *net.UnixConn) {
	ctx, cancel := context.WithCancel(s.life)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()

	replies := make(chan message)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer cancel()
		s.read(ctx, conn, replies)
	})
	s.write(ctx, conn, replies)
	cancel()
	_ = conn.Close()
	reading.Wait()
}

func (s *Server) read(ctx context.Context, conn net.Conn, replies chan<- message) {
	reader := newReader(conn)
	for {
		m, err := readMessage(reader)
		if err != nil {
			return
		}
		if m.Answer == nil {
			continue // a later version's message
		}
		d, err := s.source.Decide(ctx, approval.FromUser(m.Answer.Approved, m.Answer.Shown).Signed(m.Answer.Signature))
		select {
		case replies <- message{Decided: &decided{Number: m.Answer.Number, Decision: d, Refused: refusalOf(err)}}:
		case <-ctx.Done():
			return
		}
	}
}

// write sends what the terminal does not have yet, then what changes.
func (s *Server) write(ctx context.Context, conn net.Conn, replies <-chan message) {
	send := func(m message) bool {
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		return writeMessage(conn, m) == nil
	}
	if !send(message{Hello: &hello{Protocol: protocol, Run: s.run, PID: os.Getpid()}}) {
		return
	}
	has := View{}
	for {
		view, changed := s.source.Snapshot()
		for _, m := range news(has, view) {
			if !send(m) {
				return
			}
		}
		has = view
		select {
		case m := <-replies:
			if !send(m) {
				return
			}
		case <-changed:
		case <-s.ending:
			// What changed until now is still sent, then the connection ends.
			view, _ := s.source.Snapshot()
			for _, m := range news(has, view) {
				if !send(m) {
					return
				}
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

// news lists what is in view and not in has.
func news(has, view View) []message {
	var list []message
	for _, t := range view.Tasks {
		if i := indexOf(has.Tasks, func(o Task) bool { return o.ID == t.ID }); i < 0 || !reflect.DeepEqual(has.Tasks[i], t) {
			bounded := t.bounded()
			list = append(list, message{Task: &bounded})
		}
	}
	for _, c := range view.Closed {
		if indexOf(has.Closed, func(o Closed) bool { return o.Request == c.Request }) < 0 {
			list = append(list, message{Closed: &c})
		}
	}
	for _, q := range view.Questions {
		i := indexOf(has.Questions, func(o Question) bool { return o.Request.ID == q.Request.ID })
		if i < 0 || !has.Questions[i].Request.Question.Deadline.Equal(q.Request.Question.Deadline) { // which moves with the clocks
			list = append(list, message{Question: &q})
		}
	}
	for _, q := range has.Questions {
		if indexOf(view.Questions, func(o Question) bool { return o.Request.ID == q.Request.ID }) < 0 {
			list = append(list, message{Gone: q.Request.ID})
		}
	}
	return list
}

func indexOf[T any](list []T, is func(T) bool) int {
	for i, v := range list {
		if is(v) {
			return i
		}
	}
	return -1
}
