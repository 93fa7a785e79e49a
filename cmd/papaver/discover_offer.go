package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/plaintext"
)

// discovered is the last line of `discover --json`. What is offered is there only when everything agrees.
type discovered struct {
	Company    string            `json:"company"`
	Agrees     bool              `json:"agrees"`
	Published  bool              `json:"published"` // false: the host answers that there is no poppy.json
	Failed     int               `json:"failed"`    // rules
	Versions   []string          `json:"protocol_versions"`
	Profile    string            `json:"profile,omitempty"` // the version whose rules were judged
	Name       string            `json:"name,omitempty"`
	Domain     string            `json:"domain,omitempty"` // the one that the documents speak for
	Issuer     string            `json:"issuer,omitempty"`
	Join       string            `json:"join_endpoint,omitempty"`
	Endpoint   string            `json:"operations_endpoint,omitempty"`
	SignIn     []offeredSignIn   `json:"sign_in,omitempty"`
	Scopes     map[string]string `json:"custom_scopes,omitempty"`
	APIs       []offeredAPI      `json:"apis,omitempty"`
	Talks      string            `json:"conversations_endpoint,omitempty"`
	Feedback   string            `json:"feedback_endpoint,omitempty"`
	Extensions []listedExtension `json:"extensions,omitempty"`
}

type offeredSignIn struct {
	Type     string         `json:"type"` // direct, device or mediated
	Scopes   []string       `json:"scopes"`
	Endpoint string         `json:"endpoint"`
	Fields   []offeredField `json:"fields,omitempty"`
}

type offeredField struct {
	Name   string `json:"name"`
	Label  string `json:"label"`
	Secret bool   `json:"secret"`
}

type offeredAPI struct {
	Type        string `json:"type"`
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
	Resource    string `json:"resource,omitempty"`
}

type listedExtension struct {
	Name     string         `json:"name"`
	Origin   company.Origin `json:"origin"`
	Versions []string       `json:"versions"`
	Ours     bool           `json:"ours"` // the version that belongs to the profile is listed
}

// whole is a Company's text with nothing in it that could move a cursor.
func whole(s string) string { return plaintext.Whole(s).String() }

func wholeAll(list []string) []string {
	all := make([]string, 0, len(list))
	for _, s := range list {
		all = append(all, whole(s))
	}
	return all
}

func writeReport(out *lines, where company.Address, r *company.Report) {
	for _, f := range r.Findings {
		out.write(lineOf(f))
	}
	end := discovered{Company: where.Domain(), Agrees: r.Company != nil, Versions: wholeAll(r.Versions)}
	end.Failed, end.Published = failures(r)
	if r.Profile != nil {
		end.Profile = r.Profile.Version
	}
	if r.Company != nil {
		end.offer(r)
	}
	out.write(end)
}

func (d *discovered) offer(r *company.Report) {
	c := r.Company
	d.Name, d.Domain, d.Issuer = whole(c.Name), whole(c.Domain), whole(c.Issuer)
	d.Join, d.Endpoint = whole(c.JoinEndpoint), whole(c.OperationsEndpoint+c.OperationsByID)
	d.Talks, d.Feedback = whole(c.Conversations), whole(c.Feedback)
	d.SignIn = signIns(c)
	for name, description := range c.SignIn.Scopes {
		if d.Scopes == nil {
			d.Scopes = make(map[string]string)
		}
		d.Scopes[whole(name)] = whole(description)
	}
	for _, api := range c.APIs {
		d.APIs = append(d.APIs, offeredAPI{api.Type, whole(api.URL), whole(api.Description), whole(api.Resource)})
	}
	for _, x := range r.Extensions {
		d.Extensions = append(d.Extensions, listedExtension{whole(x.Name), x.Origin, wholeAll(x.Versions), x.Ours})
	}
}

// signIns are the types that are offered, in the order in which they are preferred.
func signIns(c *company.Company) []offeredSignIn {
	var all []offeredSignIn
	if s := c.SignIn.Direct; s != nil {
		all = append(all, offeredSignIn{Type: "direct", Scopes: wholeAll(s.Scopes), Endpoint: whole(c.Server.Authorization)})
	}
	if s := c.SignIn.Device; s != nil {
		all = append(all, offeredSignIn{Type: "device", Scopes: wholeAll(s.Scopes), Endpoint: whole(c.Server.Device)})
	}
	if s := c.SignIn.Mediated; s != nil {
		offer := offeredSignIn{Type: "mediated", Scopes: wholeAll(s.Scopes), Endpoint: whole(s.Endpoint)}
		for _, field := range s.Fields {
			offer.Fields = append(offer.Fields, offeredField{whole(field.Name), whole(field.Label), field.Secret})
		}
		all = append(all, offer)
	}
	return all
}

// printOffer says in plain words what the Company offers, and as which version it is read.
func printOffer(w io.Writer, r *company.Report, forced bool) {
	c := r.Company
	say := func(label, value string) { fmt.Fprintf(w, "  %-18s %s\n", label, plaintext.Whole(value)) }
	if c.Name == "" {
		fmt.Fprintf(w, "%s gives itself no name\n", plaintext.Domain(c.Domain))
	} else {
		fmt.Fprintf(w, "%s calls itself %s\n", plaintext.Domain(c.Domain), plaintext.Quote(c.Name))
	}
	why := "the newest of ours that it lists"
	if forced {
		why = "as --profile says"
	}
	say("protocol", fmt.Sprintf("%s, %s; it lists %s", c.Profile.Version, why, strings.Join(r.Versions, ", ")))
	say("issuer", orNone(c.Issuer, "none: nothing is offered that needs a Session"))
	say("join", orNone(c.JoinEndpoint, "none: it is browsed as an ordinary site, by a signed-out visitor"))
	say("operations", operationsOf(c))
	if c.Issuer != "" {
		printSignIn(w, c, say)
	}
	for _, api := range c.APIs {
		say("API "+api.Type, api.URL)
		if api.Description != "" {
			fmt.Fprintf(w, "  %-18s %s\n", "", plaintext.Quote(api.Description))
		}
		if api.Resource != "" {
			say("", "tokens for it are asked for by its resource, "+api.Resource)
		}
	}
	if c.Conversations != "" {
		say("conversations", c.Conversations)
	}
	if c.Feedback != "" {
		say("feedback", c.Feedback)
	}
	for _, x := range r.Extensions {
		printExtension(w, x)
	}
	fmt.Fprintln(w)
}

func orNone(value, none string) string {
	if value == "" {
		return none
	}
	return value
}

func operationsOf(c *company.Company) string {
	switch version := c.Profile.OperationsVersion; {
	case !c.OperationsListed:
		return "none of version " + version + ": its own way of approving is left to the User"
	case c.OperationsEndpoint != "":
		return fmt.Sprintf("version %s, on its website too, at %s", version, c.OperationsEndpoint)
	case c.OperationsByID != "":
		return fmt.Sprintf("version %s, at %s: not spoken by us, and its own way of approving is left to the User", version, c.OperationsByID)
	default:
		return fmt.Sprintf("version %s, and none on its website", version)
	}
}

func printSignIn(w io.Writer, c *company.Company, say func(label, value string)) {
	offers := signIns(c)
	if len(offers) == 0 {
		say("sign-in", "none: Sessions stay signed out")
	}
	for _, s := range offers {
		say("sign-in "+s.Type, strings.Join(s.Scopes, " "))
		say("", "at "+s.Endpoint)
		for _, field := range s.Fields {
			kept := "shown while it is typed"
			if field.Secret {
				kept = "a secret"
			}
			fmt.Fprintf(w, "  %-18s asks for %s: %s, %s\n", "", plaintext.Quote(field.Name), plaintext.Quote(field.Label), kept)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.SignIn.Scopes)) {
		fmt.Fprintf(w, "  %-18s %s: %s\n", "own scope", plaintext.Quote(name), plaintext.Quote(c.SignIn.Scopes[name]))
	}
}

func printExtension(w io.Writer, x company.Extension) {
	what := "ignored"
	switch {
	case x.Ours:
		what = "the one that belongs to this protocol version"
	case x.Origin == company.OriginNone:
		what = "ignored, since it is no extension's name: one begins with a domain of yours, or is defined with the protocol"
	}
	listed := "no version in a string"
	if len(x.Versions) > 0 {
		listed = "version " + whole(strings.Join(x.Versions, ", "))
	}
	fmt.Fprintf(w, "  %-18s %s, %s: %s\n", "extension", plaintext.Quote(x.Name), listed, what)
}
