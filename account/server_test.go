package account_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
)

// issuer is a Company's authorization server of the tests' own, that real processes can ask.
type issuer struct {
	*httptest.Server

	mu       sync.Mutex
	valid    map[string]bool // Account Tokens
	grace    bool            // exchanged tokens stay good
	rotates  bool
	made     int
	busy     int // refreshes under way
	most     int // at once
	seen     []url.Values
	revoked  []string
	answer   func(w http.ResponseWriter, form url.Values) bool // in place of the right answer, when it says true
	arrived  chan struct{}
	released chan struct{} // when set, a refresh is answered only after this is closed
}

func newIssuer(t *testing.T, tokens ...string) *issuer {
	t.Helper()
	i := &issuer{valid: map[string]bool{}, rotates: true, arrived: make(chan struct{}, 100)}
	for _, token := range tokens {
		i.valid[token] = true
	}
	i.Server = httptest.NewServer(i)
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	if r.URL.Path == "/revoke" {
		i.revoke(w, r.PostForm)
		return
	}
	i.mu.Lock()
	i.busy++
	i.most = max(i.most, i.busy)
	i.seen = append(i.seen, r.PostForm)
	released, answer := i.released, i.answer
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.busy--
	}()
	if answer != nil && answer(w, r.PostForm) {
		return
	}
	reply := i.exchange(r.PostForm.Get("token"))
	i.arrived <- struct{}{}
	if released != nil {
		select {
		case <-released:
		case <-r.Context().Done():
			return
		}
	}
	w.WriteHeader(reply.Status)
	_ = json.NewEncoder(w).Encode(reply)
}

type reply struct {
	Status int
	Code   string
	Token  string
	Scope  string
}

func (i *issuer) exchange(token string) reply {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.valid[token] {
		return reply{Status: 400, Code: "invalid_grant"}
	}
	r := reply{Status: 200}
	if i.rotates {
		i.made++
		r.Token = fmt.Sprintf("rotated-%d", i.made)
		i.valid[r.Token] = true
		if !i.grace {
			delete(i.valid, token)
		}
	}
	return r
}

func (i *issuer) revoke(w http.ResponseWriter, form url.Values) {
	i.mu.Lock()
	answer := i.answer
	i.mu.Unlock()
	if answer != nil && answer(w, form) {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.revoked = append(i.revoked, form.Get("token"))
	delete(i.valid, form.Get("token"))
}

// set changes how the issuer behaves.
func (i *issuer) set(change func(*issuer)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change(i)
}

// fails answers everything with a status and a code.
func fails(status int, code string) func(http.ResponseWriter, url.Values) bool {
	return func(w http.ResponseWriter, _ url.Values) bool {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(reply{Status: status, Code: code})
		return true
	}
}

// remote is the issuer as a process sees it.
type remote struct{ url string }

// agentID is the agent that the tests' sign-ins are of.
const agentID = "https://agent.example/agent.json"

func (remote) ClientID() string { return agentID }

func (r remote) post(ctx context.Context, path string, form url.Values) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply{}, errors.Join(session.ErrNoAnswer, errors.New("the connection broke"))
	}
	defer func() { _ = res.Body.Close() }()
	var said reply
	_ = json.NewDecoder(res.Body).Decode(&said)
	if res.StatusCode != http.StatusOK {
		return reply{}, &session.ServerError{Status: res.StatusCode, Code: said.Code}
	}
	return said, nil
}

func (r remote) Refresh(ctx context.Context, token secret.Text, sessionID string, scope []string, _ *session.ProofKey) (session.Grant, error) {
	said, err := r.post(ctx, "/refresh", url.Values{"token": {token.Reveal()}, "session_id": {sessionID}, "scope": {strings.Join(scope, " ")}})
	if err != nil {
		return session.Grant{}, err
	}
	g := session.Grant{AccessToken: secret.New("access"), SessionID: sessionID, SignedIn: true, Scope: strings.Fields(said.Scope), Expires: time.Now().Add(time.Hour)}
	if said.Scope == "" {
		g.Scope = nil
	}
	if said.Token != "" {
		g.AccountToken = secret.New(said.Token)
	}
	return g, nil
}

func (r remote) ForAPI(ctx context.Context, api company.API, token secret.Text, sessionID string, scope []string, key *session.ProofKey) (session.Grant, error) {
	g, err := r.Refresh(ctx, token, sessionID, scope, key)
	g.AccessToken = secret.New("access for " + api.URL)
	return g, err
}

func (r remote) Revoke(ctx context.Context, token secret.Text) error {
	_, err := r.post(ctx, "/revoke", url.Values{"token": {token.Reveal()}})
	return err
}
