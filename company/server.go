package company

import (
	"context"
	"fmt"
	"slices"
)

// endpoint is a member of the authorization server metadata that names one.
type endpoint struct {
	member string
	// needed says why it must be there, or nothing.
	needed func(d *discovery) string
	into   func(s *Server) *string
}

// endpoints are those that we take from the metadata, and from nowhere else (draft 0.1, section 3.2).
func endpoints() []endpoint {
	return []endpoint{
		{"token_endpoint", func(d *discovery) string {
			switch s := d.company.SignIn; {
			case d.profile.TokenEndpoints:
				return "protocol " + d.profile.Version + " starts Sessions there"
			case s.Direct != nil || s.Device != nil || s.Mediated != nil:
				return "a sign-in type is listed"
			default:
				return ""
			}
		}, func(s *Server) *string { return &s.Token }},
		{"revocation_endpoint", func(d *discovery) string {
			if d.profile.TokenEndpoints {
				return "protocol " + d.profile.Version + " revokes Account Tokens there"
			}
			return ""
		}, func(s *Server) *string { return &s.Revocation }},
		{"authorization_endpoint", func(d *discovery) string {
			if d.company.SignIn.Direct != nil {
				return "auth.direct is listed"
			}
			return ""
		}, func(s *Server) *string { return &s.Authorization }},
		{"device_authorization_endpoint", func(d *discovery) string {
			if d.company.SignIn.Device != nil {
				return "auth.device is listed"
			}
			return ""
		}, func(s *Server) *string { return &s.Device }},
	}
}

// serverRules are those about the metadata's endpoints and algorithms.
func serverRules() []rule {
	var list []rule
	for _, e := range endpoints() {
		list = append(list, rule{
			name: e.member + " is an https URL", of: metadata,
			when:  func(d *discovery) bool { return hasIssuer(d) && (d.metadata[e.member] != nil || e.needed(d) != "") },
			check: func(_ context.Context, d *discovery) (string, *DocumentError) { return e.check(d) },
		})
	}
	return append(list,
		rule{name: "DPoP proofs are taken in an algorithm of ours", of: metadata, when: func(d *discovery) bool {
			return d.profile.ProofAlgorithm != "" && d.metadata[proofAlgorithms] != nil
		}, check: checkProofAlgorithms},
		rule{name: "the sign-in types have scopes", of: metadata, when: func(d *discovery) bool { return d.profile.SignInFromMetadata }, check: checkSignIn},
	)
}

func (e endpoint) check(d *discovery) (string, *DocumentError) {
	value := d.metadata[e.member]
	if value == nil {
		return "", &DocumentError{Family: ErrDisagree, Rule: fmt.Sprintf("%s is missing, and %s", e.member, e.needed(d)),
			Change: "list " + e.member + ", an https URL"}
	}
	at, ok := value.(string)
	if !ok {
		return "", &DocumentError{Family: ErrUnreadable, Rule: e.member + " is not a string", Change: "set " + e.member + " to an https URL"}
	}
	if err := wantHTTPS(e.member, at); err != nil {
		return "", err
	}
	*e.into(&d.company.Server) = at
	return e.member + " is " + quoted(at), nil
}

// proofAlgorithms is RFC 9449's member, section 5.1.
const proofAlgorithms = "dpop_signing_alg_values_supported"

func checkProofAlgorithms(_ context.Context, d *discovery) (string, *DocumentError) {
	want := d.profile.ProofAlgorithm
	if !contains(d.metadata[proofAlgorithms], func(s string) bool { return s == want }) {
		return "", &DocumentError{Family: ErrDisagree, Rule: fmt.Sprintf("%s does not list %q", proofAlgorithms, want),
			Change: fmt.Sprintf("add %q to the list %s, or leave the list out", want, proofAlgorithms)}
	}
	return fmt.Sprintf("%s lists %q", proofAlgorithms, want), nil
}

// checkSignIn fills what poppy.json leaves to the metadata: the scopes of the types that it lists and, when it lists
// none, the types. PROTOCOL 1.0, section 18, row 42, a guess.
func checkSignIn(_ context.Context, d *discovery) (string, *DocumentError) {
	var scopes []string
	if listed := d.metadata["scopes_supported"]; listed != nil {
		values, _ := listed.([]any)
		for _, v := range values {
			scope, ok := v.(string)
			if !ok {
				values = nil
				break
			}
			scopes = append(scopes, scope)
		}
		if values == nil {
			return "", &DocumentError{Family: ErrUnreadable, Rule: "scopes_supported is not a list of strings", Change: "let it be one, or leave it out"}
		}
		if err := wantScopes("scopes_supported", scopes); err != nil {
			return "", err
		}
	}
	offer, server := &d.company.SignIn, d.company.Server
	if offer.Direct == nil && offer.Device == nil && offer.Mediated == nil && server.Token != "" && len(scopes) > 0 {
		if server.Authorization != "" {
			offer.Direct = &Direct{}
		}
		if server.Device != "" {
			offer.Device = &Device{}
		}
	}
	for _, of := range offer.scopes() {
		if len(*of) > 0 {
			continue
		}
		if len(scopes) == 0 {
			return "", &DocumentError{Family: ErrDisagree, Rule: "a sign-in type of poppy.json lists no scopes, and scopes_supported lists none",
				Change: "list in the type's scopes what it can grant"}
		}
		*of = slices.Clone(scopes)
	}
	return fmt.Sprintf("%d sign-in types are offered", len(offer.scopes())), nil
}

// scopes are where those of the types that are offered stand.
func (s *SignIn) scopes() []*[]string {
	var all []*[]string
	if s.Direct != nil {
		all = append(all, &s.Direct.Scopes)
	}
	if s.Device != nil {
		all = append(all, &s.Device.Scopes)
	}
	if s.Mediated != nil {
		all = append(all, &s.Mediated.Scopes)
	}
	return all
}
