package session

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/profile"
)

// credentialFields are the fields that Authorize sets, and refuses to find.
var credentialFields = [...]string{"Authorization", "DPoP", "Poppy-Session"}

// Authorize puts the Session on a request, with a statement signed for this one request, and the newest token where one
// goes beside it, had anew when it nears its end. In the drafts the first use starts the Session.
//
// The request must be for an https URL at an origin in the Company's documents, else it is ErrElsewhere; and have no
// credentials, else it is ErrCredentials. Other errors are a [Server]'s. req is changed only when there is none; it can then be
// sent once, and no transport repeats it by itself.
func (s *Session) Authorize(ctx context.Context, req *http.Request) error {
	_, err := s.authorize(ctx, req)
	return err
}

// authorize is Authorize, and returns the token's grant, which is empty when there is none.
func (s *Session) authorize(ctx context.Context, req *http.Request) (Grant, error) {
	to, err := s.destination(req)
	if err != nil {
		return Grant{}, err
	}
	for _, name := range credentialFields {
		if len(req.Header.Values(name)) > 0 {
			return Grant{}, fmt.Errorf("%w: %s", ErrCredentials, name)
		}
	}
	h, err := s.token(ctx, to.api)
	if err != nil {
		return Grant{}, err
	}
	fields := make(map[string]string)
	switch s.profile.Credential {
	case profile.CredentialDPoP:
		err = s.dpopFields(req, h.grant, fields)
	default:
		err = s.headerFields(h.grant.AccessToken, fields)
	}
	if err != nil {
		return Grant{}, err
	}
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	for name, value := range fields {
		req.Header.Set(name, value)
	}
	once(req)
	return h.grant, nil
}

// headerFields are those of PROTOCOL 1.0, sections 5 to 7.
func (s *Session) headerFields(token secret.Text, fields map[string]string) error {
	statement, err := s.header(token)
	if err != nil {
		return fmt.Errorf("Session header: %w", err)
	}
	fields["Poppy-Session"] = statement.Reveal()
	fields["Poppy-Version"] = s.profile.Version
	if c := s.cfg.Company; c.OperationsListed || c.OperationsEndpoint != "" {
		fields["Poppy-Extensions"] = s.profile.Extensions()
	}
	if !token.Empty() {
		fields["Authorization"] = "Bearer " + token.Reveal()
	}
	return nil
}

// dpopFields are those of draft 0.1, section 4.3.
func (s *Session) dpopFields(req *http.Request, grant Grant, fields map[string]string) error {
	token := grant.AccessToken
	if grant.Type == typeBearer {
		fields["Authorization"] = "Bearer " + token.Reveal()
		return nil
	}
	method := req.Method
	if method == "" {
		method = http.MethodGet
	}
	proof, err := s.key.Proof(method, req.URL.String(), token)
	if err != nil {
		return err
	}
	fields["Authorization"], fields["DPoP"] = "DPoP "+token.Reveal(), proof.Reveal()
	return nil
}

// destination is where a request goes within the Company.
type destination struct {
	api   company.API // one that needs a token of its own; else the general one
	place string      // what asks to wait asks for this
}

// destination finds the place of a request in the Company's documents.
func (s *Session) destination(req *http.Request) (destination, error) {
	c, u := s.cfg.Company, req.URL
	if c == nil || u == nil || u.Scheme != "https" || u.Host == "" || u.Opaque != "" || u.User != nil ||
		req.Host != "" && !strings.EqualFold(req.Host, u.Host) {
		return destination{}, fmt.Errorf("the request: %w", ErrElsewhere)
	}
	for _, api := range c.APIs {
		if isMCP(api) && below(u, api.URL) {
			return destination{api: api, place: api.URL}, nil
		}
	}
	at := origin(u)
	known := false
	for _, endpoint := range s.endpoints() {
		if below(u, endpoint) {
			return destination{place: endpoint}, nil
		}
		known = known || at == originOf(endpoint)
	}
	for _, api := range c.APIs {
		if isMCP(api) || at != originOf(api.URL) {
			continue
		}
		to := destination{place: at}
		if api.Resource != "" {
			to.api = api
		}
		return to, nil
	}
	if known {
		return destination{place: at}, nil
	}
	return destination{}, fmt.Errorf("%s: %w", at, ErrElsewhere)
}

// endpoints are the places, beside the APIs, that the Session's own credential is for.
func (s *Session) endpoints() []string {
	c := s.cfg.Company
	var all []string
	for _, endpoint := range []string{c.OperationsEndpoint, c.OperationsByID, c.Conversations, c.Feedback} {
		if endpoint != "" {
			all = append(all, endpoint)
		}
	}
	if c.SignIn.Mediated != nil {
		all = append(all, c.SignIn.Mediated.Endpoint)
	}
	return all
}

// below reports whether u is the endpoint or below it.
func below(u *url.URL, endpoint string) bool {
	e, err := url.Parse(endpoint)
	if err != nil || origin(u) != origin(e) || climbs(u) {
		return false
	}
	path, stem := u.EscapedPath(), strings.TrimSuffix(e.EscapedPath(), "/")
	return path == e.EscapedPath() || strings.HasPrefix(path, stem+"/")
}

// climbs reports whether the path has a segment that leads elsewhere than it seems to, however it is escaped.
func climbs(u *url.URL) bool {
	return slices.ContainsFunc(strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' || r == '\\' }), func(segment string) bool {
		return segment == "." || segment == ".."
	})
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return origin(u)
}
