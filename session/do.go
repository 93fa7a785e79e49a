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

const (
	headerTimeout    = 30 * time.Second // from a request's beginning to the head of its answer
	errorBodyTimeout = 10 * time.Second // for the body of an error answer, which is read to see what the error is
)

// errNoHead is why a request was given up.
var errNoHead = fmt.Errorf("no answer began within %v", headerTimeout)

// Do makes a request with the Session on it; see [Session.Authorize]. It is repeated at most once, when the answer asks
// for a nonce, or refuses a token that can be had anew; a request whose body can't be made again is not. One without a body
// that changes nothing (GET, HEAD, OPTIONS) is repeated once too when the connection it was sent on had been used before and
// broke. Each has a statement or proof of its own. No redirect is followed, and answers with one are returned. ctx holds for
// the whole exchange, until the body is closed; an answer must begin within 30 seconds, else the error is ErrNoAnswer.
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
	broke := false
	for try := 1; ; try++ {
		if err := s.pauses.check(to.place); err != nil {
			return nil, err
		}
		res, grant, stale, err := s.send(ctx, client, req, try)
		if stale && !broke {
			broke = true
			try--
			continue
		}
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

// send makes one request with the Session on it. stale is an error that a used connection alone explains, of a request that
// may be made again.
func (s *Session) send(ctx context.Context, client *http.Client, req *http.Request, try int) (res *http.Response, grant Grant, stale bool, err error) {
	caller := ctx
	ctx, end := context.WithCancelCause(ctx)
	cancel := func() { end(nil) }
	var way sending
	own := req.Clone(way.watch(ctx, nil))
	if try > 1 && req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			cancel()
			return nil, Grant{}, false, fmt.Errorf("the request's body: %w", err)
		}
		own.Body = body
	}
	grant, err = s.authorize(ctx, own)
	if err != nil {
		cancel()
		return nil, Grant{}, false, err
	}
	late := time.AfterFunc(headerTimeout, func() { end(errNoHead) })
	res, err = client.Do(own)
	if !late.Stop() && err == nil { // the answer came at the very moment it was given up
		_ = res.Body.Close()
		err = errNoHead
	}
	if err != nil {
		stale = way.reused.Load() && bodiless(req) && repeatable(req) && ctx.Err() == nil && caller.Err() == nil && !timedOut(err)
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the address may hold what is private
		}
		if errors.Is(context.Cause(ctx), errNoHead) && caller.Err() == nil {
			err = fmt.Errorf("%w: %w", ErrNoAnswer, errNoHead)
		}
		cancel()
		return nil, Grant{}, stale, fmt.Errorf("%s: %w", origin(req.URL), err)
	}
	res.Body = &body{ReadCloser: res.Body, cancel: cancel}
	return res, grant, false, nil
}

// timedOut reports whether a request was given up because it took too long.
func timedOut(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
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
