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

// The refusals of the judgement, in the order of its conditions.
const (
	NoContext   Refusal = "the frame that asked is of no browser context we know"
	NotJoined   Refusal = "the browser context is joined to no Session"
	NotA403     Refusal = "the status is not 403"
	Preflight   Refusal = "it answers a preflight"
	Malformed   Refusal = "the header is not a well-formed dictionary"
	NoSid       Refusal = "sid is missing or not a String"
	NoRef       Refusal = "ref is missing or not a String"
	OtherSid    Refusal = "sid names a Session that this context is not joined to"
	BadRef      Refusal = "ref is not 1 to 2048 of A-Z a-z 0-9 - _ ."
	ShuttingOff Refusal = "the run is ending"
	NoEndpoint  Refusal = "the Company lists no operations endpoint"
	SeenBefore  Refusal = "the same reference came before, so a cache may have repeated it"
	TooMany     Refusal = "too many operations are open or came at once"
)

// The refusals of a sighting that stood the judgement.
const (
	RoundOver  Refusal = "its request was made before, for an operation that is performed or whose outcome is not known"
	NotWritten Refusal = "it could not be written down in time"
	NotNamed   Refusal = "its round could not be given a name"
)

// Reference is a reference that a response header brought to our own browser, in a context that is joined to the
// Session it names. It can be made by this package's judgement alone, and it knows the one endpoint it may go to.
// Its text is opaque.
type Reference struct {
	text string
	site *site
	sid  string // the Session's at that moment
}

// candidate is a held response as the judgement sees it: what the response says, and what is known of where it came.
type candidate struct {
	status   int
	method   string
	resource string // CDP's Network.ResourceType
	header   header

	known    bool   // it came to a browser context that we know
	joined   bool   // which is joined to a Session
	sid      string // that Session
	endpoint bool   // its Company has one for references
	seen     bool   // ref came in this context before
	crowded  bool   // no further round may begin now
	ending   bool   // the run is
}

// header is what the lines of Poppy-Operation say.
type header struct {
	wellFormed bool
	sid, ref   *string // nil for a member that is missing or no String
}

// condition is one that every sighting must meet, and the refusal of one that doesn't.
type condition struct {
	refusal Refusal
	holds   func(candidate) bool
}

// judgement is all of what makes a sighting a reference (Operations v3, section 4). The first condition that does not hold
// is the reason. That no service worker made the response up, and that it came over the network or from the cache, is so
// because the browser session shows no others.
var judgement = [...]condition{
	{NoContext, func(c candidate) bool { return c.known }},
	{NotJoined, func(c candidate) bool { return c.joined }},
	{NotA403, func(c candidate) bool { return c.status == http.StatusForbidden }},
	{Preflight, func(c candidate) bool { return c.method != http.MethodOptions && c.resource != "Preflight" }},
	{Malformed, func(c candidate) bool { return c.header.wellFormed }},
	{NoSid, func(c candidate) bool { return c.header.sid != nil }},
	{NoRef, func(c candidate) bool { return c.header.ref != nil }},
	{OtherSid, func(c candidate) bool { return c.header.sid != nil && *c.header.sid == c.sid }},
	{BadRef, func(c candidate) bool { return c.header.ref != nil && validReference(*c.header.ref) }},
	{ShuttingOff, func(c candidate) bool { return !c.ending }},
	{NoEndpoint, func(c candidate) bool { return c.endpoint }},
	{SeenBefore, func(c candidate) bool { return !c.seen }},
	{TooMany, func(c candidate) bool { return !c.crowded }},
}

// judge returns the refusal of the first condition that does not hold; empty when all of them do.
func judge(c candidate, conditions []condition) Refusal {
	for _, condition := range conditions {
		if !condition.holds(c) {
			return condition.refusal
		}
	}
	return ""
}

// candidateOf is what a held response says; what is known of where it came is the caller's to add.
func candidateOf(h browser.Held) candidate {
	_, known := h.Context()
	return candidate{status: h.Status(), method: h.Method(), resource: h.Resource(), header: readHeader(h.Fields()), known: known}
}

// reference is the text of ref when it is in its alphabet; empty otherwise.
func (c candidate) reference() string {
	if ref := c.header.ref; ref != nil && validReference(*ref) {
		return *ref
	}
	return ""
}

// readHeader reads the header's lines as one dictionary. Two lines are one dictionary too, in which the last value of
// a member holds; what RFC 9651 calls a failure is ignored whole.
func readHeader(lines []string) (h header) {
	dictionary, err := httpsfv.UnmarshalDictionary(lines)
	if err != nil {
		return header{}
	}
	h.wellFormed = true
	if sid, ok := stringMember(dictionary, "sid"); ok {
		h.sid = &sid
	}
	if ref, ok := stringMember(dictionary, "ref"); ok {
		h.ref = &ref
	}
	return h
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
