package authserver

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxForm bounds a request's body, in bytes.
const maxForm = 64 << 10

// refusal is an error answer: the OAuth error, and the rule that was broken, if it is the agent's fault.
type refusal struct {
	status int
	code   string
	rule   string
	seen   string
	proof  bool // a DPoP proof is what is wrong
}

// refused makes one without a broken rule.
func refused(status int, code string) *refusal { return &refusal{status: status, code: code} }

// broken makes one for a broken rule.
func broken(status int, code, rule, seen string) *refusal {
	return &refusal{status: status, code: code, rule: rule, seen: seen}
}

// errorAnswer is the OAuth error response (RFC 6749, section 5.2).
type errorAnswer struct {
	Error string `json:"error"`
	Scope string `json:"scope,omitempty"`
}

// refuse answers at the token, revocation and device authorization endpoints.
func (s *Server) refuse(w http.ResponseWriter, f *refusal) {
	if f.rule != "" {
		s.cfg.Broken(f.rule, f.seen)
	}
	if f.proof {
		s.offerNonce(w.Header())
		if s.cfg.Profile.ProofChallenge {
			w.Header().Set("WWW-Authenticate", `DPoP error="`+f.code+`"`)
		}
	}
	if f.code == "invalid_client" {
		// RFC 6749, section 5.2 asks for a challenge when the client used the Authorization header; no agent does.
		w.Header().Del("WWW-Authenticate")
	}
	WriteJSON(w, f.status, errorAnswer{Error: f.code})
}

// WriteJSON answers with a JSON value that nobody may store.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

// RetryAfter writes the time to wait in whole seconds, at least one (RFC 9110, section 10.2.3).
func RetryAfter(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int(max(1, math.Ceil(wait.Seconds())))))
}

// limited answers 429 and says so when the client has to wait.
func (s *Server) limited(w http.ResponseWriter, client string) bool {
	wait := s.cfg.Limited(client)
	if wait <= 0 {
		return false
	}
	RetryAfter(w.Header(), wait)
	WriteJSON(w, http.StatusTooManyRequests, errorAnswer{Error: "rate_limited"})
	return true
}

// ErrForm says what is wrong with a form.
var ErrForm = errors.New("the form can't be read")

// ReadForm reads a form that an agent posted: the method, the media type, UTF-8, and each field at most once (RFC 6749,
// section 3.2). Parameters in the URL are none. It returns ErrForm with what is wrong.
func ReadForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/x-www-form-urlencoded" {
		return nil, errors.Join(ErrForm, errors.New("another content type than application/x-www-form-urlencoded"))
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		return nil, errors.Join(ErrForm, errors.New("a body that is too large or ends early"))
	}
	form, err := url.ParseQuery(string(data))
	if err != nil {
		return nil, errors.Join(ErrForm, errors.New("a body that isn't a form"))
	}
	for name, values := range form {
		if len(values) > 1 {
			return nil, errors.Join(ErrForm, errors.New("a field that comes twice"))
		}
		if !utf8.ValidString(name) || !utf8.ValidString(values[0]) {
			return nil, errors.Join(ErrForm, errors.New("a field that isn't UTF-8"))
		}
	}
	return form, nil
}

// endpointForm reads a form at an OAuth endpoint and answers when it can't be read.
func (s *Server) endpointForm(w http.ResponseWriter, r *http.Request) (url.Values, bool) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		WriteJSON(w, http.StatusMethodNotAllowed, errorAnswer{Error: "invalid_request"})
		return nil, false
	}
	form, err := ReadForm(w, r)
	if err != nil {
		s.refuse(w, broken(http.StatusBadRequest, "invalid_request", ruleForm, "a request whose form can't be read"))
		return nil, false
	}
	return form, true
}

// clientForm is endpointForm for an endpoint that only agents use: it answers, too, when the agent isn't authenticated or
// has to wait.
func (s *Server) clientForm(w http.ResponseWriter, r *http.Request) (url.Values, Client, bool) {
	form, ok := s.endpointForm(w, r)
	if !ok {
		return nil, Client{}, false
	}
	client, failed := s.client(r, form)
	if failed != nil {
		s.refuse(w, failed)
		return nil, Client{}, false
	}
	return form, client, !s.limited(w, client.ID)
}

// join is a scope as it is written.
func join(scopes []string) string { return strings.Join(scopes, " ") }

// without gives the scopes of one list that aren't in the other.
func without(scopes, others []string) []string {
	return slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return slices.Contains(others, s) })
}
