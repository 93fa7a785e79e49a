package company

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

// reading is the reading of one document. It is one goroutine's.
type reading struct {
	client *http.Client
	cache  *Cache // may be nil
	stored bool   // a stored copy was used
	from   string // where it was read, after redirects; empty until then
}

// read reads the document at a URL. A redirect is followed to https only, and not often.
func (r *reading) read(ctx context.Context, at string, into any) (found string, err *DocumentError) {
	next := at
	for range maxRedirects + 1 {
		location, err := r.get(ctx, next, into)
		switch {
		case err != nil:
			return "", err
		case location == "" && next != at:
			r.from = next
			return "it can be read, redirected to " + quoted(next), nil
		case location == "":
			r.from = next
			return "it can be read", nil
		}
		next = location
	}
	return "", &DocumentError{Family: ErrUnreadable, Rule: fmt.Sprintf("more than %d redirects", maxRedirects),
		Change: "serve the document here, or redirect straight to it"}
}

// get reads the document at one URL, from the cache while the stored copy is fresh, or says where it redirects to.
func (r *reading) get(ctx context.Context, from string, into any) (location string, err *DocumentError) {
	stored := r.cache.load(from)
	if stored != nil && stored.fresh(r.cache.now()) {
		r.stored = true
		return "", decodeDocument(stored.Header, stored.Body, into)
	}
	return r.ask(ctx, from, into, stored)
}

// ask asks for the document; stored, which may be nil, is the copy that is used when the answer is 304.
func (r *reading) ask(ctx context.Context, from string, into any, stored *entry) (location string, _ *DocumentError) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return "", &DocumentError{Family: ErrUnreadable, Rule: "not a URL", Cause: err, Change: "name it by an https URL"}
	}
	req.Header.Set("Accept", "application/json")
	r.cache.prepare(req, stored)
	requested := r.cache.time()
	res, err := r.client.Do(req)
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
		renewed, ok := stored.renewed(res.Header, requested, r.cache.time())
		if !ok { // it speaks of another copy than ours
			r.cache.forget(from)
			return r.ask(ctx, from, into, nil)
		}
		r.stored = true
		r.cache.store(renewed)
		return "", decodeDocument(renewed.Header, renewed.Body, into)
	case res.StatusCode >= 300 && res.StatusCode < 400 && res.Header.Get("Location") != "":
		r.cache.forget(from)
		to, err := res.Location()
		if err != nil || !isHTTPS(to.String()) {
			return "", &DocumentError{Family: ErrUnreadable, Rule: "redirects to something else than an https URL", Change: "redirect to https URLs only"}
		}
		return to.String(), nil
	case res.StatusCode != http.StatusOK:
		if res.StatusCode < 500 { // a server in trouble says nothing of the document
			r.cache.forget(from)
		}
		return "", &DocumentError{Family: ErrUnreadable, Rule: "the answer is not a document", Cause: &statusError{res.StatusCode},
			Change: "answer a GET without a Session or a cookie with status 200 and the document"}
	}
	body, failure := readBody(res)
	if failure == nil {
		failure = decodeDocument(res.Header, body, into)
	}
	if failure != nil {
		r.cache.forget(from)
		return "", failure
	}
	r.cache.store(newEntry(from, res.Header, body, requested, r.cache.time()))
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
