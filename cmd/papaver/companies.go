package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/session"
)

// accountLine is a sign-in as `--json` tells it. There is no token in it.
type accountLine struct {
	Company   string     `json:"company"`
	Issuer    string     `json:"issuer"`
	Account   string     `json:"account"` // the User's word for it; empty for the only one
	Type      string     `json:"type"`
	Protocol  string     `json:"protocol"`
	Scope     []string   `json:"scope"`
	Since     time.Time  `json:"since"`
	Expires   *time.Time `json:"expires"` // null when the Company set no end
	KeptIn    string     `json:"kept_in"`
	Unrevoked int        `json:"unrevoked_tokens,omitempty"` // replaced, and not yet revoked by the Company
	CutShort  *time.Time `json:"refresh_cut_short,omitempty"`
}

func lineOfAccount(a account.Account) accountLine {
	line := accountLine{
		Company: a.Domain, Issuer: plaintext.Whole(a.Issuer).String(), Account: a.Label, Type: a.Type, Protocol: a.Profile, Scope: wholeAll(a.Scope),
		Since: a.Since, KeptIn: string(a.Place), Unrevoked: a.Unrevoked,
	}
	if !a.Expires.IsZero() {
		line.Expires = &a.Expires
	}
	if !a.Interrupted.IsZero() {
		line.CutShort = &a.Interrupted
	}
	return line
}

// printAccount says what is known of a sign-in, on indented lines.
func printAccount(e env, a account.Account) {
	say := func(label, value string) { fmt.Fprintf(e.stdout, "  %-12s %s\n", label, value) }
	if a.Label != "" {
		say("account", a.Label)
	}
	say("access to", strings.Join(safe(a.Scope), " "))
	say("signed in", fmt.Sprintf("%s (%s, protocol %s)", a.Since.Local().Format("2006-01-02 15:04"), a.Type, plaintext.Line(a.Profile, 10)))
	switch {
	case a.Expires.IsZero():
		say("ends", "when you sign out, here or at the Company")
	case a.Expires.Before(e.now()):
		say("ended", a.Expires.Local().Format("2006-01-02 15:04")+"; papaver signin begins anew")
	default:
		say("ends", a.Expires.Local().Format("2006-01-02 15:04"))
	}
	say("token in", map[account.Place]string{account.PlaceFile: "a file of the home, mode 0600", account.PlaceKeyring: "the desktop's keyring"}[a.Place])
	if a.Unrevoked > 0 {
		say("to revoke", fmt.Sprintf("%d older tokens; tried again when you sign in or out", a.Unrevoked))
	}
	if !a.Interrupted.IsZero() {
		say("cut short", "a refresh at "+a.Interrupted.Local().Format("2006-01-02 15:04")+"; if its token was lost, you sign in anew")
	}
}

// knownCompany is what a home knows of one Company.
type knownCompany struct {
	Company    string        `json:"company,omitempty"` // empty where only its issuer is known
	Issuer     string        `json:"issuer,omitempty"`
	Name       string        `json:"name,omitempty"`
	SignedIn   bool          `json:"signed_in"`
	Accounts   []accountLine `json:"accounts"`
	UserID     string        `json:"user_id,omitempty"`
	Discovered *time.Time    `json:"discovered,omitempty"`

	accounts []account.Account
	// As they were sent, not sanitised.
	domain, issuer, name, user string
}

func runCompanies(_ context.Context, e env, args []string) error {
	f := newFlags("companies")
	if _, err := f.parse(e, args, 0, 0); err != nil {
		return err
	}
	known, err := f.known(e)
	out := lines{w: e.stdout}
	for _, k := range known {
		if f.json {
			out.write(k)
		} else {
			printCompany(e, k)
		}
	}
	if len(known) == 0 && err == nil && !f.json {
		fmt.Fprintln(e.stdout, "no Company is known yet; papaver signin COMPANY signs in to one")
	}
	return errors.Join(err, out.failed())
}

// known is what the home knows, ready to be told.
func (f *flags) known(e env) ([]*knownCompany, error) {
	all, err := f.gather(e)
	for _, k := range all {
		k.Company, k.Issuer, k.Name = plaintext.Domain(k.domain).String(), plaintext.Whole(k.issuer).String(), plaintext.Line(k.name, 80).String()
		k.UserID, k.SignedIn, k.Accounts = k.user, len(k.accounts) > 0, []accountLine{}
		for _, a := range k.accounts {
			k.Accounts = append(k.Accounts, lineOfAccount(a))
		}
	}
	return all, err
}

// gather finds what the home has: sign-ins, User IDs, and the documents that were read last.
func (f *flags) gather(e env) ([]*knownCompany, error) {
	h, store, err := f.openHome(e)
	if err != nil {
		return nil, err
	}
	accounts, damaged := store.List()
	users, err := session.Users(h.Identity())
	if err != nil {
		return nil, err
	}
	cache, err := company.OpenCache(h.Companies(), e.now)
	if err != nil {
		return nil, err
	}
	var all []*knownCompany
	of := func(issuer, domain string) *knownCompany {
		for _, k := range all {
			if issuer != "" && k.issuer == issuer || k.domain == domain && domain != "" && (issuer == "" || k.issuer == "") {
				k.issuer, k.domain = cmp.Or(k.issuer, issuer), cmp.Or(k.domain, domain)
				return k
			}
		}
		k := &knownCompany{domain: domain, issuer: issuer}
		all = append(all, k)
		return k
	}
	for _, a := range accounts {
		k := of(a.Issuer, a.Domain)
		k.name, k.accounts = a.Name, append(k.accounts, a)
	}
	for _, d := range cache.Known() {
		k := of(d.Issuer, d.Domain)
		k.name, k.Discovered = cmp.Or(d.Name, k.name), &d.Read
	}
	for issuer, id := range users {
		of(issuer, "").user = id
	}
	slices.SortFunc(all, func(a, b *knownCompany) int {
		return cmp.Or(cmp.Compare(a.domain, b.domain), cmp.Compare(a.issuer, b.issuer))
	})
	return all, damaged
}

func printCompany(e env, k *knownCompany) {
	who := cmp.Or(k.Company, "issuer "+k.Issuer)
	if k.name != "" {
		who += " calls itself " + plaintext.Quote(k.name).String()
	}
	state := "signed out"
	if k.SignedIn {
		state = "signed in"
	}
	fmt.Fprintf(e.stdout, "%s: %s\n", who, state)
	for i, a := range k.accounts {
		if i > 0 {
			fmt.Fprintln(e.stdout)
		}
		printAccount(e, a)
	}
	if k.UserID != "" {
		fmt.Fprintf(e.stdout, "  %-12s %s\n", "knows you as", k.UserID)
	}
	if k.Discovered != nil {
		fmt.Fprintf(e.stdout, "  %-12s %s\n", "last read", k.Discovered.Local().Format("2006-01-02 15:04"))
	}
}
