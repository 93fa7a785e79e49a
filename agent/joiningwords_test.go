package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/testsite"
)

// In the drafts a Session is started with a token request: an agent that the Company does not know learns there that it is
// unknown, and nothing of its browser is to blame.
func TestAnUnknownAgentIsToldWhatToCheck(t *testing.T) {
	w := newWorldOf(t, testsite.Config{Profile: "0.2", Control: "127.0.0.1:0"})
	w.control("revoke-client", map[string]any{"client_id": "https://agent.test/agent.json"})
	_, err := w.start(&log{}).Visit(t.Context(), w.site.Company())
	said, ok := errors.AsType[*trouble.Error](err)
	if !ok || !strings.Contains(said.What, "no Session could be had") || !strings.Contains(said.Next, "papaver identity check") || strings.Contains(said.Done, "assertion") {
		t.Errorf("Visit = %+v", err)
	}
}
