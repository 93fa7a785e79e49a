package opsweb

import (
	"net/http"
	"strings"

	"github.com/dunglas/httpsfv"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/operation"
)

// Header is the response header that carries a reference (Operations v3, section 4).
const Header = "Poppy-Operation"

// Refusal is why a sighting is not a reference. It is written down and shown as it stands.
type Refusal string

// The refusals, in the order of the checks.
const (
	NotJoined   Refusal = "the browser context is joined to no Session"
	NotA403     Refusal = "the status is not 403"
	Preflight   Refusal = "it answers a preflight"
	Malformed   Refusal = "the header is not a well-formed dictionary of two strings"
	OtherSid    Refusal = "sid names a Session that this context is not joined to"
	BadRef      Refusal = "ref is not 1 to 2048 of A-Z a-z 0-9 - _ ."
	SeenBefore  Refusal = "the same reference came before, so a cache may have repeated it"
	RoundOver   Refusal = "its request was made before, for an operation that is performed or whose outcome is not known"
	NoEndpoint  Refusal = "the Company lists no operations endpoint"
	TooMany     Refusal = "too many operations are open or came at once"
	NotWritten  Refusal = "it could not be written down in time"
	NotNamed    Refusal = "its round could not be given a name"
	ShuttingOff Refusal = "the run is ending"
)

// Reference is a reference that a response header brought to our own browser, in a context that is joined to the
// Session it names. It can be made by this package's judgement alone, and it knows the one endpoint it may go to.
// Its text is opaque.
type Reference struct {
	text string
	site *site
	sid  string // the Session's at that moment
}

// judge reads the header of a held response that arrived in a context joined to sid (Operations v3, section 4). The
// checks that need memory are the caller's.
func judge(h browser.Held, sid string) (ref string, why Refusal) {
	switch {
	case h.Status() != http.StatusForbidden:
		return "", NotA403
	case h.Method() == http.MethodOptions || h.Resource() == "Preflight":
		return "", Preflight
	}
	return judgeFields(h.Fields(), sid)
}

// judgeFields reads the header's lines as one dictionary. Two lines are one dictionary too, in which the last value of
// a member holds; what RFC 9651 calls a failure is ignored whole.
func judgeFields(lines []string, sid string) (ref string, why Refusal) {
	dictionary, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return "", Malformed
	}
	gotSid, ok := stringMember(dictionary, "sid")
	if !ok {
		return "", Malformed
	}
	ref, ok = stringMember(dictionary, "ref")
	switch {
	case !ok:
		return "", Malformed
	case gotSid != sid:
		return "", OtherSid
	case !validReference(ref):
		return "", BadRef
	}
	return ref, ""
}

// stringMember returns a member that is a String: a Token, a number or an inner list is none. Parameters are ignored.
func stringMember(d *httpsfv.Dictionary, name string) (string, bool) {
	member, ok := d.Get(name)
	if !ok {
		return "", false
	}
	item, ok := member.(httpsfv.Item)
	if !ok {
		return "", false
	}
	s, ok := item.Value.(string)
	return s, ok
}

func validReference(s string) bool {
	if s == "" || len(s) > operation.MaxReference {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		letter := (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9')
		return !letter && r != '-' && r != '_' && r != '.'
	}) < 0
}
