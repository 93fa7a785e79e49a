package signin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/signin"
)

// endpoint is the Company's Mediated endpoint, as a script of answers.
type endpoint struct {
	t       *testing.T
	answers []string
	paths   []string
	bodies  []map[string]any
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		e.t.Errorf("the body: %v", err)
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		e.t.Errorf("the body is no JSON object: %v: %q", err, body)
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" || r.ContentLength != int64(len(body)) {
		e.t.Errorf("%s with %v, %d bytes", r.Method, r.Header, r.ContentLength)
	}
	e.paths, e.bodies = append(e.paths, r.URL.String()), append(e.bodies, object)
	answer := e.answers[0]
	if len(e.answers) > 1 {
		e.answers = e.answers[1:]
	}
	_, _ = io.WriteString(w, answer)
}

const (
	codeRequired = `{"status":"code_required","sign_in_id":"sgn_3Hq8","code":{"sent_to":"Text to the phone ending in 71"},"expires_at":"2999-10-02T17:15:00-07:00"}`
	wrongCode    = `{"status":"code_required","sign_in_id":"sgn_3Hq8","code":{}}`
	complete     = `{"status":"complete","access_token":"a","token_type":"DPoP"}`
	failed       = `{"status":"failed"}`
)

func mediatedBench(t *testing.T, answers ...string) (*bench, *endpoint) {
	t.Helper()
	b := newBench(t)
	e := &endpoint{t: t, answers: answers}
	b.session.handler = e
	b.user.given = map[string]string{"email": "dana@example.org", "password": "p\"ss\\w\x01rd é", "pin": "never asked for"}
	return b, e
}

// Every field goes to the one endpoint and nowhere else, once; then the code alone, and with the sign-in's ID.
//
// Clauses: S01-4.7.03, S01-4.7.06, S01-4.7.11, S01-4.7.02, S01-4.4.09
func TestMediatedSignInSendsCredentialsToTheOneEndpoint(t *testing.T) {
	t.Parallel()
	b, e := mediatedBench(t, codeRequired, wrongCode, complete)
	b.user.codes = []string{"000000", "314159"}
	r, err := b.signIn(t, signin.Mediated, "poppy:read")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{mediatedURL, mediatedURL + "/sgn_3Hq8", mediatedURL + "/sgn_3Hq8"}; !slices.Equal(e.paths, want) {
		t.Errorf("sent to %q, want %q", e.paths, want)
	}
	credentials, _ := e.bodies[0]["credentials"].(map[string]any)
	if want := map[string]any{"email": "dana@example.org", "password": b.user.given["password"]}; !maps.Equal(credentials, want) || e.bodies[0]["scope"] != "poppy:read" || len(e.bodies[0]) != 2 {
		t.Errorf("sent %v", e.bodies[0])
	}
	for n, code := range []string{"000000", "314159"} {
		if body := e.bodies[n+1]; body["code"] != code || len(body) != 1 {
			t.Errorf("sent %v, want the code alone", body)
		}
	}
	if p := b.user.oneTimes; len(p) != 2 || p[0].Wrong || !p[1].Wrong || p[0].SentTo != "Text to the phone ending in 71" || p[1].SentTo != p[0].SentTo || p[0].Ends.IsZero() {
		t.Errorf("asked %+v", p)
	}
	if p := b.user.asked; len(p) != 1 || p[0].Endpoint != mediatedURL || len(p[0].Fields) != 2 || !p[0].Fields[1].Secret {
		t.Errorf("asked %+v", p)
	}
	if len(b.server.read) != 1 || string(b.server.read[0]) != complete || r.Type != signin.Mediated {
		t.Errorf("read %q", b.server.read)
	}
	if a, err := b.kept(t); err != nil || a.Type != "mediated" || strings.Contains(fmt.Sprintf("%+v", a), "dana") {
		t.Errorf("kept %+v, %v", a, err)
	}
}

// What was given is overwritten when it was sent, and can't be read from the request any more.
//
// Clauses: S01-4.7.02
func TestCredentialsAreOverwrittenWhenTheyWereSent(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string][]string{"complete": {codeRequired, complete}, "failed": {codeRequired, failed}, "refused": {"no JSON"}} {
		b, _ := mediatedBench(t, answers...)
		b.user.codes = []string{"314159"}
		_, _ = b.signIn(t, signin.Mediated, "poppy:read")
		for _, held := range b.user.held {
			if len(bytes.Trim(held, "\x00")) > 0 {
				t.Errorf("%s: %q is still there", name, held)
			}
		}
		for _, req := range b.session.sent {
			again, err := req.GetBody()
			if err != nil {
				t.Fatal(err)
			}
			if data, err := io.ReadAll(again); err == nil || len(data) > 0 {
				t.Errorf("%s: the request still has %q", name, data)
			}
		}
	}
}

// Clauses: S01-4.4.13
func TestMediatedSignInThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answers []string
		want    error
	}{
		"wrong credentials":   {[]string{failed}, signin.ErrFailed},
		"too many codes":      {[]string{codeRequired, wrongCode, failed}, signin.ErrFailed},
		"codes without end":   {[]string{codeRequired}, signin.ErrFailed},
		"expired":             {[]string{codeRequired, `{"status":"expired"}`}, signin.ErrExpired},
		"an unknown status":   {[]string{`{"status":"captcha"}`}, signin.ErrAnswer},
		"no status":           {[]string{`{"access_token":"a"}`}, signin.ErrAnswer},
		"no JSON":             {[]string{`<html>`}, signin.ErrAnswer},
		"twice":               {[]string{`{"status":"failed","status":"complete"}`}, signin.ErrAnswer},
		"an ID with a path":   {[]string{strings.Replace(codeRequired, "sgn_3Hq8", "../../evil", 1)}, signin.ErrAnswer},
		"an ID with a query":  {[]string{strings.Replace(codeRequired, "sgn_3Hq8", "a?b=c", 1)}, signin.ErrAnswer},
		"no ID":               {[]string{strings.Replace(codeRequired, "sgn_3Hq8", "", 1)}, signin.ErrAnswer},
		"far too long a text": {[]string{`{"status":"failed","x":"` + strings.Repeat("a", 1<<20) + `"}`}, signin.ErrAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := mediatedBench(t, tc.answers...)
			old := account.Account{Key: account.Key{Issuer: b.Company.Issuer}, Domain: "example.com", Place: account.PlaceFile, Scope: []string{"before"}}
			if _, err := b.Accounts.Keep(t.Context(), old, secret.New("before"), b.server); err != nil {
				t.Fatal(err)
			}
			b.user.codes = slices.Repeat([]string{"000000"}, 30)
			if _, err := b.signIn(t, signin.Mediated, "poppy:read"); !errors.Is(err, tc.want) {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if a, err := b.kept(t); err != nil || !a.Covers([]string{"before"}) || len(b.server.revoked)+len(b.session.used) != 0 {
				t.Errorf("kept %+v, %v", a, err)
			}
			if n := len(b.user.oneTimes); n > 10 {
				t.Errorf("%d codes were asked for", n)
			}
		})
	}
}

// A lock-out is told with its time, and nothing is tried again.
func TestALockOutIsTold(t *testing.T) {
	t.Parallel()
	b, e := mediatedBench(t, failed)
	b.Session = limited{b.session}
	_, err := b.signIn(t, signin.Mediated, "poppy:read")
	if locked, ok := errors.AsType[*signin.LockedError](err); !ok || locked.Wait != 15*time.Minute || len(e.bodies) != 0 {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(err.Error(), "15m") {
		t.Errorf("it says %q", err)
	}
}

// limited is a Session whose Company takes no more attempts.
type limited struct{ *oneSession }

func (limited) Do(context.Context, *http.Client, *http.Request) (*http.Response, error) {
	return nil, &session.RateLimited{Status: 429, After: 15 * time.Minute}
}

// The code is sent under the Session that began the sign-in, or not at all.
//
// Clauses: S01-4.7.06
func TestOnlyTheSessionThatBeganFinishesAMediatedSignIn(t *testing.T) {
	t.Parallel()
	b, e := mediatedBench(t, codeRequired, complete)
	b.user.codes = []string{"314159"}
	b.UI = restarting{b.user, b.session}
	if _, err := b.signIn(t, signin.Mediated, "poppy:read"); !errors.Is(err, signin.ErrNewSession) || len(e.bodies) != 1 {
		t.Errorf("error %v after %d requests", err, len(e.bodies))
	}
}

// restarting is a User during whose search for the code the Company ended the Session.
type restarting struct {
	*user
	session *oneSession
}

func (r restarting) OneTimeCode(ctx context.Context, p signin.OneTimePrompt) ([]byte, error) {
	r.session.id = "ses_2"
	return r.user.OneTimeCode(ctx, p)
}

func TestAOneTimeCodeThatNobodyGivesEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ends := time.Now().Add(3 * time.Minute)
		b, _ := mediatedBench(t, strings.Replace(codeRequired, "2999-10-02T17:15:00-07:00", ends.Format(time.RFC3339), 1))
		began := time.Now()
		if _, err := b.signIn(t, signin.Mediated, "poppy:read"); !errors.Is(err, signin.ErrExpired) {
			t.Errorf("error %v", err)
		}
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// What the User is told is when the waiting really ends.
func TestTheEndOfAOneTimeCodeIsTheOneThatIsWaitedFor(t *testing.T) {
	t.Parallel()
	for expires, want := range map[string]time.Duration{`,"expires_at":"2999-10-02T17:15:00-07:00"`: 30 * time.Minute, "": 30 * time.Minute, `,"expires_at":"2000-01-01T00:05:00Z"`: 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			b, _ := mediatedBench(t, `{"status":"code_required","sign_in_id":"sgn_3Hq8"`+expires+`}`)
			began := time.Now()
			_, err := b.signIn(t, signin.Mediated, "poppy:read")
			if took, told := time.Since(began), b.user.oneTimes[0].Ends.Sub(began); !errors.Is(err, signin.ErrExpired) || took != want || told != want {
				t.Errorf("%q: told %v, waited %v, want %v; %v", expires, told, took, want, err)
			}
		})
	}
}

// Nothing is sent while a field is missing, and fields that cannot be are refused.
func TestMediatedSignInNeedsEveryField(t *testing.T) {
	t.Parallel()
	b, e := mediatedBench(t, complete)
	delete(b.user.given, "password")
	if _, err := b.signIn(t, signin.Mediated, "poppy:read"); !errors.Is(err, signin.ErrEmpty) || len(e.bodies) != 0 {
		t.Errorf("error %v", err)
	}
	b, e = mediatedBench(t, complete)
	b.Company.SignIn.Mediated.Fields = slices.Repeat([]company.Field{{Name: "a", Label: "b"}}, 1000)
	if _, err := b.signIn(t, signin.Mediated, "poppy:read"); !errors.Is(err, signin.ErrAnswer) || len(e.bodies)+len(b.user.asked) != 0 {
		t.Errorf("error %v", err)
	}
}

// A sign-in can only have ended after it began: an endpoint that is not there is no sign-in that took too long.
func TestAnEndpointThatIsNotThereIsNoExpiredSignIn(t *testing.T) {
	t.Parallel()
	for _, began := range []bool{false, true} {
		b, e := mediatedBench(t, codeRequired)
		b.user.codes = []string{"314159"}
		b.Session = missing{b.session, began}
		_, err := b.signIn(t, signin.Mediated, "poppy:read")
		refused, isRefused := errors.AsType[*session.ServerError](err)
		if began != errors.Is(err, signin.ErrExpired) || isRefused == began || isRefused && refused.Status != http.StatusNotFound || (len(e.bodies) == 1) != began {
			t.Errorf("began %t: %v", began, err)
		}
	}
}

// missing is a Session whose Company has no Mediated endpoint, or has forgotten the sign-in that began.
type missing struct {
	*oneSession
	began bool
}

func (m missing) Do(ctx context.Context, client *http.Client, req *http.Request) (*http.Response, error) {
	if m.began && req.URL.String() == mediatedURL {
		return m.oneSession.Do(ctx, client, req)
	}
	return &http.Response{StatusCode: http.StatusNotFound, Body: io.NopCloser(strings.NewReader(`{"error":"not_found"}`))}, nil
}
