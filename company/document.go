package company

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

const (
	maxDocument  = 100 << 10 // bytes
	maxDepth     = 16        // nested objects and arrays of a document
	maxRedirects = 3         // of one document, to https only
)

// poppyDocument is the part of poppy.json that we read; other members are ignored. What a rule of its own judges stays
// raw until then, so that one wrong member does not hide the others.
type poppyDocument struct {
	Versions     []string `json:"protocol_versions"`
	Version      string   `json:"protocol_version"`
	Organization struct {
		Name   string `json:"name"`
		Domain string `json:"domain"`
	} `json:"organization"`
	Auth *struct {
		Issuer       string          `json:"issuer"`
		Direct       json.RawMessage `json:"direct"`
		Device       json.RawMessage `json:"device"`
		Mediated     json.RawMessage `json:"mediated"`
		CustomScopes json.RawMessage `json:"custom_scopes"`
	} `json:"auth"`
	Web struct {
		JoinEndpoint *string `json:"browser_session_endpoint"`
	} `json:"web"`
	APIs  json.RawMessage `json:"apis"`
	Agent struct {
		Protocols json.RawMessage `json:"protocols"`
	} `json:"agent"`
	Feedback   json.RawMessage            `json:"feedback"`
	Extensions map[string]json.RawMessage `json:"extensions"`
}

// versions are the protocol versions listed: those of the list where there is one, else the one of the drafts' form.
// PROTOCOL 1.0, section 18, row 21, a guess.
func (p *poppyDocument) versions() []string {
	if p.Versions == nil && p.Version != "" {
		return []string{p.Version}
	}
	return p.Versions
}

// listed says which versions are listed, and where.
func (p *poppyDocument) listed() string {
	switch versions := p.versions(); {
	case p.Versions != nil:
		return "protocol_versions lists " + quoted(strings.Join(versions, ", "))
	case p.Version != "":
		return "protocol_version is " + quoted(p.Version)
	default:
		return "neither protocol_versions nor protocol_version is there"
	}
}

type resourceDocument struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
}

// there reports whether a member was sent, and not as null.
func there(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// readMember decodes the member at a path of its document; its error names both.
func readMember(at string, raw json.RawMessage, into any) *DocumentError {
	if err := strictjson.Decode(raw, strictjson.Limits{}, into); err != nil {
		return &DocumentError{Family: ErrUnreadable, Rule: at + " is not what it should be", Cause: err,
			Change: "let each member of " + at + " have its type, as the example in the specification"}
	}
	return nil
}

// isHTTPS reports whether s is a URL that we may call: absolute, https, without a user and a fragment.
func isHTTPS(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

// wantHTTPS is the error of a member that is no such URL, else nil.
func wantHTTPS(member, value string) *DocumentError {
	if isHTTPS(value) {
		return nil
	}
	return &DocumentError{Family: ErrUnreadable, Rule: fmt.Sprintf("%s is %s and not an https URL", member, quoted(value)),
		Change: fmt.Sprintf("set %s to an absolute https URL without a user or a fragment, or leave out what it belongs to", member)}
}

// statusError is an HTTP status that is not 200.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("status %d", e.code) }

// status is the HTTP status that e is about; e may be nil.
func (e *DocumentError) status() (int, bool) {
	if e == nil {
		return 0, false
	}
	s, ok := errors.AsType[*statusError](e.Cause)
	if !ok {
		return 0, false
	}
	return s.code, true
}

// readDocument reads a document from where it is. A redirect is followed to https only, and not often.
func (d *discovery) readDocument(ctx context.Context, of document, into any) (found string, err *DocumentError) {
	next := d.at[of]
	for range maxRedirects + 1 {
		location, err := d.get(ctx, next, into)
		switch {
		case err != nil:
			return "", err
		case location == "" && next != d.at[of]:
			d.read[of], d.from[of] = true, next
			return "it can be read, redirected to " + quoted(next), nil
		case location == "":
			d.read[of], d.from[of] = true, next
			return "it can be read", nil
		}
		next = location
	}
	return "", &DocumentError{Family: ErrUnreadable, Rule: fmt.Sprintf("more than %d redirects", maxRedirects),
		Change: "serve the document here, or redirect straight to it"}
}

// get reads the document at one URL, from the cache while the stored copy is fresh, or says where it redirects to.
func (d *discovery) get(ctx context.Context, from string, into any) (location string, err *DocumentError) {
	stored := d.cache.load(from)
	if stored != nil && stored.fresh(d.cache.now()) {
		d.stored = true
		return "", decodeDocument(stored.Header, stored.Body, into)
	}
	return d.ask(ctx, from, into, stored)
}

// ask asks for the document; stored, which may be nil, is the copy that is used when the answer is 304.
func (d *discovery) ask(ctx context.Context, from string, into any, stored *entry) (location string, _ *DocumentError) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", &DocumentError{Family: ErrUnreadable, Rule: "not a URL", Cause: err, Change: "name it by an https URL"}
	}
	req.Header.Set("Accept", "application/json")
	d.cache.prepare(req, stored)
	requested := d.cache.time()
	res, err := d.client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // it would name the address once more
		}
		change := "let the host answer there over HTTPS, with a certificate for its name"
		if errors.Is(err, reach.ErrPrivateAddress) {
			change = "let the host's name lead to public addresses only"
		}
		return "", &DocumentError{Family: ErrUnreachable, Rule: "no answer", Cause: err, Change: change}
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode == http.StatusNotModified && stored != nil:
		renewed, ok := stored.renewed(res.Header, requested, d.cache.time())
		if !ok { // it speaks of another copy than ours
			d.cache.forget(from)
			return d.ask(ctx, from, into, nil)
		}
		d.stored = true
		d.cache.store(renewed)
		return "", decodeDocument(renewed.Header, renewed.Body, into)
	case res.StatusCode >= 300 && res.StatusCode < 400 && res.Header.Get("Location") != "":
		d.cache.forget(from)
		to, err := res.Location()
		if err != nil || !isHTTPS(to.String()) {
			return "", &DocumentError{Family: ErrUnreadable, Rule: "redirects to something else than an https URL", Change: "redirect to https URLs only"}
		}
		return to.String(), nil
	case res.StatusCode != http.StatusOK:
		if res.StatusCode < 500 { // a server in trouble says nothing of the document
			d.cache.forget(from)
		}
		return "", &DocumentError{Family: ErrUnreadable, Rule: "the answer is not a document", Cause: &statusError{res.StatusCode},
			Change: "answer a GET without a Session or a cookie with status 200 and the document"}
	}
	body, failure := readBody(res)
	if failure == nil {
		failure = decodeDocument(res.Header, body, into)
	}
	if failure != nil {
		d.cache.forget(from)
		return "", failure
	}
	d.cache.store(newEntry(from, res.Header, body, requested, d.cache.time()))
	return "", nil
}

func readBody(res *http.Response) ([]byte, *DocumentError) {
	if err := checkMedia(res.Header); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err != nil {
		return nil, &DocumentError{Family: ErrUnreachable, Rule: "the document broke off", Cause: err, Change: "send the document whole"}
	}
	return data, nil
}

func checkMedia(header http.Header) *DocumentError {
	if media, _, err := mime.ParseMediaType(header.Get("Content-Type")); err != nil || media != "application/json" {
		return &DocumentError{Family: ErrUnreadable, Rule: fmt.Sprintf("its content type is %s and not application/json", quoted(header.Get("Content-Type"))),
			Change: "send Content-Type: application/json"}
	}
	return nil
}

// decodeDocument is the one check of a document's form, of a fresh one and of a stored one.
func decodeDocument(header http.Header, body []byte, into any) *DocumentError {
	if err := checkMedia(header); err != nil {
		return err
	}
	if err := strictjson.Decode(body, strictjson.Limits{Bytes: maxDocument, Depth: maxDepth}, into); err != nil {
		return &DocumentError{Family: ErrUnreadable, Rule: "not the JSON it should be", Cause: err,
			Change: fmt.Sprintf("send one JSON object in UTF-8, each member once and of its type, of at most %d KiB and %d levels", maxDocument>>10, maxDepth)}
	}
	return nil
}

// time is the cache's clock, and no time without a cache: nothing is measured then.
func (c *Cache) time() time.Time {
	if c == nil {
		return time.Time{}
	}
	return c.now()
}
