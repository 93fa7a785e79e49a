package mcpserver

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/lock"
)

// A locked home is not asked for its passphrase: the terminal is the client's. The call says so, and nothing begins.
func TestALockedHomeIsSaidAndNotAskedFor(t *testing.T) {
	dir := t.TempDir()
	h, err := home.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Make(h.Answers(), secret.New("a passphrase of many characters"), 2, time.Now(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	s := newServer(t.Context(), Config{Agent: agent.Config{Home: dir}})
	m := talk(t, s.life, s.tools())
	m.refused("poppy_join", `{"company":"https://shop.test"}`, "this home is locked")
	if s.agent != nil {
		t.Error("a run was begun")
	}
}
