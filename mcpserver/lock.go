package mcpserver

import (
	"errors"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/lock"
)

// unlocked refuses a home whose lock is not open: the terminal of the program that started us is that program's, so the
// passphrase is not asked for there.
func (s *server) unlocked() error {
	h, err := home.Open(s.cfg.Agent.Home)
	if err != nil {
		return err
	}
	if _, err := lock.Load(h.Answers()); errors.Is(err, lock.ErrNone) || s.cfg.Agent.Key != nil {
		return nil
	} else if err != nil {
		return err
	}
	return &trouble.Error{
		What: "this home is locked, and papaver mcp has no terminal to ask the User for the passphrase", Done: "nothing", Undone: "no browser was started and no page was opened",
		Next: "tell the User: run papaver mcp --open in a terminal, which asks for the passphrase; then start this MCP server again",
	}
}
