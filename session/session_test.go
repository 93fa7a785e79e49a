package session_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
)

var v1 = profile.V1()

const (
	issuer   = "https://auth.example.com/tenants/7/"
	endpoint = "https://login.example.com/join?x=1"

	operations = "https://example.com/operations"
)

// clock is a time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

func (c *clock) advance(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.now = c.now.Add(d) }

func newSession(t testing.TB, id *session.Identity, now func() time.Time) *session.Session {
	t.Helper()
	s, err := session.New(session.Config{Identity: id, Company: shop(), UserID: "usr_Q7c1vK", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shop is a Company of protocol 1.0.
func shop() *company.Company {
	return &company.Company{Profile: v1, Domain: "example.com", Issuer: issuer, OperationsEndpoint: operations, OperationsListed: true}
}

// header is the Session header of one request.
func header(t testing.TB, s *session.Session) string {
	t.Helper()
	h, err := headerOf(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func headerOf(s *session.Session) (string, error) {
	req, err := http.NewRequest(http.MethodPost, operations, nil)
	if err != nil {
		return "", err
	}
	err = s.Authorize(context.Background(), req)
	return req.Header.Get("Poppy-Session"), err
}

// Clauses: C10-4.01, C10-4.02, C10-4.07, C10-5.01, C10-5.02, C10-5.04, C10-5.05, C10-5.06, C10-5.07
func TestASessionHeaderIsVouchedForByAPublishedKey(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t)
	c := &clock{now: noon}
	s := newSession(t, id, c.Now)
	if !regexp.MustCompile(`^ses_[A-Za-z0-9_-]{22}$`).MatchString(s.ID()) {
		t.Errorf("sid = %q", s.ID())
	}
	token, delegation, err := verifyChain(header(t, s), published(t, id), "poppy-session+jwt", noon)
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(token.header)); !slices.Equal(names, []string{"alg", "poppy_dlg", "typ"}) {
		t.Errorf("header members %q", names)
	}
	want := map[string]any{"iss": clientID, "sub": "usr_Q7c1vK", "aud": issuer, "sid": s.ID(), "iat": number(noon), "exp": number(noon.Add(time.Minute))}
	for name, value := range token.payload {
		if name != "jti" && value != want[name] {
			t.Errorf("claim %s = %v, want %v", name, value, want[name])
		}
	}
	if len(token.payload) != len(want)+1 {
		t.Errorf("claims %v", token.payload)
	}
	if life := delegation.seconds("exp").Sub(delegation.seconds("iat")); life <= 0 || life > time.Hour {
		t.Errorf("the delegation lives for %v", life)
	}
	if delegation.header["typ"] != "poppy-delegation+jwt" || delegation.header["kid"] != id.Keys()[0].Thumbprint {
		t.Errorf("delegation header %v", delegation.header)
	}

	// The same after a restart, from the files alone.
	loaded, err := session.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := verifyChain(header(t, newSession(t, loaded, c.Now)), published(t, id), "poppy-session+jwt", noon); err != nil {
		t.Errorf("after a restart: %v", err)
	}

	// The verifier notices: another's key set, and a changed statement.
	other, _ := newIdentity(t)
	if _, _, err := verifyChain(header(t, s), published(t, other), "poppy-session+jwt", noon); err == nil {
		t.Error("another agent's keys verify it")
	}
	parts := strings.Split(header(t, s), ".")
	forged := strings.Split(header(t, newSession(t, id, c.Now)), ".")
	if _, _, err := verifyChain(parts[0]+"."+forged[1]+"."+parts[2], published(t, id), "poppy-session+jwt", noon); err == nil {
		t.Error("another payload passes under the same signature")
	}
}

func number(t time.Time) json.Number { return json.Number(fmt.Sprint(t.Unix())) }

func TestAnAssertionIsForItsEndpointAloneAndForAMinute(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	s := newSession(t, id, (&clock{now: noon}).Now)
	assertion, beside, err := s.Assertion(t.Context(), endpoint, "https://example.com/")
	if !beside.Empty() {
		t.Error("a signed-out Session has an access token")
	}
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := verifyChain(assertion.Reveal(), published(t, id), "poppy-browser+jwt", noon)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"iss": clientID, "sub": "usr_Q7c1vK", "aud": endpoint, "sid": s.ID(), "return_to": "https://example.com/",
		"iat": number(noon), "exp": number(noon.Add(time.Minute)),
	} {
		if token.payload[name] != want {
			t.Errorf("claim %s = %v, want %v", name, token.payload[name], want)
		}
	}
}

// Clauses: C10-5.03
func TestEveryStatementIsSignedAnew(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	s := newSession(t, id, (&clock{now: noon}).Now)
	var mu sync.Mutex
	jtis, tokens := make(map[any]bool), make(map[string]bool)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 10 {
				h, err := headerOf(s)
				if err != nil {
					t.Error(err)
					return
				}
				a, _, err := s.Assertion(t.Context(), endpoint, "https://example.com/")
				if err != nil {
					t.Error(err)
					return
				}
				for _, text := range []string{h, a.Reveal()} {
					parsed, err := parseJWT(text)
					if err != nil {
						t.Error(err)
						return
					}
					jti, _ := parsed.payload["jti"].(string)
					if random, err := part(jti); err != nil || len(random) < 16 {
						t.Errorf("jti %q has %d random bytes", jti, len(random))
					}
					mu.Lock()
					jtis[jti], tokens[text] = true, true
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	if len(jtis) != 160 || len(tokens) != 160 {
		t.Errorf("%d jti in %d different statements of 160", len(jtis), len(tokens))
	}
}

func TestADelegationIsMadeAnewBeforeTheOldOneEnds(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	c := &clock{now: noon}
	s := newSession(t, id, c.Now)
	delegation := func() string {
		t.Helper()
		token, _, err := verifyChain(header(t, s), published(t, id), "poppy-session+jwt", c.Now())
		if err != nil {
			t.Fatalf("at %v: %v", c.Now(), err)
		}
		statement, _ := token.header["poppy_dlg"].(string)
		return statement
	}
	first := delegation()
	c.advance(54 * time.Minute)
	if delegation() != first {
		t.Error("it was made anew after 54 minutes of 60")
	}
	c.advance(2 * time.Minute)
	second := delegation()
	if second == first {
		t.Error("it is the old one 4 minutes before its end")
	}
	// The key is another one, too.
	key := func(compact string) any {
		parsed, err := parseJWT(compact)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.payload["cnf"].(map[string]any)["jwk"].(map[string]any)["x"]
	}
	if key(first) == key(second) {
		t.Error("the delegated key is the old one")
	}
	c.advance(24 * time.Hour)
	delegation() // verifies
}

func TestNumbersWithLeadingZerosKeepTheirLength(t *testing.T) {
	t.Parallel()
	for range 200 {
		id, _ := newIdentity(t)
		s := newSession(t, id, (&clock{now: noon}).Now)
		if _, _, err := verifyChain(header(t, s), published(t, id), "poppy-session+jwt", noon); err != nil {
			t.Fatal(err)
		}
	}
}

// Clauses: C10-4.07
func TestSessionsAreNamedAtRandomAndNeedNobody(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	seen := make(map[string]bool)
	for range 100 {
		seen[newSession(t, id, nil).ID()] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d names for 100 Sessions", len(seen))
	}
}

func TestASessionNeedsToKnowWhoAndWhere(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	for name, cfg := range map[string]session.Config{
		"no identity": {Profile: v1, Issuer: issuer, UserID: "u"},
		"no issuer":   {Profile: v1, Identity: id, UserID: "u"},
		"no user":     {Profile: v1, Identity: id, Issuer: issuer},
	} {
		if _, err := session.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	broken := errors.New("no randomness")
	if _, err := session.New(session.Config{Profile: v1, Identity: id, Issuer: issuer, UserID: "u", Rand: failing{broken}}); !errors.Is(err, broken) {
		t.Errorf("err = %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

var _ io.Reader = failing{}

// Clauses: C10-5.14
func TestNothingASessionIsMadeOfPrintsASecret(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t)
	cfg := session.Config{Profile: v1, Identity: id, Issuer: issuer, UserID: "usr_Q7c1vK", Now: (&clock{now: noon}).Now, Rand: rand.Reader}
	s, err := session.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	sent, _, err := s.Assertion(t.Context(), endpoint, "https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parseJWT(sent.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	statement, _ := parsed.header["poppy_dlg"].(string)
	secrets := append(privateParts(t, dir), sent.Reveal(), statement)
	raw, err := part(secrets[0])
	if err != nil {
		t.Fatal(err)
	}
	// The private number in the forms that fmt has for bytes and integers.
	secrets = append(secrets, fmt.Sprintf("%x", raw), fmt.Sprintf("%X", raw), fmt.Sprint(raw), integer(raw))

	for name, value := range map[string]any{
		"Session": s, "Identity": id, "*Identity": *id, "Config": cfg, "*Config": &cfg, "Assertion": sent, "Keys": id.Keys(),
		"in a struct": struct {
			A any
			b any
		}{s, id}, "in a list": []any{s, id, cfg, sent}, "in a map": map[string]any{"x": id},
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%X"} {
			leaks(t, name+" "+verb, fmt.Sprintf(verb, value), secrets)
		}
		text, _ := json.Marshal(value) // an error is as good as silence
		leaks(t, name+" as JSON", string(text), secrets)
		var logged bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
			slog.New(handler).Info("x", "value", value)
		}
		leaks(t, name+" in slog", logged.String(), secrets)
	}
}

func leaks(t *testing.T, where, text string, secrets []string) {
	t.Helper()
	for i, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s has secret %d", where, i)
		}
	}
}
