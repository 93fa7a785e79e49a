package main

import (
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// draftSite is a Company at example.com that publishes a draft's documents, its issuer below a path of the same host.
type draftSite struct {
	poppy    atomic.Value // string
	metadata string
	address  string
	cacert   string
}

// ServeHTTP implements [http.Handler].
func (s *draftSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/poppy.json":
		_, _ = io.WriteString(w, s.poppy.Load().(string))
	case "/.well-known/oauth-authorization-server/shop":
		_, _ = io.WriteString(w, s.metadata)
	default:
		http.NotFound(w, r)
	}
}

const draftPoppy = `{
	"protocol_version": "0.2",
	"organization": {"name": "Example \u001b[2J\u202eShop", "domain": "example.com"},
	"auth": {
		"issuer": "https://example.com/shop",
		"direct": {"scopes": ["poppy:read", "addresses"]},
		"mediated": {"endpoint": "https://example.com/sign-in", "scopes": ["poppy:read"],
			"fields": [{"name": "user\n", "label": "Name \u009b31m", "secret": false}, {"name": "pin", "label": "PIN", "secret": true}]},
		"custom_scopes": {"addresses": "Saved \u0007 \u201d addresses"}
	},
	"apis": [{"type": "openapi", "url": "https://example.com/api.json", "description": "Orders\u001b]8;;https://evil.example\u0007"}, {"type": "soap"}],
	"agent": {"protocols": [{"type": "poppy", "endpoint": "https://example.com/talk"}]},
	"feedback": {"endpoint": "https://example.com/feedback"},
	"web": {"browser_session_endpoint": "https://example.com/join"},
	"extensions": {"operations": {"version": "1", "endpoint": "https://example.com/operations"}, "example.com/gift-wrap": {"version": "2"}, "Gift \u001b[1mwrap": {}}
}`

func newDraftSite(t *testing.T) *draftSite {
	t.Helper()
	s := &draftSite{metadata: `{"issuer": "https://example.com/shop", "poppy_domains": ["example.com"], "token_endpoint": "https://example.com/token",
		"revocation_endpoint": "https://example.com/revoke", "authorization_endpoint": "https://example.com/authorize"}`}
	s.poppy.Store(draftPoppy)
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	s.address = server.Listener.Addr().String()
	s.cacert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return s
}

func (s *draftSite) look(b *bench, flags ...string) []string {
	return append([]string{"discover", "example.com", "--connect-to", "example.com:443:" + s.address, "--cacert", b.file("ca.pem", s.cacert)}, flags...)
}

func TestDiscoverShowsWhatADraftsCompanyOffersWithoutItsControlCharacters(t *testing.T) {
	t.Parallel()
	b, s := emptyBench(t), newDraftSite(t)
	out := b.run(0, s.look(b)...)
	for _, want := range []string{
		"example.com calls itself “Example ", "0.2, the newest of ours that it lists", "https://example.com/shop\n", "version 1, at https://example.com/operations",
		"sign-in direct     poppy:read addresses", "at https://example.com/authorize", "sign-in mediated   poppy:read", "“pin”: “PIN”, a secret",
		"own scope          “addresses”: “Saved ", "API openapi        https://example.com/api.json", "and 1 of another type, which are left out",
		"conversations      https://example.com/talk", "feedback           https://example.com/feedback",
		"“operations”, version 1: the one that belongs to this protocol version", "“example.com/gift-wrap”, version 2: ignored", "no extension's name",
		"everything agrees, by the rules of protocol 0.2",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	for _, r := range out + b.run(0, s.look(b, "--json")...) {
		if r != '\n' && r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' {
			t.Errorf("%U is printed", r)
		}
	}
	last := lastOf(t, b, s.look(b, "--json"), 0)
	if last.text("profile") != "0.2" || last["agrees"] != true || len(last["sign_in"].([]any)) != 2 || len(last["apis"].([]any)) != 1 || len(last["extensions"].([]any)) != 3 {
		t.Errorf("the last line is %v", last)
	}
}

func TestDiscoverSaysWhichProfileItJudgesByAndObeysAForcedOne(t *testing.T) {
	t.Parallel()
	b, s := emptyBench(t), newDraftSite(t)
	out := b.run(1, s.look(b, "--profile", "1.0")...)
	for _, want := range []string{`protocol_version is "0.2", and protocol "1.0" is asked for`, "poppy.json mixes versions", "in the drafts only", "rules of protocol 1.0 failed"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if out := b.run(0, s.look(b, "--profile", "0.1")...); !strings.Contains(out, "0.1, as --profile says; it lists 0.2") {
		t.Errorf("it says\n%s", out)
	}
	s.poppy.Store(strings.Replace(draftPoppy, `"0.2"`, `"0.7"`, 1))
	if out := b.run(1, s.look(b)...); !strings.Contains(out, `protocol_version is "0.7", and we speak 1.0, 0.2, 0.1`) || !strings.Contains(out, "lists no version that we speak") {
		t.Errorf("it says\n%s", out)
	}
	if last := lastOf(t, b, s.look(b, "--json"), 1); last["profile"] != nil || last["agrees"] != false {
		t.Errorf("the last line is %v", last)
	}
	if last := lastOf(t, b, s.look(b, "--json", "--profile", "0.1"), 0); last.text("profile") != "0.1" {
		t.Errorf("the last line is %v", last)
	}
	b.run(2, s.look(b, "--profile", "0.7")...)
}

// lastOf is the last line of a command's output.
func lastOf(t *testing.T, b *bench, args []string, status int) event {
	t.Helper()
	events := readEvents(t, b.run(status, args...))
	return events[len(events)-1]
}
