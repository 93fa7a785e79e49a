package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

func (l *wireLog) accountTokens() []string {
	spent := make(map[string]bool)
	return l.each(func(e *exchange) string {
		form := e.form()
		token := form.Get("refresh_token")
		switch {
		case e.path() == revokePath && spent[form.Get("token")]:
			return "a token that was exchanged is revoked in place of its successor"
		case e.path() != tokenPath || token == "":
			return ""
		case form.Get("session_id") == "":
			return "without session_id"
		case spent[token]:
			return "it was exchanged before"
		}
		spent[token] = e.answer().AccountToken != ""
		return ""
	})
}

func (l *wireLog) staleTokens() []string {
	newest, of := make(map[string]string), make(map[string]string)
	return l.each(func(e *exchange) string {
		token := e.token("DPoP")
		id := of[token]
		stale := token != "" && id != "" && newest[id] != token
		if a := e.answer(); a.AccessToken != "" && a.SessionID != "" && !e.forMCP() {
			newest[a.SessionID], of[a.AccessToken] = a.AccessToken, a.SessionID
		}
		if stale {
			return "the Session has a newer token"
		}
		return ""
	})
}

// forMCP says whether the request is for a token for the MCP server.
func (e *exchange) forMCP() bool { return e.form().Get("resource") == mcpURL }

func (l *wireLog) mcpTokens() []string {
	scheme := "DPoP"
	if l.draft == python01 {
		scheme = "Bearer" // without a proof, which draft 0.1 leaves out there
	}
	own := make(map[string]bool)
	return l.each(func(e *exchange) string {
		if e.forMCP() {
			own[e.answer().AccessToken] = true
		}
		authorization := strings.Join(e.header("Authorization"), "\n")
		_, token, _ := strings.Cut(authorization, " ")
		switch {
		case authorization == "" || own[token] == (e.path() == mcpPath) && (!own[token] || e.token(scheme) == token):
			return ""
		case own[token]:
			return "the MCP server's token, at another place or in another scheme"
		default:
			return "a token for another place"
		}
	})
}

func (l *wireLog) hurriedPolls() []string {
	interval, last := make(map[string]float64), make(map[string]float64)
	const tolerance = 0.02 // seconds: how late one request may be seen against the next
	return l.each(func(e *exchange) string {
		if e.path() == devicePath {
			var given struct {
				Code     string  `json:"device_code"`
				Interval float64 `json:"interval"`
			}
			if json.Unmarshal([]byte(e.Response.Body), &given) == nil {
				interval[given.Code], last[given.Code] = given.Interval, e.At
			}
			return ""
		}
		code := e.form().Get("device_code")
		if code == "" || e.answer().Error == "use_dpop_nonce" {
			return ""
		}
		waited := e.At - last[code]
		last[code] = e.At
		if waited < interval[code]-tolerance {
			return fmt.Sprintf("after %.2f s of %.0f", waited, interval[code])
		}
		return ""
	})
}
