package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
)

// The parties of the statements that jose verifies.
const (
	ourClientID    = "https://agent.example/agent.json"
	someIssuer     = "https://auth.company.example/"
	someOperations = "https://company.example/poppy/operations"
	joinEndpoint   = "https://company.example/poppy/browser-session"
	returnTo       = "https://company.example/account?tab=orders"
)

// statement is one of ours, with what its verifier must know.
type statement struct {
	Name        string `json:"name"`
	Kind        string `json:"kind"` // session or join
	JWT         string `json:"jwt"`
	SID         string `json:"sid"`
	ReturnTo    string `json:"return_to,omitempty"`
	AccessToken string `json:"access_token,omitempty"`
}

// joseChecks has jose verify statements of protocol 1.0, made before and after a rotation of keys.
func joseChecks(ctx context.Context, w *world, t *tally) error {
	dir, err := w.stateFolder("jose")
	if err != nil {
		return err
	}
	dir = filepath.Join(dir, "identity")
	id, err := session.Init(dir, session.Options{ClientID: ourClientID, Name: "Interop"}, time.Now(), rand.Reader)
	if err != nil {
		return err
	}
	user, err := session.UserID(dir, someIssuer, profile.V1(), rand.Reader)
	if err != nil {
		return err
	}
	all, err := statementsOf(ctx, id, user, "before the rotation")
	if err != nil {
		return err
	}
	if id, err = session.Rotate(dir, lock.Seals{}, 0, time.Now(), rand.Reader); err != nil {
		return err
	}
	after, err := statementsOf(ctx, id, user, "after the rotation")
	if err != nil {
		return err
	}
	published, err := id.Published()
	if err != nil {
		return err
	}
	return w.script(ctx, t, "jose", struct {
		Agent        json.RawMessage `json:"agent"`
		JWKS         json.RawMessage `json:"jwks"`
		ClientID     string          `json:"client_id"`
		Issuer       string          `json:"issuer"`
		User         string          `json:"user"`
		JoinEndpoint string          `json:"join_endpoint"`
		Statements   []statement     `json:"statements"`
	}{published.Agent, published.Keys, id.ClientID(), someIssuer, user, joinEndpoint, append(all, after...)})
}

// statementsOf makes one statement of each kind, signed out and signed in, and the Session header twice.
func statementsOf(ctx context.Context, id *session.Identity, user, when string) ([]statement, error) {
	c := &company.Company{Profile: profile.V1(), Issuer: someIssuer, OperationsEndpoint: someOperations, OperationsListed: true}
	var all []statement
	for _, token := range []string{"", "eyJhbGciOiJFUzI1NiJ9.e30.an-access~token+/="} {
		cfg := session.Config{Identity: id, Company: c, UserID: user}
		state := when + ", signed out"
		if token != "" {
			state = when + ", signed in"
			cfg.Refresh = func(context.Context, string) (session.Grant, error) {
				return session.Grant{AccessToken: secret.New(token), Type: "Bearer", Expires: time.Now().Add(time.Hour), SignedIn: true}, nil
			}
		}
		s, err := session.New(cfg)
		if err != nil {
			return nil, err
		}
		for _, name := range []string{"a Session JWT ", "the next Session JWT "} {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, someOperations, nil)
			if err != nil {
				return nil, err
			}
			if err := s.Authorize(ctx, req); err != nil {
				return nil, err
			}
			if beside := req.Header.Get("Authorization"); beside != "" && beside != "Bearer "+token || beside == "" && token != "" {
				return nil, fmt.Errorf("the token beside a Session JWT, %s", state)
			}
			all = append(all, statement{Name: name + state, Kind: "session", JWT: req.Header.Get("Poppy-Session"), SID: s.ID(), AccessToken: token})
		}
		assertion, beside, err := s.Assertion(ctx, joinEndpoint, returnTo)
		if err != nil {
			return nil, err
		}
		if beside.Reveal() != token {
			return nil, fmt.Errorf("the access token beside a join assertion, %s", state)
		}
		all = append(all, statement{
			Name: "a join assertion " + state, Kind: "join", JWT: assertion.Reveal(), SID: s.ID(), ReturnTo: returnTo, AccessToken: token,
		})
	}
	return all, nil
}
