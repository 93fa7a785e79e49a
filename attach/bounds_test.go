package attach

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// However much a Company says, and however often, a task fits in one message, and its last operations are in it.
func TestATaskWithManyLongOperationsFitsInAMessage(t *testing.T) {
	for name, text := range map[string]string{"plain": strings.Repeat("long ", 1<<18), "escaped": strings.Repeat("\x00", 1<<20), "wide": strings.Repeat("ü", 1<<19)} {
		t.Run(name, func(t *testing.T) {
			task := Task{ID: "run", Title: "Exchange"}
			for i := range 500 {
				r := Round{ID: fmt.Sprint(i), Summary: text, Said: text}
				for range 3 {
					r.Stages = append(r.Stages, Stage{Label: text})
				}
				task.Rounds = append(task.Rounds, r)
			}
			list := news(View{}, View{Tasks: []Task{task}})
			var wire bytes.Buffer
			if err := writeMessage(&wire, list[0]); err != nil {
				t.Fatal(err)
			}
			m, err := readMessage(newReader(&wire))
			if err != nil {
				t.Fatal(err)
			}
			rounds := m.Task.Rounds
			if m.Task.Earlier+len(rounds) != 500 {
				t.Errorf("%d rounds came, and %d are said to be left out", len(rounds), m.Task.Earlier)
			}
			if len(rounds) == 0 || len(rounds) > maxRounds || rounds[len(rounds)-1].ID != "499" {
				t.Fatalf("%d rounds came", len(rounds))
			}
			if s := rounds[0].Summary; len(s) > maxText || !strings.HasSuffix(s, "…") || !strings.HasPrefix(text, strings.TrimSuffix(s, "…")) {
				t.Errorf("the summary came as %d bytes, %.20q", len(s), s)
			}
			if len(task.Rounds) != 500 || task.Rounds[0].Summary != text {
				t.Error("the process's own task was changed")
			}
		})
	}
}

// An error of one connection does not leave a run without terminals.
func TestTheSocketGoesOnAfterAnErrorThatPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{ending: make(chan struct{})}
		conn, calls := &net.UnixConn{}, 0
		got, ok := s.next(func() (*net.UnixConn, error) {
			if calls++; calls < 3 {
				return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
			}
			return conn, nil
		})
		if got != conn || !ok || calls != 3 {
			t.Errorf("%v, %v after %d calls", got, ok, calls)
		}
		if _, ok := s.next(func() (*net.UnixConn, error) { return nil, &net.OpError{Op: "accept", Err: net.ErrClosed} }); ok {
			t.Error("a closed socket gave a connection")
		}
		time.AfterFunc(time.Minute, func() { close(s.ending) })
		if _, ok := s.next(func() (*net.UnixConn, error) { return nil, errors.New("again and again") }); ok {
			t.Error("it went on after its end")
		}
	})
}

// A process that ends a connection before its greeting is tried again: it may only have been beginning.
func TestAConnectionThatEndsBeforeItsGreetingIsMadeAgain(t *testing.T) {
	leavesNothing(t)
	dir := runFolder(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "run_1"+sockSuffix), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if n > 0 {
				_, _ = conn.Write([]byte(`{"hello":{"protocol":1,"run":"run_1","pid":1}}` + "\n" + `{"task":{"id":"run_1","title":"y"}}` + "\n"))
				_, _ = conn.Read(make([]byte, 1)) // until the terminal ends it
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-served })
	c := watch(t, dir, "")
	until(t, c, "the task", tasks(1))
}
