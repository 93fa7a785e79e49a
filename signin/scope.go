package signin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/papaver-agent/papaver/company"
)

// ChoiceError says why no type could be chosen. It unwraps to ErrNotOffered or ErrNoScope.
type ChoiceError struct {
	what   string
	family error
}

// Error names the Company, and the type where one was asked for.
func (e *ChoiceError) Error() string { return e.what }

// Unwrap returns the family.
func (e *ChoiceError) Unwrap() error { return e.family }

// Type is a way of signing in (draft 0.1, section 4.4).
type Type string

// The types.
const (
	Direct   Type = "direct"   // the Company's page in the User's own browser, and back
	Device   Type = "device"   // the Company's page on any device, by a link and a code
	Mediated Type = "mediated" // the User gives the agent their credentials for this Company
)

// Types lists them in the order of preference: what asks the least trust of the User first.
func Types() []Type { return []Type{Direct, Device, Mediated} }

var (
	// ErrNotOffered is returned when the Company offers no sign-in, or not the type asked for, or none that grants the
	// scopes asked for.
	ErrNotOffered = errors.New("not offered")
	// ErrNoScope is returned when no scopes are given and none of those offered is clearly the least.
	ErrNoScope = errors.New("say which scopes are needed")
)

// readScope is the least of the protocol's own scopes.
const readScope = "poppy:read"

// Offer is one type that a Company offers.
type Offer struct {
	Type   Type
	Scopes []string // that it can grant; the Company's own words, not sanitised
}

// Offers lists what c offers, in the order of preference.
func Offers(c *company.Company) []Offer {
	var offers []Offer
	if d := c.SignIn.Direct; d != nil && c.Server.Authorization != "" {
		offers = append(offers, Offer{Direct, d.Scopes})
	}
	if d := c.SignIn.Device; d != nil && c.Server.Device != "" {
		offers = append(offers, Offer{Device, d.Scopes})
	}
	if m := c.SignIn.Mediated; m != nil {
		offers = append(offers, Offer{Mediated, m.Scopes})
	}
	return offers
}

func (o Offer) grants(scope []string) bool {
	return !slices.ContainsFunc(scope, func(s string) bool { return !slices.Contains(o.Scopes, s) })
}

// least is the smallest useful access of an offer: poppy:read, or the scopes that are for reading by their name, or the
// only one.
func (o Offer) least() []string {
	if slices.Contains(o.Scopes, readScope) {
		return []string{readScope}
	}
	var reading []string
	for _, s := range o.Scopes {
		if strings.HasSuffix(s, ":read") || strings.HasSuffix(s, ".read") {
			reading = append(reading, s)
		}
	}
	if len(reading) == 0 && len(o.Scopes) == 1 {
		return slices.Clone(o.Scopes)
	}
	return reading
}

// Choose picks the type and the scopes of a sign-in. Without a type it is the first by preference that grants all of
// scope; without scopes, the least that the type offers. Where the User has no browser at hand (handy is false), Device
// comes before Direct: its link can be opened anywhere. The error is a *[ChoiceError].
func Choose(c *company.Company, t Type, scope []string, handy bool) (Type, []string, error) {
	offers := Offers(c)
	if len(offers) == 0 {
		return "", nil, &ChoiceError{what: c.Domain + " offers no sign-in", family: ErrNotOffered}
	}
	if !handy {
		slices.SortStableFunc(offers, func(a, b Offer) int { return rank(a.Type) - rank(b.Type) })
	}
	known := false
	for _, o := range offers {
		if t != "" && o.Type != t {
			continue
		}
		known = true
		if scope == nil {
			if least := o.least(); len(least) > 0 {
				return o.Type, least, nil
			}
			continue
		}
		if o.grants(scope) {
			return o.Type, scope, nil
		}
	}
	switch {
	case !known:
		return "", nil, &ChoiceError{what: fmt.Sprintf("%s does not offer %s sign-in", c.Domain, t), family: ErrNotOffered}
	case scope == nil:
		return "", nil, &ChoiceError{what: c.Domain + " lists no scope that is clearly for reading only: say which are needed", family: ErrNoScope}
	case t != "":
		return "", nil, &ChoiceError{what: fmt.Sprintf("%s sign-in at %s does not grant all of these scopes", t, c.Domain), family: ErrNotOffered}
	default:
		return "", nil, &ChoiceError{what: fmt.Sprintf("no sign-in at %s grants all of these scopes", c.Domain), family: ErrNotOffered}
	}
}

// rank is the order without a browser at hand.
func rank(t Type) int {
	if t == Device {
		return 0
	}
	return 1
}

// Missing lists what was asked for and not granted.
func Missing(asked, granted []string) []string {
	var missing []string
	for _, s := range asked {
		if !slices.Contains(granted, s) {
			missing = append(missing, s)
		}
	}
	return missing
}

// ParseScope reads scopes as a person writes them, separated by spaces, each once (RFC 6749, section 3.3).
func ParseScope(text string) ([]string, error) {
	var scope []string
	for _, s := range strings.Fields(text) {
		if strings.ContainsFunc(s, func(r rune) bool { return r < 0x21 || r > 0x7e || r == '"' || r == '\\' }) {
			return nil, fmt.Errorf("scope %q: a scope is printable ASCII without quotation marks and backslashes", s)
		}
		if !slices.Contains(scope, s) {
			scope = append(scope, s)
		}
	}
	return scope, nil
}
