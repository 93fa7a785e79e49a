package opsweb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/papaver-agent/papaver/internal/pace"
	"github.com/papaver-agent/papaver/operation"
)

const (
	endpointTimeout = 30 * time.Second // one request to the endpoint, its answer included
	maxRetryAfter   = 10 * time.Minute // a longer Retry-After is cut to this
)

// errNoAnswer is the family of requests to the endpoint whose answer did not come, or not whole: whether the Company
// got them is not known.
var errNoAnswer = errors.New("the operations endpoint did not answer")

// errHeld is a request that was not sent, since the Company asks to be left alone for longer than it could wait; its
// reply says for how long.
var errHeld = errors.New("the Company asks to be left alone")

// reply is an answer of the endpoint.
type reply struct {
	operation.Answer
	retryAfter time.Duration // how long the Company asks to wait; 0 when it does not say
	broken     error         // the answer could not be decoded
}

// saysNothing reports whether the request may be made again as it was: the Company is busy, or it, or what stands before it,
// failed, which tells nothing of what became of the request (Operations v3, section 7).
func (r reply) saysNothing() bool {
	return r.Kind == operation.Busy || r.Status >= http.StatusInternalServerError
}

// said is an answer of no use, for people.
func (r reply) said() string {
	switch {
	case r.Status >= 300 && r.Status < 400:
		return fmt.Sprintf("a redirect (status %d), which is never followed", r.Status)
	case r.broken != nil:
		return fmt.Sprintf("something that can't be read (status %d): %v", r.Status, r.broken)
	case r.Kind == operation.Other:
		return fmt.Sprintf("something else (status %d)", r.Status)
	default:
		return fmt.Sprintf("%s (status %d)", r.Kind, r.Status)
	}
}

// post sends a reference to the endpoint of its own Session's Company, with an approval or, for a look-up, without
// one, in the Session it was judged by: the one that a sending line names. It follows no redirect. An error is errNoAnswer, or one of ours before anything was sent.
func (r Reference) post(ctx context.Context, approval *operation.Approval) (reply, error) {
	s := r.site
	signer, err := s.signer(r.sid)
	if err != nil {
		return reply{}, fmt.Errorf("the Session's credentials: %w", err)
	}
	body, err := json.Marshal(struct {
		Ref string `json:"ref"`
	}{r.text})
	if err != nil {
		return reply{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, endpointTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.company.OperationsEndpoint, bytes.NewReader(body))
	if err != nil {
		return reply{}, fmt.Errorf("the operations endpoint: %w", err)
	}
	// A transport may send a request again by itself when its connection broke; ours are numbered and written down, and
	// Authorize sees to it that it doesn't.
	if err := signer.Authorize(ctx, req); err != nil {
		return reply{}, fmt.Errorf("the Session's credentials: %w", err)
	}
	if signer.ID() != r.sid { // it was given up meanwhile
		return reply{}, fmt.Errorf("the Session %s ended before anything was sent", r.sid)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if approval != nil {
		field, err := approval.Field()
		if err != nil {
			return reply{}, err
		}
		req.Header.Set("Poppy-Approval", field)
	}
	res, err := s.client.Do(req)
	if held, ok := errors.AsType[*pace.HeldError](err); ok {
		return reply{retryAfter: held.Left}, errHeld
	}
	if err != nil {
		return reply{}, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, operation.MaxAnswer+1))
	if err != nil {
		return reply{}, fmt.Errorf("%w whole: %w", errNoAnswer, err)
	}
	answer, err := operation.ReadAnswer(res.StatusCode, res.Header.Get("Content-Type"), data)
	return reply{Answer: answer, retryAfter: pace.RetryAfter(res.Header, s.now(), maxRetryAfter), broken: err}, nil
}
