package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/papaver-agent/papaver/profile"
)

// errorBodyTimeout is for the body of an error answer, which is read to see what the error is.
const errorBodyTimeout = 10 * time.Second

// Do makes a request with the Session on it; see [Session.Authorize]. It is repeated at most once, when the answer asks
// for a nonce, or refuses a token that can be had anew; a request whose body can't be made again is not. No redirect is
// followed, and answers with one are returned. ctx holds for the whole exchange, until the body is closed.
//
// A *[RateLimited] says when the same place may be asked again: until then Do sends nothing to it. A *[ServerError] that
// unwraps to one of ErrInvalidSession, ErrSignInRequired, ErrInsufficientScope, ErrAccountMismatch, ErrExtensionRequired
// and ErrInvalidToken is a refusal that concerns the Session; there is no response then. Every other answer is returned
// as it came.
func (s *Session) Do(ctx context.Context, client *http.Client, req *http.Request) (*http.Response, error) {
	to, err := s.destination(req)
	if err != nil {
		return nil, err
	}
	client = unfollowing(client)
	for try := 1; ; try++ {
		if err := s.pauses.check(to.place); err != nil {
			return nil, err
		}
		res, grant, err := s.send(ctx, client, req, try)
		if err != nil {
			return nil, err
		}
		renonced := s.key != nil && s.key.Heard(req.URL, res.Header, true)
		if err := s.pauses.heard(to.place, res); err != nil {
			_ = res.Body.Close()
			return nil, err
		}
		if res.StatusCode < http.StatusBadRequest {
			return res, nil
		}
		refused := s.refusal(res, grant)
		again := try == 1 && (req.Body == nil || req.Body == http.NoBody || req.GetBody != nil)
		switch {
		case refused.Code == codeUseNonce:
			again = again && renonced
		case errors.Is(refused, ErrInvalidToken), errors.Is(refused, ErrSignInRequired) && grant.SignedIn:
			// A signed-in token that signs nobody in is as good as none: the User may have disconnected us, and then the
			// account has no other.
			s.drop(to.api, grant)
		case errors.Is(refused, ErrSignInRequired):
			again = again && s.SignedIn() // another task has signed in meanwhile
		default:
			again = false
		}
		switch {
		case again:
			_ = res.Body.Close()
		case refused.Unwrap() != nil && !errors.Is(refused, ErrInvalidGrant):
			_ = res.Body.Close()
			return nil, refused
		default:
			return res, nil
		}
	}
}

// send makes one request with the Session on it.
func (s *Session) send(ctx context.Context, client *http.Client, req *http.Request, try int) (*http.Response, Grant, error) {
	ctx, cancel := context.WithCancel(ctx)
	own := req.Clone(ctx)
	if try > 1 && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			cancel()
			return nil, Grant{}, fmt.Errorf("the request's body: %w", err)
		}
		own.Body = body
	}
	own.GetBody = nil // a transport would send the same proof twice
	grant, err := s.authorize(ctx, own)
	if err != nil {
		cancel()
		return nil, Grant{}, err
	}
	res, err := client.Do(own)
	if err != nil {
		cancel()
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the address may hold what is private
		}
		return nil, Grant{}, fmt.Errorf("%s: %w", origin(req.URL), err)
	}
	res.Body = &body{ReadCloser: res.Body, cancel: cancel}
	return res, grant, nil
}

// body is an answer's body; closing it ends the exchange.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close ends the exchange.
func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// refusal reads what an answer of status 400 and above says, and puts back what it read of the body.
func (s *Session) refusal(res *http.Response, grant Grant) *ServerError {
	var start []byte
	if isJSON(res.Header) {
		whole, _ := res.Body.(*body)
		timer := time.AfterFunc(errorBodyTimeout, whole.cancel)
		start, _ = io.ReadAll(io.LimitReader(whole.ReadCloser, maxErrorBody+1))
		timer.Stop()
		whole.ReadCloser = putBack{io.MultiReader(bytes.NewReader(start), whole.ReadCloser), whole.ReadCloser}
	}
	refused := readError(res, start, s.speaker.now())
	if refused.Code == "" && res.StatusCode == http.StatusUnauthorized && s.profile.Credential == profile.CredentialHeader {
		// A challenge without a code (RFC 6750, section 3.1): no token came, or none that was liked.
		refused.Code = codeSignInRequired
		if !grant.AccessToken.Empty() {
			refused.Code = codeInvalidToken
		}
	}
	return refused
}

// putBack reads what was read before, and then the rest.
type putBack struct {
	io.Reader
	io.Closer
}
