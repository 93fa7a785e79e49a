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
)

// The peer's MCP server.
const (
	mcpPath = "/mcp"
	mcpURL  = "https://company.example" + mcpPath
)

// mcp asks the MCP server, signed out: its tools are listed, and one of them asks to sign in. The Session is one of its
// own: at the peer's Company of draft 0.2 a token for the MCP server makes the website forget who signed in.
func (j *journeys) mcp(ctx context.Context) error {
	s, err := j.newSession(j.server, account.Key{Issuer: j.company.Issuer, Label: "mcp"})
	if err != nil {
		return err
	}
	// The first call is not the MCP server's: only then does the Session know that it is signed out.
	if err := wanted(j.callAPI(ctx, s), session.ErrSignInRequired); err != nil {
		return err
	}
	answer, err := j.callMCP(ctx, s, "tools/list", map[string]any{})
	if err != nil {
		return err
	}
	if !strings.Contains(answer, `"list_orders"`) {
		return fmt.Errorf("it lists no tools: %s", tail(answer))
	}
	_, err = j.callMCP(ctx, s, "tools/call", map[string]any{"name": "list_orders", "arguments": map[string]any{}})
	return wanted(err, session.ErrSignInRequired)
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
