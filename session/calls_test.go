package session_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/session"
)

// refreshing is what an account gives a Session.
func refreshing(server *session.Server, account string, key func() *session.ProofKey) (
	func(ctx ctx, id string) (session.Grant, error), func(ctx ctx, id string, api company.API) (session.Grant, error),
) {
	return func(ctx ctx, id string) (session.Grant, error) {
			return server.Refresh(ctx, secretOf(account), id, nil, key())
		}, func(ctx ctx, id string, api company.API) (session.Grant, error) {
			return server.ForAPI(ctx, api, secretOf(account), id, nil, key())
		}
}

// get makes one request in the Session and returns the Session's id as the API saw it.
func (f *fake) get(s *session.Session, address string) (string, error) {
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	res, err := s.Do(f.t.Context(), f.client(), req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	var said struct{ Session string }
	if err := json.NewDecoder(res.Body).Decode(&said); err != nil || res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d, %w", res.StatusCode, err)
	}
	return said.Session, nil
}

// must is get where nothing may go wrong.
func (f *fake) must(s *session.Session, address string) string {
	f.t.Helper()
	id, err := f.get(s, address)
	if err != nil {
		f.t.Fatalf("%s: %v", address, err)
	}
	return id
}

// requests are those that arrived at a path so far.
func (f *fake) requests(path string) []sent {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []sent
	for _, s := range f.seen {
		if u, err := url.Parse(s.url); err == nil && u.Path == path {
			found = append(found, s)
		}
	}
	return found
}
