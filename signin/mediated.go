package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/session"
)

const (
	mediatedWait  = time.Minute      // for one request
	codeWait      = 30 * time.Minute // for the User to give a one-time code, whatever the Company allows
	maxCodes      = 10               // one-time codes in one sign-in, whatever the Company allows
	maxCredential = 4 << 10          // bytes of one field or code
	maxMediated   = 64 << 10         // bytes of an answer
	maxFields     = 32
)

// The statuses of draft 0.1, section 4.7; expired is draft 0.2's.
const (
	statusComplete = "complete"
	statusCode     = "code_required"
	statusFailed   = "failed"
	statusExpired  = "expired"
)

// signInID is the form of a sign_in_id: it becomes a part of a path (PROTOCOL 1.0, section 18, row 29).
var signInID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

// errorCode is a code that can stand in our own lines.
var errorCode = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// mediatedAnswer is what the Mediated endpoint says beside the members of a token response.
type mediatedAnswer struct {
	Status   string `json:"status"`
	SignInID string `json:"sign_in_id"`
	Code     struct {
		SentTo string `json:"sent_to"`
	} `json:"code"`
	Expires string `json:"expires_at"`

	body  []byte
	asked time.Time
}

// mediated asks the User for the fields that the Company names, sends them to the one endpoint, and then as many
// one-time codes as it wants (draft 0.1, section 4.7). What was given is overwritten when it was sent.
func (f *flow) mediated(ctx context.Context) (session.Grant, error) {
	id, err := f.Session.Start(ctx)
	if err != nil {
		return session.Grant{}, err
	}
	answer, err := f.credentials(ctx, id)
	if err != nil {
		return session.Grant{}, err
	}
	sentTo := ""
	for try := 0; answer.Status == statusCode; try++ {
		if !signInID.MatchString(answer.SignInID) {
			return session.Grant{}, fmt.Errorf("sign_in_id: %w", ErrAnswer)
		}
		if try == maxCodes {
			return session.Grant{}, ErrFailed
		}
		if answer.Code.SentTo != "" {
			sentTo = answer.Code.SentTo // a repeat may leave it out
		}
		if answer, err = f.code(ctx, id, answer, sentTo, try > 0); err != nil {
			return session.Grant{}, err
		}
	}
	switch answer.Status {
	case statusComplete:
		return f.Server.ReadGrant(answer.body, id, f.scope, answer.asked)
	case statusFailed:
		return session.Grant{}, ErrFailed
	case statusExpired:
		return session.Grant{}, ErrExpired
	default:
		return session.Grant{}, fmt.Errorf("the status of the sign-in: %w", ErrAnswer)
	}
}

// credentials asks the User for what the Company needs and sends it, to its endpoint alone.
func (f *flow) credentials(ctx context.Context, id string) (mediatedAnswer, error) {
	offer := f.Company.SignIn.Mediated
	if offer == nil {
		return mediatedAnswer{}, fmt.Errorf("mediated sign-in: %w", ErrNotOffered)
	}
	if n := len(offer.Fields); n == 0 || n > maxFields {
		return mediatedAnswer{}, fmt.Errorf("the fields of mediated sign-in: %w", ErrAnswer)
	}
	given, err := f.UI.Credentials(ctx, CredentialsPrompt{Party: f.party(), Endpoint: offer.Endpoint, Fields: offer.Fields})
	defer func() {
		for _, value := range given {
			clear(value)
		}
	}()
	if err != nil {
		return mediatedAnswer{}, err
	}
	body := []byte(`{"scope":` + quote(strings.Join(f.scope, " ")) + `,"credentials":{`)
	for i, field := range offer.Fields {
		value := given[field.Name]
		if len(value) == 0 || len(value) > maxCredential {
			return mediatedAnswer{}, fmt.Errorf("field %q: %w", field.Name, ErrEmpty)
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(append(body, quote(field.Name)...), ':')
		body = appendQuoted(body, value)
	}
	return f.post(ctx, id, offer.Endpoint, append(body, '}', '}'))
}

// code asks the User for a one-time code and sends it alone, to the endpoint plus the sign-in's ID.
func (f *flow) code(ctx context.Context, id string, answer mediatedAnswer, sentTo string, wrong bool) (mediatedAnswer, error) {
	now := f.Now()
	p := OneTimePrompt{Party: f.party(), SentTo: sentTo, Wrong: wrong, Ends: now.Add(codeWait)}
	if at, err := time.Parse(time.RFC3339, answer.Expires); err == nil && at.Before(p.Ends) {
		p.Ends = at
	}
	asking, cancel := context.WithTimeoutCause(ctx, p.Ends.Sub(now), ErrExpired)
	defer cancel()
	given, err := f.UI.OneTimeCode(asking, p)
	defer clear(given)
	switch {
	case ctx.Err() == nil && asking.Err() != nil:
		return mediatedAnswer{}, ErrExpired
	case err != nil:
		return mediatedAnswer{}, err
	case len(given) == 0 || len(given) > maxCredential:
		return mediatedAnswer{}, fmt.Errorf("the one-time code: %w", ErrEmpty)
	}
	endpoint := strings.TrimSuffix(f.Company.SignIn.Mediated.Endpoint, "/") + "/" + answer.SignInID
	next, err := f.post(ctx, id, endpoint, append(appendQuoted([]byte(`{"code":`), given), '}'))
	refused, isRefused := errors.AsType[*session.ServerError](err)
	if isRefused && refused.Status == http.StatusNotFound && (refused.Code == "sign_in_not_found" || refused.Code == "not_found") {
		return mediatedAnswer{}, ErrExpired // draft 0.2: a sign-in that the Company does not know any more
	}
	return next, err
}

// post sends one request under the Session's token and overwrites what it sent. A Session that the Company ended
// meanwhile is no longer the one that began the sign-in: only that one may finish it.
func (f *flow) post(ctx context.Context, id, endpoint string, body []byte) (mediatedAnswer, error) {
	once := newOnce(body)
	defer once.wipe()
	if now, err := f.Session.Start(ctx); err != nil {
		return mediatedAnswer{}, err
	} else if now != id {
		return mediatedAnswer{}, ErrNewSession
	}
	ctx, cancel := context.WithTimeout(ctx, mediatedWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, once.reader())
	if err != nil {
		return mediatedAnswer{}, err
	}
	req.ContentLength = int64(len(body))
	req.GetBody = once.again
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	asked := f.Now()
	res, err := f.Session.Do(ctx, f.Client, req)
	if err != nil {
		return mediatedAnswer{}, locked(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return mediatedAnswer{}, refusal(res)
	}
	answer := mediatedAnswer{asked: asked}
	if answer.body, err = strictjson.Read(res.Body, strictjson.Limits{Bytes: maxMediated}); err != nil {
		return mediatedAnswer{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if err := strictjson.Decode(answer.body, strictjson.Limits{Bytes: maxMediated}, &answer); err != nil {
		return mediatedAnswer{}, fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return answer, nil
}

// refusal is an answer of another status than 200.
func refusal(res *http.Response) error {
	answer := &session.ServerError{Status: res.StatusCode}
	var body struct {
		Error string `json:"error"`
	}
	data, err := strictjson.Read(res.Body, strictjson.Limits{Bytes: maxMediated})
	if err == nil && strictjson.Decode(data, strictjson.Limits{Bytes: maxMediated}, &body) == nil && errorCode.MatchString(body.Error) {
		answer.Code = body.Error
	}
	return said(answer)
}

// locked turns a refusal into this package's errors.
func locked(err error) error {
	if limited, ok := errors.AsType[*session.RateLimited](err); ok {
		return &LockedError{Wait: limited.After}
	}
	return said(err)
}
