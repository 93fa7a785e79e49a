// Package published looks at what is really published of the agent, as a Company would, and compares it rule by rule
// with what the home has: the client metadata document at the client id, and the key set at its jwks_uri.
package published

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/session"
)

const (
	checkTimeout = 30 * time.Second // for both documents together
	maxPublished = 64 << 10         // bytes of one document
	maxLevels    = 16               // nested objects and arrays of one document
	maxQuoted    = 200              // bytes of a server's value in a finding
	maxSeconds   = 1 << 31          // stands for every longer time
)

// Verdict is what became of a rule about what is published.
type Verdict string

// The verdicts.
const (
	OK         Verdict = "ok"
	Warning    Verdict = "warning" // it works now, and something should be changed
	Failed     Verdict = "failed"
	NotReached Verdict = "not reached" // its document could not be read
)

// Finding is one rule about what is published and what became of it. What a server says stands in it quoted and
// escaped; no private key ever does.
type Finding struct {
	Rule    string  `json:"rule"`
	URL     string  `json:"url,omitempty"` // of the document; empty when an earlier rule failed that says where it is
	Verdict Verdict `json:"verdict"`
	Found   string  `json:"found,omitempty"`
	Change  string  `json:"change,omitempty"`
}

// inspection is what the rules read.
type inspection struct {
	client *http.Client
	now    time.Time

	// What the home has.
	own     agentDocument
	ownKeys keySet
	status  []session.KeyStatus // of ownKeys, in the same order

	// What is published, and where; a URL is empty until it is known.
	agentAt, keysAt         string
	agent                   agentDocument
	keys                    keySet
	agentHeader, keysHeader http.Header
	private                 map[document][]string // names of the private keys in it
}

// agentDocument is the part of a client metadata document that we compare; other members are ignored.
type agentDocument struct {
	ClientID   string   `json:"client_id"`
	Name       string   `json:"client_name"`
	Logo       string   `json:"logo_uri"`
	Redirects  []string `json:"redirect_uris"`
	JWKS       string   `json:"jwks_uri"`
	AuthMethod string   `json:"token_endpoint_auth_method"`
	Secret     any      `json:"client_secret"`
}

// keySet is a JWK set (RFC 7517). A key is its members.
type keySet struct {
	Keys []key `json:"keys"`
}

// document is one of the two that are published.
type document int

const (
	metadataDocument document = iota
	keysDocument
)

// rule is one thing that must be true of a document. The first of a document reads it; the others are reached only
// after that.
type rule struct {
	name  string
	of    document
	reads bool
	// always: it is reached even where its document could not be decoded.
	always bool
	check  func(ctx context.Context, in *inspection) Finding
}

// Check asks for what is really published at the client id and at its jwks_uri, and compares it with the identity at
// now, rule by rule (draft 0.1, section 4.1; PROTOCOL 1.0, section 4). client must follow no redirects by itself: the
// client id is the URL that the document was fetched from. Only HTTPS URLs on the client id's host are asked. An error
// is about the identity alone.
func Check(ctx context.Context, client *http.Client, id *session.Identity, now time.Time) ([]Finding, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	in := &inspection{client: client, now: now, status: id.KeyStatuses(now), agentAt: id.ClientID(), private: make(map[document][]string)}
	documents, err := id.Published()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(strictjson.Decode(documents.Agent, strictjson.Limits{}, &in.own),
		strictjson.Decode(documents.Keys, strictjson.Limits{}, &in.ownKeys)); err != nil {
		return nil, fmt.Errorf("the identity's documents: %w", err)
	}
	var findings []Finding
	lost := make(map[document]bool)
	for _, r := range rules() {
		at := in.agentAt
		if r.of == keysDocument {
			at = in.keysAt
		}
		f := Finding{Verdict: NotReached}
		if at != "" && (!lost[r.of] || r.always) {
			f = r.check(ctx, in)
			lost[r.of] = lost[r.of] || r.reads && f.Verdict == Failed
		}
		f.Rule, f.URL = r.name, at
		findings = append(findings, f)
	}
	return findings, nil
}

func found(format string, args ...any) Finding {
	return Finding{Verdict: OK, Found: fmt.Sprintf(format, args...)}
}

// quoted is a server's value, escaped and not too long.
func quoted(s string) string { return trouble.Quoted(s, maxQuoted) }

// read asks for a document and decodes it. A redirect is not followed.
func (in *inspection) read(ctx context.Context, of document, at string, media []string, into any) (http.Header, Finding) {
	unread := func(what, change string) (http.Header, Finding) {
		return nil, Finding{Verdict: Failed, Found: what, Change: change}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return unread("not a URL", "publish it at an https URL")
	}
	req.Header.Set("Accept", "application/json")
	res, err := in.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // it would name the address once more
		}
		return unread("no answer: "+quoted(err.Error()), "let the host answer there over HTTPS, with a certificate for its name")
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return unread(fmt.Sprintf("status %d, a redirect to %s", res.StatusCode, quoted(res.Header.Get("Location"))),
			"serve the document at this very URL: a Company follows no redirect from a client id")
	case res.StatusCode != http.StatusOK:
		return unread(fmt.Sprintf("status %d", res.StatusCode), "upload the document, so that a GET without a cookie has status 200")
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxPublished+1))
	if err != nil {
		return unread("the document broke off: "+quoted(err.Error()), "send the document whole")
	}
	in.private[of] = privateKeys(data, in.ownKeys)
	got, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(media, got) {
		return unread("its content type is "+quoted(res.Header.Get("Content-Type")), "send Content-Type: application/json")
	}
	if err := strictjson.Decode(data, strictjson.Limits{Bytes: maxPublished, Depth: maxLevels}, into); err != nil {
		return unread("not the JSON it should be: "+err.Error(), "upload the document as it is in the identity's public folder")
	}
	return res.Header, found("it can be read")
}

// cachedFor is for how long a Company may use the document without asking again, and the words of the header for it.
func cachedFor(header http.Header) (time.Duration, string) {
	said := strings.Join(header.Values("Cache-Control"), ", ")
	var longest time.Duration
	stated := false
	for item := range strings.SplitSeq(strings.ToLower(said), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		switch name {
		case "no-store", "no-cache":
			return 0, "Cache-Control: " + quoted(said)
		case "max-age", "s-maxage":
			stated = true
			longest = max(longest, seconds(strings.Trim(value, `"`)))
		}
	}
	if stated {
		return longest, "Cache-Control: " + quoted(said)
	}
	expires, err := http.ParseTime(header.Get("Expires"))
	if err != nil {
		return 0, "nothing"
	}
	said = "Expires: " + quoted(header.Get("Expires"))
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return 0, said
	}
	return max(expires.Sub(date), 0), said
}

// seconds reads a number of seconds; what is none is no time.
func seconds(s string) time.Duration {
	n, err := strconv.ParseUint(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) || err == nil && n > maxSeconds:
		n = maxSeconds
	case err != nil:
		n = 0
	}
	return time.Duration(n) * time.Second
}
