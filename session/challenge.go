package session

import (
	"net/http"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/pace"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

const (
	maxChallenges  = 8 << 10  // bytes of all WWW-Authenticate fields of an answer
	maxErrorBody   = 64 << 10 // bytes of an error answer's body
	maxDescription = 1 << 10  // bytes of an error_description; what is longer is cut
	maxCode        = 64       // bytes
	maxScopes      = 64       // in one list
	maxScope       = 256      // bytes of one scope
)

// challenge is one challenge of WWW-Authenticate (RFC 9110, section 11.6.1).
type challenge struct {
	scheme string            // in lower case
	params map[string]string // names in lower case
}

// parseChallenges reads all WWW-Authenticate fields of an answer. A field that is not well-formed, or has a parameter
// twice in a challenge, is left out whole: a guess at what it means could be a guess at whom to trust.
func parseChallenges(fields []string) []challenge {
	total := 0
	var all []challenge
	for _, field := range fields {
		if total += len(field); total > maxChallenges {
			return nil
		}
		if read, ok := (&fieldReader{rest: field}).challenges(); ok {
			all = append(all, read...)
		}
	}
	return all
}

// fieldReader reads a field from its front.
type fieldReader struct{ rest string }

func (r *fieldReader) challenges() ([]challenge, bool) {
	var all []challenge
	for {
		r.separators()
		if r.rest == "" {
			return all, true
		}
		scheme := r.token()
		if scheme == "" {
			return nil, false
		}
		c := challenge{scheme: strings.ToLower(scheme), params: make(map[string]string)}
		if !r.parameters(&c) {
			return nil, false
		}
		all = append(all, c)
	}
}

// parameters reads the parameters of c, up to the next challenge or the end.
func (r *fieldReader) parameters(c *challenge) bool {
	if r.rest == "" || r.rest[0] == ',' {
		return true
	}
	if !r.spaces() {
		return false
	}
	for first := true; ; first = false {
		before := *r
		if r.separators(); r.rest == "" {
			return true
		}
		name := r.token()
		r.spaces()
		if name == "" || !strings.HasPrefix(r.rest, "=") {
			*r = before // a token68, or the next challenge's scheme
			return !first || r.token68() || strings.HasPrefix(strings.TrimLeft(r.rest, " \t"), ",")
		}
		r.rest = r.rest[1:]
		r.spaces()
		value, ok := r.value()
		name = strings.ToLower(name)
		if _, twice := c.params[name]; twice || !ok {
			// "Negotiate a==" is a token68 whose padding looks like a parameter.
			*r = before
			return first && r.token68()
		}
		c.params[name] = value
		if r.spaces(); r.rest != "" && r.rest[0] != ',' {
			return false
		}
	}
}

// token68 reads the one value of a challenge without parameters.
func (r *fieldReader) token68() bool {
	n := 0
	for n < len(r.rest) && isToken68(r.rest[n]) {
		n++
	}
	for n > 0 && n < len(r.rest) && r.rest[n] == '=' {
		n++
	}
	r.rest = strings.TrimLeft(r.rest[n:], " \t")
	return n > 0 && (r.rest == "" || r.rest[0] == ',')
}

func isToken68(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte("-._~+/", b) >= 0
}

// separators skips what may stand between the parts of a list.
func (r *fieldReader) separators() { r.rest = strings.TrimLeft(r.rest, " \t,") }

// spaces skips spaces and says whether there were any.
func (r *fieldReader) spaces() bool {
	trimmed := strings.TrimLeft(r.rest, " \t")
	some := len(trimmed) < len(r.rest)
	r.rest = trimmed
	return some
}

func (r *fieldReader) token() string {
	n := 0
	for n < len(r.rest) && isTokenByte(r.rest[n]) {
		n++
	}
	token := r.rest[:n]
	r.rest = r.rest[n:]
	return token
}

func isTokenByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}

// value reads a token or a quoted string.
func (r *fieldReader) value() (string, bool) {
	if !strings.HasPrefix(r.rest, `"`) {
		value := r.token()
		return value, value != ""
	}
	var value strings.Builder
	for i := 1; i < len(r.rest); i++ {
		switch b := r.rest[i]; {
		case b == '"':
			r.rest = r.rest[i+1:]
			return value.String(), true
		case b == '\\' && i+1 < len(r.rest):
			i++
			value.WriteByte(r.rest[i])
		case b == '\\', b < ' ' && b != '\t', b == 0x7f:
			return "", false
		default:
			value.WriteByte(b)
		}
	}
	return "", false
}

// errorBody is an error answer's JSON (RFC 6749, section 5.2; draft 0.1, section 3.3). Other members are the API's own.
type errorBody struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
	Scope       string `json:"scope"`
	Extension   string `json:"extension"`
}

// readError reads what an answer of status 400 and above says: from WWW-Authenticate, and from the JSON body where that
// names no error. body is the body's beginning, at most maxErrorBody of it.
func readError(res *http.Response, body []byte, now time.Time) *ServerError {
	e := &ServerError{Status: res.StatusCode, RetryAfter: pace.RetryAfter(res.Header, now, maxPause)}
	for _, c := range parseChallenges(res.Header.Values("WWW-Authenticate")) {
		if c.scheme != "dpop" && c.scheme != "bearer" || e.Code != "" {
			continue
		}
		e.Code = plainCode(c.params["error"])
		if e.Scope == nil {
			e.Scope, _ = readScope(c.params["scope"])
		}
		e.Description, e.Extension = cut(c.params["error_description"]), cut(c.params["extension"])
	}
	if e.Code != "" || !isJSON(res.Header) {
		return e
	}
	var said errorBody
	if err := strictjson.Decode(body, strictjson.Limits{Bytes: maxErrorBody}, &said); err != nil {
		return e
	}
	e.Code, e.Description, e.Extension = plainCode(said.Error), cut(said.Description), cut(said.Extension)
	if scope, ok := readScope(said.Scope); ok && len(scope) > 0 {
		e.Scope = scope
	}
	return e
}

// plainCode is an error code as sent when it is one that can stand in our own lines; else there is none.
func plainCode(code string) string {
	if len(code) > maxCode || strings.ContainsFunc(code, func(r rune) bool {
		return r > 0x7f || !isToken68(byte(r)) || strings.ContainsRune("~+/", r)
	}) {
		return ""
	}
	return code
}

func cut(text string) string {
	if len(text) > maxDescription {
		text = text[:maxDescription]
	}
	return strings.ToValidUTF8(text, "")
}

// readScope reads a space-separated list of scopes (RFC 6749, section 3.3).
func readScope(text string) ([]string, bool) {
	if text == "" {
		return nil, true
	}
	scopes := strings.Split(text, " ")
	if len(scopes) > maxScopes {
		return nil, false
	}
	for _, scope := range scopes {
		if scope == "" || len(scope) > maxScope {
			return nil, false
		}
		for i := range len(scope) {
			if b := scope[i]; b <= ' ' || b > '~' || b == '"' || b == '\\' {
				return nil, false
			}
		}
	}
	return scopes, true
}
