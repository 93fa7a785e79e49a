package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/pace"
	"github.com/papaver-agent/papaver/internal/secret"
)

// exchangeTimeout is for one exchange with the authorization server, from the request to the last byte of the answer,
// a repeat for a nonce included.
const exchangeTimeout = 20 * time.Second

// exchange posts a form with the client's identification to an endpoint of the authorization server and returns the body
// of a 200. form is called anew for each of at most two tries: assertions are good for one. Without a key there is no
// proof. What spends something at the Company is not given up once it was sent, even when ctx ends: the answer may hold
// what replaces it. exchangeTimeout ends the exchange all the same.
func (s *Server) exchange(ctx context.Context, endpoint string, form func() (url.Values, error), key *ProofKey) ([]byte, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" {
		return nil, fmt.Errorf("%q: %w", endpoint, ErrElsewhere)
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), exchangeTimeout)
	defer cancel()
	for try := 1; ; try++ {
		if err := s.pauses.check(endpoint); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		fields, err := form()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		res, body, err := s.post(ctx, caller, u, fields, key)
		if err != nil {
			return nil, err
		}
		renonced := key != nil && key.Heard(u, res.Header, false)
		if err := s.pauses.heard(endpoint, res); err != nil {
			return nil, err
		}
		if res.StatusCode == http.StatusOK {
			return body, nil
		}
		refused := readError(res, body, s.speaker.now())
		if refused.Code != codeUseNonce || !renonced || try == 2 {
			return nil, refused
		}
	}
}

// spends reports whether the Company may take what the form holds no second time.
func spends(form url.Values) bool {
	return form.Has("refresh_token") || form.Has("code") || form.Has("device_code")
}

// post makes one request within ctx, which ends with caller too until something that is spent was sent. The whole body
// was read.
func (s *Server) post(ctx, caller context.Context, u *url.URL, fields url.Values, key *ProofKey) (*http.Response, []byte, error) {
	if err := caller.Err(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	release := context.AfterFunc(caller, func() { cancel(context.Cause(caller)) })
	defer release()
	var begins func()
	if spends(fields) {
		begins = func() { release() }
	}
	assertion, err := s.clientAssertion(u.String())
	if err != nil {
		return nil, nil, fmt.Errorf("%w: client assertion: %w", ErrNotSent, err)
	}
	fields.Set("client_id", s.speaker.identity.clientID)
	fields.Set("client_assertion_type", assertionType)
	fields.Set("client_assertion", assertion.Reveal())
	var way sending
	req, err := http.NewRequestWithContext(way.watch(ctx, begins), http.MethodPost, u.String(), strings.NewReader(fields.Encode()))
	if err != nil {
		return nil, nil, err
	}
	// A transport may send a request again by itself when its connection broke; what stands in ours is good for once.
	req.GetBody = nil
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if key != nil {
		proof, err := key.Proof(req.Method, u.String(), secret.Text{})
		if err != nil {
			return nil, nil, fmt.Errorf("%w: DPoP proof: %w", ErrNotSent, err)
		}
		req.Header.Set("DPoP", proof.Reveal())
	}
	res, err := s.client.Do(req)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // it would name the address once more
		}
		if errors.Is(err, pace.ErrHeld) || way.unsent() {
			return nil, nil, fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		return nil, nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, max(maxAnswer, maxErrorBody)+1)) // more is refused where it is decoded
	if err != nil && res.StatusCode == http.StatusOK {
		return nil, nil, fmt.Errorf("%w whole: %w", ErrNoAnswer, err)
	}
	return res, body, nil
}

// clientAssertion says who asks (RFC 7523, section 2.2).
func (s *Server) clientAssertion(endpoint string) (secret.Text, error) {
	payload, err := s.speaker.claims(s.speaker.identity.clientID, s.audience(s.profile.ClientAssertionAudience, endpoint), s.profile.ClientAssertionLife)
	if err != nil {
		return secret.Text{}, err
	}
	return s.speaker.signPublished(assertionTyp, payload)
}
