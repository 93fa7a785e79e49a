package published_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/published"
	"github.com/papaver-agent/papaver/session"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const (
	day      = 24 * time.Hour
	clientID = "https://agent.example/poppy/agent.json"
	keysAt   = "https://agent.example/poppy/jwks.json"
)

// identity has a previous, a current and a next key at noon.
func identity(t *testing.T) *session.Identity {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "identity")
	if _, err := session.Init(dir, session.Options{ClientID: clientID, Name: "Example Agent", LogoURI: "https://agent.example/logo.png"}, noon.Add(-10*day), rand.Reader); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Rotate(dir, lock.Seals{}, day, noon.Add(-day-time.Minute), rand.Reader); err != nil {
		t.Fatal(err)
	}
	id, err := session.Rotate(dir, lock.Seals{}, 2*day, noon, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// upload is a host that publishes the identity's documents as they are in its folder.
func upload(t *testing.T, id *session.Identity) *host {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(filepath.Dir(id.PublicDir()), "identity.json"))
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, answers: make(map[string]*answer), file: file}
	for url, name := range map[string]string{clientID: "agent.json", keysAt: "jwks.json"} {
		body, err := os.ReadFile(filepath.Join(id.PublicDir(), name))
		if err != nil {
			t.Fatal(err)
		}
		h.answers[url] = &answer{status: 200, body: body,
			header: http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Cache-Control": {"public, max-age=300"}}}
	}
	return h
}

func check(t *testing.T, h *host, id *session.Identity, now time.Time) []published.Finding {
	t.Helper()
	findings, err := published.Check(t.Context(), h.client(), id, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		switch {
		case (f.Verdict == published.Failed || f.Verdict == published.Warning) && (f.Found == "" || f.Change == "" || f.URL == ""):
			t.Errorf("%q does not say what to change: %+v", f.Rule, f)
		case f.Verdict == published.OK && (f.Found == "" || f.Change != ""):
			t.Errorf("%q does not say what is there: %+v", f.Rule, f)
		}
	}
	return findings
}

const (
	readDocument  = "the client metadata document can be read"
	ownURL        = "client_id is the URL it is at"
	jwksRule      = "jwks_uri is an https URL on the same host"
	redirectsRule = "redirect_uris are those of the home"
	methodRule    = "the agent signs in with its key"
	nameRule      = "the name and the logo are those of the home"
	documentKept  = "the client metadata document is not kept for too long"
	readKeys      = "the key set can be read"
	privateRule   = "no private key is in the key set"
	privateInDoc  = "no private key is in the client metadata document"
	currentRule   = "the current key is published"
	nextRule      = "a next key is published before it signs"
	previousRule  = "previous keys are published while they are needed"
	strangersRule = "every published key is the home's"
	keysKept      = "the key set is not kept for longer than the overlap"
)

// Clauses: S01-4.1.01, S01-4.1.02, S01-4.1.03, S01-4.1.04, S01-4.1.05, C10-4.01, C10-4.02
func TestWhatTheHomeWritesIsRightWhereItIsUploaded(t *testing.T) {
	t.Parallel()
	id := identity(t)
	h := upload(t, id)
	findings := check(t, h, id, noon)
	if len(findings) != 15 {
		t.Errorf("%d findings", len(findings))
	}
	for _, f := range findings {
		if f.Verdict != published.OK {
			t.Errorf("%+v", f)
		}
	}
	if len(h.asked) != 2 {
		t.Errorf("asked for %q", h.asked)
	}
}

// all is a verdict of every rule about a document but the first.
func all(verdict published.Verdict, rules ...string) map[string]published.Verdict {
	verdicts := make(map[string]published.Verdict)
	for _, r := range rules {
		verdicts[r] = verdict
	}
	return verdicts
}

func with(m map[string]published.Verdict, more map[string]published.Verdict) map[string]published.Verdict {
	maps.Copy(m, more)
	return m
}

func TestEachThingThatIsPublishedWronglyIsNamed(t *testing.T) {
	t.Parallel()
	aboutKeys := all(published.NotReached, readKeys, privateRule, currentRule, nextRule, previousRule, strangersRule, keysKept)
	aboutDocument := with(all(published.NotReached, privateInDoc, ownURL, jwksRule, redirectsRule, methodRule, nameRule, documentKept), aboutKeys)
	// Where something answered, it is looked through for private keys whatever it is.
	answered := func(m map[string]published.Verdict, rule string) map[string]published.Verdict {
		m = maps.Clone(m)
		delete(m, rule)
		return m
	}
	unread := with(all(published.Failed, readDocument), aboutDocument)
	keysUnread := with(all(published.NotReached, privateRule, currentRule, nextRule, previousRule, strangersRule, keysKept), all(published.Failed, readKeys))
	document := func(change func(map[string]any)) func(*host) { return func(h *host) { h.edit(clientID, change) } }
	set := func(member string, value any) func(*host) {
		return document(func(d map[string]any) { d[member] = value })
	}
	answerOf := func(url string, change func(*answer)) func(*host) { return func(h *host) { change(h.answers[url]) } }
	member := func(key int, name string, value any) func(*host) {
		return func(h *host) {
			h.keys(func(keys []any) []any { keys[key].(map[string]any)[name] = value; return keys })
		}
	}
	without := func(key int) func(*host) {
		return func(h *host) {
			h.keys(func(keys []any) []any { return append(append([]any{}, keys[:key]...), keys[key+1:]...) })
		}
	}
	kept := func(value string) func(*answer) {
		return func(a *answer) { a.header.Set("Cache-Control", value) }
	}
	for name, tc := range map[string]struct {
		change func(*host)
		want   map[string]published.Verdict // of the rules that are not OK
		says   string
	}{
		"nobody answers":       {answerOf(clientID, func(a *answer) { a.err = errors.New("connection refused") }), unread, "connection refused"},
		"not there":            {answerOf(clientID, func(a *answer) { a.status = 404 }), unread, "status 404"},
		"a server in trouble":  {answerOf(clientID, func(a *answer) { a.status = 503 }), unread, "status 503"},
		"a redirect":           {answerOf(clientID, func(a *answer) { a.status = 301; a.header.Set("Location", "https://www.agent.example/") }), unread, "www.agent.example"},
		"a page":               {answerOf(clientID, func(a *answer) { a.header.Set("Content-Type", "text/html") }), answered(unread, privateInDoc), "text/html"},
		"no content type":      {answerOf(clientID, func(a *answer) { a.header.Del("Content-Type") }), answered(unread, privateInDoc), "content type"},
		"no JSON":              {answerOf(clientID, func(a *answer) { a.body = []byte("<html>") }), answered(unread, privateInDoc), "JSON"},
		"a list":               {answerOf(clientID, func(a *answer) { a.body = []byte("[]") }), answered(unread, privateInDoc), "JSON"},
		"a member twice":       {answerOf(clientID, func(a *answer) { a.body = []byte(`{"client_id":"a","client_id":"b"}`) }), answered(unread, privateInDoc), "JSON"},
		"an endless document":  {answerOf(clientID, func(a *answer) { a.body = bytes.Repeat([]byte(" "), 1<<20) }), answered(unread, privateInDoc), "JSON"},
		"another client_id":    {set("client_id", clientID+"/"), all(published.Failed, ownURL), clientID + "/"},
		"no client_id":         {document(func(d map[string]any) { delete(d, "client_id") }), all(published.Failed, ownURL), `client_id is ""`},
		"keys elsewhere":       {set("jwks_uri", "https://evil.example/jwks.json"), with(all(published.Failed, jwksRule), aboutKeys), "evil.example"},
		"keys over http":       {set("jwks_uri", "http://agent.example/poppy/jwks.json"), with(all(published.Failed, jwksRule), aboutKeys), "http://"},
		"keys with a password": {set("jwks_uri", "https://a:b@agent.example/poppy/jwks.json"), with(all(published.Failed, jwksRule), aboutKeys), "a:b@"},
		"keys at a fragment":   {set("jwks_uri", keysAt+"#2"), with(all(published.Failed, jwksRule), aboutKeys), "#2"},
		"keys at another port": {set("jwks_uri", "https://agent.example:8443/poppy/jwks.json"), with(all(published.Failed, jwksRule), aboutKeys), "8443"},
		"no redirect":          {set("redirect_uris", []any{}), all(published.Failed, redirectsRule), "nothing"},
		"another redirect":     {set("redirect_uris", []any{"https://agent.example/callback"}), all(published.Failed, redirectsRule), "callback"},
		"a redirect elsewhere": {document(func(d map[string]any) {
			d["redirect_uris"] = append(d["redirect_uris"].([]any), "https://evil.example/")
		}), all(published.Failed, redirectsRule), "evil.example"},
		"a redirect more": {document(func(d map[string]any) {
			d["redirect_uris"] = append(d["redirect_uris"].([]any), "https://agent.example/2")
		}), all(published.Warning, redirectsRule), "example/2"},
		"a shared secret":       {set("client_secret", "hunter2"), all(published.Failed, methodRule), "client_secret"},
		"another method":        {set("token_endpoint_auth_method", "none"), all(published.Failed, methodRule), `"none"`},
		"another name":          {set("client_name", "Other"), all(published.Warning, nameRule), "Other"},
		"another logo":          {set("logo_uri", "https://agent.example/old.png"), all(published.Warning, nameRule), "old.png"},
		"an unknown member":     {set("tos_uri", "https://agent.example/tos"), nil, ""},
		"the document for ever": {answerOf(clientID, kept("max-age=31536000, immutable")), all(published.Warning, documentKept), "8760h"},

		"no key set":                  {answerOf(keysAt, func(a *answer) { a.status = 404 }), keysUnread, "status 404"},
		"the key set redirected":      {answerOf(keysAt, func(a *answer) { a.status = 302; a.header.Set("Location", keysAt) }), keysUnread, "redirect"},
		"keys as a page":              {answerOf(keysAt, func(a *answer) { a.header.Set("Content-Type", "text/html") }), answered(keysUnread, privateRule), "text/html"},
		"keys of their own type":      {answerOf(keysAt, func(a *answer) { a.header.Set("Content-Type", "application/jwk-set+json") }), nil, ""},
		"keys that are no set":        {answerOf(keysAt, func(a *answer) { a.body = []byte(`{"keys":"none"}`) }), answered(keysUnread, privateRule), "JSON"},
		"a private part":              {member(1, "d", "Hndv7ZZjs_ke8o9zXYo3iq-Yr8SewI5vrqd0pAvEPqg"), all(published.Failed, privateRule), "PRIVATE KEYS CAN BE READ BY EVERYBODY"},
		"a private part of RSA":       {member(1, "dq", "AQAB"), all(published.Failed, privateRule), "PRIVATE KEYS"},
		"the home's own file":         {func(h *host) { h.answers[keysAt].body = h.file }, with(all(published.Failed, privateRule, currentRule, previousRule), all(published.Warning, nextRule)), "PRIVATE KEYS"},
		"the home's file as document": {func(h *host) { h.answers[clientID].body = h.file }, with(all(published.Failed, privateInDoc, jwksRule, redirectsRule, methodRule), with(all(published.Warning, nameRule), aboutKeys)), "PRIVATE KEYS"},
		"a private key in PEM": {answerOf(keysAt, func(a *answer) {
			a.body = []byte("-----BEGIN PRIVATE KEY-----\nHndv7ZZjs\n")
			a.header.Set("Content-Type", "application/x-pem-file")
		}), with(maps.Clone(keysUnread), all(published.Failed, privateRule)), "PRIVATE KEYS"},
		"a private key in half a file": {answerOf(keysAt, func(a *answer) {
			a.body = []byte(`{"keys":[{"kty":"EC","d":"Hndv7ZZjs_ke8o9zXYo3iq-Yr8SewI5vrqd0pAvEPqg"`)
		}), with(maps.Clone(keysUnread), all(published.Failed, privateRule)), "PRIVATE KEYS"},
		"no current key":         {without(1), all(published.Failed, currentRule), "not in the key set"},
		"another number":         {member(1, "x", "WKn-ZIGevcwGIyyrzFoZNBdaq9_TsqzGl96oc0CWuis"), all(published.Failed, currentRule), "its x is"},
		"another algorithm":      {member(1, "alg", "RS256"), all(published.Failed, currentRule), `its alg is "RS256"`},
		"for another use":        {member(1, "use", "enc"), all(published.Failed, currentRule), `its use is "enc"`},
		"a kid that is a number": {member(1, "kid", 7), with(all(published.Failed, currentRule), all(published.Failed, strangersRule)), "does not have"},
		"no next key":            {without(2), all(published.Warning, nextRule), "signs from 2026-12-02T12:00:00Z"},
		"no previous key":        {without(0), all(published.Failed, previousRule), "is needed until"},
		"a stranger's key": {func(h *host) {
			h.keys(func(keys []any) []any {
				return append(keys, map[string]any{"kty": "EC", "kid": "strange\x1b[2J"})
			})
		}, all(published.Failed, strangersRule), `"strange\x1b[2J"`},
		"our key twice, once another": {func(h *host) {
			h.keys(func(keys []any) []any {
				other := maps.Clone(keys[1].(map[string]any))
				other["x"] = other["y"]
				return append(keys, other)
			})
		}, all(published.Failed, currentRule), "its x is"},
		"the keys for a week":     {answerOf(keysAt, kept("max-age=604800")), all(published.Warning, keysKept), "168h"},
		"shared caches, a week":   {answerOf(keysAt, kept("max-age=60, s-maxage=604800")), all(published.Warning, keysKept), "168h"},
		"the other way round":     {answerOf(keysAt, kept("s-maxage=604800, max-age=60")), all(published.Warning, keysKept), "168h"},
		"as long as the overlap":  {answerOf(keysAt, kept("max-age=172800")), nil, ""},
		"a number that overflows": {answerOf(keysAt, kept("max-age=99999999999999999999999999")), all(published.Warning, keysKept), "max-age=9999"},
		"asked for each time":     {answerOf(keysAt, kept("no-cache, max-age=604800")), nil, ""},
		"until a date": {answerOf(keysAt, func(a *answer) {
			a.header = http.Header{"Content-Type": {"application/json"}, "Date": {"Mon, 30 Nov 2026 12:00:00 GMT"}, "Expires": {"Mon, 30 Nov 2037 12:00:00 GMT"}}
		}), all(published.Warning, keysKept), "2037"},
		"nothing of caching": {answerOf(keysAt, func(a *answer) { a.header.Del("Cache-Control") }), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := identity(t)
			h := upload(t, id)
			tc.change(h)
			var told strings.Builder
			for _, f := range check(t, h, id, noon) {
				want, ok := tc.want[f.Rule]
				if !ok {
					want = published.OK
				}
				if f.Verdict != want {
					t.Errorf("%s: %s, want %s: %s", f.Rule, f.Verdict, want, f.Found)
				}
				if f.Verdict != published.OK {
					fmt.Fprintln(&told, f.Found, f.Change)
				}
			}
			if !strings.Contains(told.String(), tc.says) {
				t.Errorf("it says %s; want %q", told.String(), tc.says)
			}
			if strings.Contains(told.String(), "Hndv7ZZjs") || strings.Contains(told.String(), "hunter2") || strings.ContainsRune(told.String(), 0x1b) {
				t.Errorf("it quotes %s", told.String())
			}
		})
	}
}

// What matters changes with the clock alone.
func TestWhatIsMissingMattersByWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	id := identity(t)
	verdict := func(h *host, rule string, now time.Time) published.Verdict {
		for _, f := range check(t, h, id, now) {
			if f.Rule == rule {
				return f.Verdict
			}
		}
		return ""
	}
	h := upload(t, id)
	h.keys(func(keys []any) []any { return keys[1:2] })
	begins := noon.Add(2 * day)
	for _, tc := range []struct {
		rule string
		at   time.Time
		want published.Verdict
	}{
		{nextRule, begins.Add(-time.Hour), published.Warning},
		{nextRule, begins.Add(-time.Hour + time.Second), published.Failed},
		{currentRule, begins.Add(-time.Second), published.OK},
		{currentRule, begins, published.Failed},
		{nextRule, begins, published.OK},
		{previousRule, noon, published.Failed},
		{previousRule, noon.Add(day), published.OK}, // nobody needs the first any more
	} {
		if got := verdict(h, tc.rule, tc.at); got != tc.want {
			t.Errorf("at %v %q is %s, want %s", tc.at, tc.rule, got, tc.want)
		}
	}
}

func TestACheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	id := identity(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := upload(t, id)
	h.answers[clientID].err = context.Canceled
	findings, err := published.Check(ctx, h.client(), id, noon)
	if err != nil || findings[0].Verdict != published.Failed || findings[1].Verdict != published.NotReached {
		t.Errorf("%+v, %v", findings, err)
	}
}

// FuzzCheck gives whatever a server may send: no panic, no control character, and no verdict OK for a key set without
// the current key.
func FuzzCheck(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "identity")
	id, err := session.Init(dir, session.Options{ClientID: clientID, Name: "A"}, noon, rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	documents, err := id.Published()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(documents.Agent), []byte(documents.Keys), "max-age=300")
	f.Add([]byte(`{"client_id":"\u001b[2J","jwks_uri":"`+keysAt+`","redirect_uris":["`+"\u202e"+`"]}`), []byte(`{"keys":[{"kid":null,"d":{}},{}]}`), "max-age=\"\x1b")
	f.Add([]byte(`{"jwks_uri":"`+keysAt+`"}`), []byte(`{"keys":null}`), ",=,max-age")
	f.Fuzz(func(t *testing.T, agent, keys []byte, cache string) {
		header := http.Header{"Content-Type": {"application/json"}, "Cache-Control": {cache}}
		h := &host{t: t, answers: map[string]*answer{clientID: {status: 200, body: agent, header: header}, keysAt: {status: 200, body: keys, header: header}}}
		client := &http.Client{Transport: anyKeys{h}}
		findings, err := published.Check(t.Context(), client, id, noon)
		if err != nil {
			t.Fatal(err)
		}
		for _, finding := range findings {
			if strings.ContainsFunc(finding.Found+finding.Change, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("a control character: %q", finding.Found)
			}
			if finding.Rule == currentRule && finding.Verdict == published.OK && !strings.Contains(kidsOf(keys), id.Keys()[0].Thumbprint) {
				t.Error("the current key is not there")
			}
		}
	})
}

// kidsOf are the kids of a key set, as another reader of JSON finds them.
func kidsOf(data []byte) string {
	var set struct {
		Keys []struct {
			Kid any `json:"kid"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return ""
	}
	return fmt.Sprint(set.Keys)
}
