package testsite

import (
	"encoding/json"
	"net/http"

	"github.com/papaver-agent/papaver/testsite/authserver"
	"github.com/papaver-agent/papaver/testsite/wire"
)

const (
	maxRPC     = 64 << 10 // bytes of a request
	mcpVersion = "2025-06-18"
	toolOrders = "list_orders"
)

// rpcAnswer is a JSON-RPC response.
type rpcAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// tool is a tool as MCP lists it.
type tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"inputSchema"`
}

type toolResult struct {
	Content    []map[string]string `json:"content"`
	Structured any                 `json:"structuredContent,omitempty"`
	IsError    bool                `json:"isError"`
}

// mcpDocument is the MCP server's protected resource metadata (RFC 9728). It lists no DPoP algorithms: it takes Bearer
// tokens.
func (s *Site) mcpDocument(w http.ResponseWriter, r *http.Request) {
	s.serveDocument(w, r, resourceDocument{
		Resource: s.mcpURL(), ResourceName: companyName, AuthorizationServers: []string{s.issuer()},
		BearerMethods: []string{"header"}, ScopesSupported: []string{authserver.ScopeRead},
	})
}

// mcpServer is a small MCP server: one tool, one answer to one request (draft 0.1, sections 4.3 and 6).
func (s *Site) mcpServer(w http.ResponseWriter, r *http.Request) {
	who, denial := s.auth.Access(w, r, true)
	if denial != nil {
		denial.Metadata = s.mcpMeta()
		denial.Write(w)
		return
	}
	if s.limited(w, who.Client) {
		return
	}
	m, err := authserver.ReadJSON(w, r, maxRPC)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, rpcAnswer{Version: "2.0", Error: &rpcError{-32700, "the request can't be read"}})
		return
	}
	method, _ := wire.Text(m, "method")
	if _, asks := m["id"]; !asks { // a notification
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := rpcAnswer{Version: "2.0", ID: m["id"]}
	switch method {
	case "initialize":
		answer.Result = map[string]any{
			"protocolVersion": mcpVersion, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]string{"name": companyName, "version": "1"},
		}
	case "ping":
		answer.Result = struct{}{}
	case "tools/list":
		answer.Result = map[string]any{"tools": []tool{{toolOrders, "List orders (poppy:read)", map[string]any{"type": "object", "properties": map[string]any{}}}}}
	case "tools/call":
		params, _ := wire.Members(m["params"])
		if name, _ := wire.Text(params, "name"); name != toolOrders {
			answer.Error = &rpcError{-32602, "no tool of that name"}
			break
		}
		if denial := s.mcpDenial(who); denial != nil {
			denial.Write(w)
			return
		}
		orders := s.apiOrders(s.shop.account(owner{client: who.Client, user: who.User, account: who.Account}))
		answer.Result = toolResult{
			Content:    []map[string]string{{"type": "text", "text": "One order: " + orderID + "."}},
			Structured: map[string]any{"orders": orders},
		}
	default:
		answer.Error = &rpcError{-32601, "no such method"}
	}
	writeJSON(w, http.StatusOK, answer)
}

// mcpDenial says what a caller lacks for the tool.
func (s *Site) mcpDenial(who authserver.Access) *authserver.Denial {
	var d *authserver.Denial
	switch {
	case !who.SignedIn():
		d = s.auth.SignInRequired(authserver.ScopeRead)
	case !who.Has(authserver.ScopeRead):
		d = s.auth.InsufficientScope(authserver.ScopeRead)
	default:
		return nil
	}
	d.Scheme, d.Metadata = "Bearer", s.mcpMeta()
	return d
}
