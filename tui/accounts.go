package tui

import (
	"context"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/signin"
)

// Accounts is what the screen of Companies shows and does. Every method returns soon after ctx ends; errors are best
// a *[trouble.Error], whose four sentences are shown. Text in what they return is as the Company sent it: the UI
// sanitises it. A key is that of the home's lock, open; nil at a home without one. Methods may be called concurrently.
type Accounts interface {
	// Known lists the Companies this home knows, in the order they are shown. What could be read comes beside an error.
	Known(ctx context.Context) ([]Known, error)
	// Offers reads what sign-ins the Company at address offers, for the account that the User calls label.
	Offers(ctx context.Context, key *lock.Key, address, label string) (Offers, error)
	// SignIn signs the User in. It asks them through ui alone.
	SignIn(ctx context.Context, key *lock.Key, c Choice, ui signin.UI) (signin.Result, error)
	// SignOut has the Company at address revoke the access to the account that the User calls label.
	SignOut(ctx context.Context, key *lock.Key, address, label string) error
}

// Known is a Company that the home knows.
type Known struct {
	Domain   string // empty where only its issuer is known
	Issuer   string
	Name     string
	UserID   string // how it knows the User; empty before the first visit
	Accounts []account.Account
}

// Offers is what sign-ins a Company offers.
type Offers struct {
	Domain string
	Name   string
	Types  []OfferedType     // the one that suits best first
	Scopes map[string]string // what the Company says of its scopes
}

// OfferedType is one type of sign-in.
type OfferedType struct {
	Type      signin.Type
	Scopes    []string // that it can grant
	Suggested []string // of these: what is asked for unless the User says otherwise
}

// Choice is the sign-in that the User chose.
type Choice struct {
	Address string
	Account string // the User's word for the account; empty for the only one
	Type    signin.Type
	Scope   []string
}

// scopeCells is the room for one scope in our own lines.
const scopeCells = 60

// accountText is what is shown of one sign-in.
type accountText struct {
	label   plaintext.Text // empty for the only one
	raw     string         // compared and handed back, never shown
	scopes  []plaintext.Text
	kind    words
	expires time.Time
	cut     time.Time // a refresh was cut short
	waits   int       // tokens that the Company has not revoked yet
	keyring bool
}

// knownText is what is shown of one Company.
type knownText struct {
	company  companyText
	issuer   plaintext.Text
	userID   plaintext.Text
	address  string // handed back, never shown; empty when it is not known
	accounts []accountText
}

func (c charset) known(from Known) knownText {
	out := knownText{
		company: c.company(approval.Company{Domain: from.Domain, Name: from.Name}), issuer: c.whole(from.Issuer), userID: c.whole(from.UserID),
		address: from.Domain,
	}
	for _, a := range from.Accounts {
		out.accounts = append(out.accounts, c.account(a))
	}
	return out
}

func (c charset) account(a account.Account) accountText {
	return accountText{
		label: c.line(a.Label, plaintext.QuoteCells), raw: a.Label, scopes: c.scopes(a.Scope), kind: typeWords(signin.Type(a.Type)),
		expires: a.Expires, cut: a.Interrupted, waits: a.Unrevoked, keyring: a.Place == account.PlaceKeyring,
	}
}

func (c charset) scopes(from []string) []plaintext.Text {
	var out []plaintext.Text
	for _, s := range from {
		out = append(out, c.line(s, scopeCells))
	}
	return out
}

// scopeText is one scope and what it is for.
type scopeText struct {
	name  plaintext.Text
	about line // in our words, or the Company's, quoted
}

// scope says what a scope is for: the protocol's own in our words, the Company's in its own, quoted.
func (c charset) scope(name string, described map[string]string) scopeText {
	out := scopeText{name: c.line(name, scopeCells)}
	if own, ok := described[name]; ok && strings.TrimSpace(own) != "" {
		out.about = line{theirs(c.quote(own), plain)}
	} else if w := scopeWords(name); w != "" {
		out.about = say(w)
	}
	return out
}

func (s scopeText) line() line {
	out := line{theirs(s.name, strong)}
	if len(s.about) == 0 {
		return out
	}
	return append(append(out, ours("  ", plain)), s.about...)
}

// offerText is one type of sign-in that is offered.
type offerText struct {
	kind   signin.Type // compared and handed back
	raw    []string    // its scopes, handed back
	scopes []scopeText
	wanted []bool // of the scopes: asked for
}

func (c charset) offer(from OfferedType, described map[string]string) offerText {
	out := offerText{kind: from.Type, raw: from.Scopes}
	for _, s := range from.Scopes {
		wanted := false
		for _, suggested := range from.Suggested {
			wanted = wanted || suggested == s
		}
		out.scopes, out.wanted = append(out.scopes, c.scope(s, described)), append(out.wanted, wanted)
	}
	return out
}

// scope is what is asked for.
func (o offerText) scope() []string {
	var out []string
	for i, s := range o.raw {
		if o.wanted[i] {
			out = append(out, s)
		}
	}
	return out
}
