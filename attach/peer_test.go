package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/approval"
)

// peer listens as a process of another make would, and says what it is told to; closed is closed when the terminal
// has ended the connection.
func peer(t *testing.T, dir, run string, says ...string) (closed <-chan struct{}) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, run+sockSuffix), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	over, served := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		for first := true; ; first = false {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			for _, line := range says {
				_, _ = conn.Write([]byte(line + "\n"))
			}
			_, _ = conn.Read(make([]byte, 1)) // until the terminal ends it
			_ = conn.Close()
			if first {
				close(over)
			}
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-served })
	return over
}

func awaited(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
		t.Fatalf("%s never came", what)
	}
}

func TestAProcessOfAnotherProtocolOrThatSpeaksGarbageShowsNothing(t *testing.T) {
	leavesNothing(t)
	const task = `{"task":{"id":"x","title":"y"}}`
	for name, says := range map[string][]string{
		"another version": {`{"hello":{"protocol":2,"run":"a","pid":1}}`, task},
		"no hello":        {task},
		"garbage":         {"\x00\xff<html>"},
		"half a message":  {`{"hello":{"protocol":1`},
		"an empty line":   {""},
		"too long":        {strings.Repeat("x", maxMessage+1)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := runFolder(t)
			closed := peer(t, dir, "other", says...)
			c := watch(t, dir, "")
			awaited(t, "the end of the connection", closed)
			c.look() // it is left alone
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.view.Tasks) != 0 || len(c.links) != 1 {
				t.Errorf("%d tasks, %d links", len(c.view.Tasks), len(c.links))
			}
		})
	}
}

func TestGarbageAfterTheGreetingEndsTheConnectionAndNotTheTerminal(t *testing.T) {
	leavesNothing(t)
	dir := runFolder(t)
	closed := peer(t, dir, "odd", `{"hello":{"protocol":1}}`, `{"task":{"id":"other","title":"y"}}`, `{"decided":{"number":7}}`, `{"later":1}`, `{`)
	p := newProcess(t)
	serve(t, dir, "good", p)
	c := watch(t, dir, "")
	awaited(t, "the end of the connection", closed)
	v := until(t, c, "both tasks", tasks(2))
	for _, task := range v.Tasks {
		if task.ID != "odd" && task.ID != "good" { // a process names no run but its own
			t.Errorf("a task of %s", task.ID)
		}
	}
}

// A terminal that speaks garbage, reads nothing or asks for too much loses its connection; the others do not notice.
func TestATerminalThatMisbehavesDisturbsNobody(t *testing.T) {
	leavesNothing(t)
	dir, p := runFolder(t), newProcess(t)
	r := p.ask("v1", time.Hour)
	serve(t, dir, "run_1", p)
	for _, line := range []string{"garbage\n", "\n", `{"answer":7}` + "\n", strings.Repeat("x", maxMessage+1), `{"answer":{"approved":"yes"}}` + "\n"} {
		conn, err := net.Dial("unix", filepath.Join(dir, "run_1.sock"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(limit))
		_, _ = conn.Write([]byte(line))
		for in := bufio.NewScanner(conn); in.Scan(); { // until the process ends it
		}
		_ = conn.Close()
	}
	silent, err := net.Dial("unix", filepath.Join(dir, "run_1.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	// What it does not know it passes over; an answer with nothing shown is no answer.
	_, _ = silent.Write([]byte(`{"later":{}}` + "\n" + `{"answer":{"number":1,"approved":true}}` + "\n" + `{"answer":{"number":2,"approved":true,"shown":{"request":"` + string(r.ID) + `"}}}` + "\n"))
	in := newReader(silent)
	_ = silent.SetReadDeadline(time.Now().Add(limit))
	refused := make(map[int]string)
	for len(refused) < 2 {
		m, err := readMessage(in)
		if err != nil {
			t.Fatal(err)
		}
		if m.Decided != nil {
			refused[m.Decided.Number] = m.Decided.Refused
		}
	}
	if refused[1] != "unknown" || refused[2] != "other-terms" {
		t.Errorf("refused: %v", refused)
	}
	c := watch(t, dir, "")
	until(t, c, "the question", questions(1))
	if d, err := c.Answer(t.Context(), approval.FromUser(false, r.Shows())); err != nil || d.State != approval.Denied {
		t.Errorf("%+v, %v", d, err)
	}
}

// What a peer sends is a message or an error, and a message that is read and written again is the same.
func FuzzReadMessage(f *testing.F) {
	for _, line := range []string{"", "{}", `{"hello":{"protocol":1,"run":"r","pid":2}}`, `{"gone":"q_1"}`, `{"answer":{"number":1,"approved":true,"shown":{"request":"q"}}}`,
		`{"question":{"task":"t","request":{"id":"q","question":{"operation":null}}}}`, `{"decided":{"number":1,"refused":"answered"}}`, `{"task":{"id":"x","steps":[{"label":"a"}]}}`, "[", "null"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		m, err := readMessage(newReader(strings.NewReader(line + "\n")))
		if err != nil {
			return
		}
		var out strings.Builder
		if err := writeMessage(&out, m); err != nil {
			t.Fatalf("it was read and can't be written: %v", err)
		}
		again, err := readMessage(newReader(strings.NewReader(out.String())))
		if err != nil {
			t.Fatalf("%q was written and can't be read: %v", out.String(), err)
		}
		first, _ := json.Marshal(m)
		second, _ := json.Marshal(again)
		if string(first) != string(second) {
			t.Errorf("%s became %s", first, second)
		}
		(&View{}).take(m, "run")
	})
}

func TestAMessageThatIsTooLongIsNotSent(t *testing.T) {
	var out strings.Builder
	if err := writeMessage(&out, message{Gone: approval.RequestID(strings.Repeat("x", maxMessage))}); err == nil || out.Len() != 0 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}
