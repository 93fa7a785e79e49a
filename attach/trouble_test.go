package attach

import (
	"bytes"
	"errors"
	"testing"

	"github.com/papaver-agent/papaver/internal/trouble"
)

func TestWhatWentWrongReachesTheTerminals(t *testing.T) {
	t.Parallel()
	said := (&trouble.Error{What: "it broke", Done: "a", Undone: "b", Next: "c", Err: errors.New("because")}).Said()
	for name, sent := range map[string]*trouble.Error{
		"in words":           said,
		"with a cause still": {What: "it broke", Err: errors.New("because")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wire bytes.Buffer
			if err := writeMessage(&wire, message{Task: &Task{ID: "run", Outcome: "error", Trouble: sent}}); err != nil {
				t.Fatal(err)
			}
			m, err := readMessage(newReader(&wire))
			if err != nil {
				t.Fatalf("the message cannot be read: %v", err)
			}
			if got := m.Task.Trouble; got == nil || got.What != sent.What || got.Done != sent.Done || got.Undone != sent.Undone || got.Next != sent.Next {
				t.Errorf("what went wrong came as %+v", got)
			}
		})
	}
	if said.What != "it broke: because" {
		t.Errorf("the cause is not said: %q", said.What)
	}
}
