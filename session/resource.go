package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/profile"
)

const resourcePath = "/.well-known/oauth-protected-resource" // RFC 9728, section 3.1

const (
	metadataKept = time.Hour       // how long what an MCP server's metadata say is believed
	absenceKept  = 5 * time.Minute // the same where there are none: a 404 may be a deployment's
)

// proofsAt is whether an MCP server takes proofs, and until when that is believed.
type proofsAt struct {
	takes bool
	until time.Time
}

// takesProofs reports whether an API is asked with DPoP proofs. Where the profile leaves that to an MCP server's own
// metadata, those are read once. A server without metadata takes none.
func (s *Server) takesProofs(ctx context.Context, api company.API) (bool, error) {
	switch {
	case s.profile.Credential != profile.CredentialDPoP:
		return false, nil
	case !isMCP(api):
		return true, nil
	case !s.profile.MCPProofs:
		return false, nil
	}
	s.mu.Lock()
	known := s.proofs[api.URL]
	s.mu.Unlock()
	if s.speaker.now().Before(known.until) {
		return known.takes, nil
	}
	takes, kept, err := s.readResource(ctx, api.URL)
	if err != nil {
		return false, fmt.Errorf("protected resource metadata: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proofs[api.URL] = proofsAt{takes, s.speaker.now().Add(kept)}
	return takes, nil
}

// readResource reads an MCP server's protected resource metadata (RFC 9728), without any credential, and says whether
// they list an algorithm of ours, and for how long that may be believed.
func (s *Server) readResource(ctx context.Context, resource string) (takes bool, kept time.Duration, err error) {
	u, err := url.Parse(resource)
	if err != nil {
		return false, 0, err
	}
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: resourcePath + strings.TrimSuffix(u.Path, "/"), RawQuery: u.RawQuery}
	ctx, cancel := context.WithTimeout(ctx, exchangeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return false, 0, err
	}
	req.Header.Set("Accept", "application/json")
	if err := s.pauses.check(at.String()); err != nil {
		return false, 0, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return false, 0, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := s.pauses.heard(at.String(), res); err != nil {
		return false, 0, err
	}
	switch {
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		return false, absenceKept, nil
	case res.StatusCode != http.StatusOK:
		return false, 0, &ServerError{Status: res.StatusCode}
	}
	var document struct {
		Resource   string   `json:"resource"`
		Servers    []string `json:"authorization_servers"`
		Algorithms []string `json:"dpop_signing_alg_values_supported"`
	}
	if err := strictjson.DecodeReader(res.Body, strictjson.Limits{Bytes: maxAnswer, Depth: maxAnswerLevels}, &document); err != nil {
		return false, 0, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	switch {
	case document.Resource != resource:
		return false, 0, fmt.Errorf("%w: %w", ErrUnreadable, &memberError{"resource", "is not the MCP server's url"})
	case !slices.Contains(document.Servers, s.company.Issuer):
		return false, 0, fmt.Errorf("%w: %w", ErrUnreadable, &memberError{"authorization_servers", "does not name the Company's issuer"})
	}
	return slices.Contains(document.Algorithms, algorithm), metadataKept, nil
}
