package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

// The peer's MCP server.
const (
	mcpPath = "/mcp"
	mcpURL  = "https://company.example" + mcpPath
)

// mcp asks the MCP server, signed out and signed in. The Session is one of its own: at the peer's Company of draft 0.2 a
// token for the MCP server makes the website forget who signed in.
func (j *journeys) mcp(ctx context.Context) {
	key := account.Key{Issuer: j.company.Issuer, Label: "mcp"}
	s, err := j.newSession(j.server, key)
	if err != nil {
		j.t.fail("mcp", err.Error())
		return
	}
	answer, err := j.callMCP(ctx, s, "tools/list", map[string]any{})
	if err == nil && !strings.Contains(answer, `"list_orders"`) {
		err = fmt.Errorf("it lists no tools: %s", tail(answer))
	}
	j.t.check("mcp: the server lists its tools, as the Session's first use", err)
	j.t.check("mcp: a tool asks to sign in", wanted(j.listOrders(ctx, s), session.ErrSignInRequired))
	_, err = j.signIn(ctx, s, key, signin.Direct, &user{control: j.control, account: dana})
	j.t.check("mcp: the User signs in", err)
	j.t.check("mcp: the tool answers", j.listOrders(ctx, s))
	j.t.check("mcp: the clocks move", j.advance(ctx, almostAnHour))
	j.t.check("mcp: the tool answers after its token was renewed", j.listOrders(ctx, s))
	j.t.check("mcp: the API answers", j.callAPI(ctx, s))
	_, err = j.accounts.SignOut(ctx, key, j.server)
	j.t.check("mcp: the User signs out", err)
	j.t.check("mcp: the tool asks to sign in again", wanted(j.listOrders(ctx, s), session.ErrSignInRequired))
}

// listOrders uses the one tool that needs the account.
func (j *journeys) listOrders(ctx context.Context, s *session.Session) error {
	answer, err := j.callMCP(ctx, s, "tools/call", map[string]any{"name": "list_orders", "arguments": map[string]any{}})
	if err == nil && !strings.Contains(answer, "ord_1001") {
		err = fmt.Errorf("it has no order: %s", tail(answer))
	}
	return err
}

// callMCP asks the MCP server for something, and returns the answer's text.
func (j *journeys) callMCP(ctx context.Context, s *session.Session, method string, params any) (string, error) {
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, mcpURL, bytes.NewReader(message))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err := s.Do(ctx, j.client, req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }() // it was only read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %s", res.StatusCode, tail(string(body)))
	}
	return string(body), nil
}
