package published

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/session"
)

const maxNamed = 8 // keys or redirects named in one finding

// KeysKept is for how long Companies keep a key set whatever its headers say (PROTOCOL 1.0, section 5).
const KeysKept = time.Hour

func rules() []rule {
	return []rule{
		{name: "the client metadata document can be read", of: metadataDocument, reads: true, check: checkAgent},
		{name: "no private key is in the client metadata document", of: metadataDocument, always: true, check: checkPrivateIn(metadataDocument)},
		{name: "client_id is the URL it is at", of: metadataDocument, check: checkClientID},
		{name: "jwks_uri is an https URL on the same host", of: metadataDocument, check: checkJWKS},
		{name: "redirect_uris are those of the home", of: metadataDocument, check: checkRedirects},
		{name: "the agent signs in with its key", of: metadataDocument, check: checkMethod},
		{name: "the name and the logo are those of the home", of: metadataDocument, check: checkName},
		{name: "the client metadata document is not kept for too long", of: metadataDocument, check: func(_ context.Context, in *inspection) Finding {
			return in.kept(cachedFor(in.agentHeader))
		}},
		{name: "the key set can be read", of: keysDocument, reads: true, check: checkKeySet},
		{name: "no private key is in the key set", of: keysDocument, always: true, check: checkPrivateIn(keysDocument)},
		{name: "the current key is published", of: keysDocument, check: checkCurrent},
		{name: "a next key is published before it signs", of: keysDocument, check: checkNext},
		{name: "previous keys are published while they are needed", of: keysDocument, check: checkPrevious},
		{name: "every published key is the home's", of: keysDocument, check: checkStrangers},
		{name: "the key set is not kept for longer than the overlap", of: keysDocument, check: func(_ context.Context, in *inspection) Finding {
			return in.kept(cachedFor(in.keysHeader))
		}},
	}
}

func checkAgent(ctx context.Context, in *inspection) Finding {
	header, f := in.read(ctx, metadataDocument, in.agentAt, []string{"application/json"}, &in.agent)
	in.agentHeader = header
	return f
}

func checkClientID(_ context.Context, in *inspection) Finding {
	if in.agent.ClientID != in.own.ClientID {
		return Finding{Verdict: Failed, Found: "client_id is " + quoted(in.agent.ClientID),
			Change: fmt.Sprintf("set client_id to %q, character for character", in.own.ClientID)}
	}
	return found("client_id is %s", quoted(in.agent.ClientID))
}

// sameHost reports whether s is an https URL on the client id's host.
func (in *inspection) sameHost(s string) bool {
	u, err := url.Parse(s)
	own, ownErr := url.Parse(in.own.ClientID)
	return err == nil && ownErr == nil && u.Scheme == "https" && u.User == nil && u.Fragment == "" && strings.EqualFold(u.Host, own.Host)
}

func checkJWKS(_ context.Context, in *inspection) Finding {
	at := in.agent.JWKS
	if !in.sameHost(at) {
		return Finding{Verdict: Failed, Found: "jwks_uri is " + quoted(at), Change: fmt.Sprintf("set jwks_uri to %q", in.own.JWKS)}
	}
	in.keysAt = at
	if at != in.own.JWKS {
		return Finding{Verdict: Warning, Found: "jwks_uri is " + quoted(at),
			Change: fmt.Sprintf("the home's document says %q: upload that one, or keep the key set up to date where yours says", in.own.JWKS)}
	}
	return found("jwks_uri is %s", quoted(at))
}

func checkRedirects(_ context.Context, in *inspection) Finding {
	switch named := in.agent.Redirects; {
	case !slices.Contains(named, in.own.Redirects[0]):
		return Finding{Verdict: Failed, Found: "redirect_uris has " + list(named), Change: fmt.Sprintf("add %q, character for character: a sign-in returns there", in.own.Redirects[0])}
	case slices.ContainsFunc(named, func(s string) bool { return !in.sameHost(s) }):
		return Finding{Verdict: Failed, Found: "redirect_uris has " + list(named), Change: "take out what is not an https URL on the client id's host: a sign-in must not return elsewhere"}
	case len(named) > 1:
		return Finding{Verdict: Warning, Found: "redirect_uris has " + list(named), Change: fmt.Sprintf("take out all but %q: the home knows no other", in.own.Redirects[0])}
	default:
		return found("redirect_uris has %s", list(named))
	}
}

// list names some values.
func list(values []string) string {
	var all []string
	for i, v := range values {
		if i == maxNamed {
			return fmt.Sprintf("%s and %d more", strings.Join(all, ", "), len(values)-i)
		}
		all = append(all, quoted(v))
	}
	if all == nil {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

func checkMethod(_ context.Context, in *inspection) Finding {
	switch {
	case in.agent.Secret != nil:
		return Finding{Verdict: Failed, Found: "there is a client_secret", Change: "take client_secret out: the agent has none, and everybody can read this document"}
	case in.agent.AuthMethod != in.own.AuthMethod:
		return Finding{Verdict: Failed, Found: "token_endpoint_auth_method is " + quoted(in.agent.AuthMethod), Change: fmt.Sprintf("set token_endpoint_auth_method to %q", in.own.AuthMethod)}
	default:
		return found("token_endpoint_auth_method is %s", quoted(in.agent.AuthMethod))
	}
}

func checkName(_ context.Context, in *inspection) Finding {
	switch a := in.agent; {
	case a.Name != in.own.Name:
		return Finding{Verdict: Warning, Found: "client_name is " + quoted(a.Name), Change: fmt.Sprintf("the home's document says %q: upload it", in.own.Name)}
	case a.Logo != in.own.Logo:
		return Finding{Verdict: Warning, Found: "logo_uri is " + quoted(a.Logo), Change: fmt.Sprintf("the home's document says %q: upload it", in.own.Logo)}
	default:
		return found("client_name is %s", quoted(a.Name))
	}
}

// kept judges for how long a document may be used without asking.
func (in *inspection) kept(life time.Duration, said string) Finding {
	overlap := session.DefaultOverlap
	if newest := in.status[len(in.status)-1]; newest.State == session.Next {
		overlap = newest.Activates.Sub(newest.Created)
	}
	if life > overlap {
		return Finding{Verdict: Warning, Found: fmt.Sprintf("it says %s, so a Company may use what it has for %v", said, life),
			Change: fmt.Sprintf("send Cache-Control: max-age=%d or less: a new key signs %v after it was made, and must be known by then", int((min(overlap, KeysKept)).Seconds()), overlap)}
	}
	return found("of caching it says %s", said)
}

// key is a key of the set, by its members.
type key map[string]json.RawMessage

// member is a member that is a string, else nothing.
func (k key) member(name string) string {
	var s string
	if strictjson.Decode(k[name], strictjson.Limits{}, &s) != nil {
		return ""
	}
	return s
}

func checkKeySet(ctx context.Context, in *inspection) Finding {
	header, f := in.read(ctx, keysDocument, in.keysAt, []string{"application/json", "application/jwk-set+json"}, &in.keys)
	in.keysHeader = header
	if f.Verdict == OK {
		f.Found = fmt.Sprintf("it can be read; keys: %d", len(in.keys.Keys))
	}
	return f
}

// checkPrivateIn shouts when the document has a private key. Where nobody answered there is none to be read.
func checkPrivateIn(of document) func(context.Context, *inspection) Finding {
	return func(_ context.Context, in *inspection) Finding {
		names, asked := in.private[of]
		switch {
		case !asked:
			return Finding{Verdict: NotReached}
		case len(names) == 0:
			return found("none is")
		}
		return Finding{Verdict: Failed, Found: "PRIVATE KEYS CAN BE READ BY EVERYBODY: " + list(names),
			Change: "take the file down now: who has read it can act as this agent. Then make a new key (papaver identity rotate --after 0s), " +
				"revoke each key that was readable (papaver identity revoke-key KID), and upload what is in the identity's public folder"}
	}
}

// publishedAs says how a key of ours stands in the set: errNotPublished, or what is wrong with it.
func (in *inspection) publishedAs(own key) error {
	err := errNotPublished
	for _, k := range in.keys.Keys {
		if k.member("kid") != own.member("kid") {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(own)) {
			if got, want := k.member(name), own.member(name); got != want {
				return fmt.Errorf("its %s is %s and not %q", name, quoted(got), want)
			}
		}
		err = nil
	}
	return err
}

var errNotPublished = errors.New("it is not in the key set")

const uploadKeys = "upload jwks.json from the identity's public folder"

// judge looks at our keys of one state.
func (in *inspection) judge(state session.KeyState, judge func(session.KeyStatus, error) Finding) Finding {
	var good []string
	for i, status := range in.status {
		if status.State != state {
			continue
		}
		if f := judge(status, in.publishedAs(in.ownKeys.Keys[i])); f.Verdict != OK {
			return f
		}
		good = append(good, status.Thumbprint)
	}
	if good == nil {
		return found("there is no %s key", state)
	}
	return found("%s", strings.Join(good, ", "))
}

func checkCurrent(_ context.Context, in *inspection) Finding {
	return in.judge(session.Current, func(k session.KeyStatus, err error) Finding {
		if err != nil {
			return Finding{Verdict: Failed, Found: fmt.Sprintf("the key that signs is %s: %v", k.Thumbprint, err), Change: uploadKeys + ": no Company can verify what this agent signs"}
		}
		return Finding{Verdict: OK}
	})
}

func checkNext(_ context.Context, in *inspection) Finding {
	return in.judge(session.Next, func(k session.KeyStatus, err error) Finding {
		if err == nil {
			return Finding{Verdict: OK}
		}
		f := Finding{Verdict: Warning, Found: fmt.Sprintf("%s signs from %s: %v", k.Thumbprint, k.Activates.Format(time.RFC3339), err),
			Change: uploadKeys + " well before then: from that moment on no Company could verify what this agent signs"}
		if k.Activates.Sub(in.now) < KeysKept {
			f.Verdict = Failed // a Company may not ask again in time
		}
		return f
	})
}

func checkPrevious(_ context.Context, in *inspection) Finding {
	return in.judge(session.Previous, func(k session.KeyStatus, err error) Finding {
		if err == nil || k.Needed.Before(in.now) {
			return Finding{Verdict: OK}
		}
		return Finding{Verdict: Failed, Found: fmt.Sprintf("%s is needed until %s: %v", k.Thumbprint, k.Needed.Format(time.RFC3339), err),
			Change: uploadKeys + ": tasks that began before the new key signed may be refused"}
	})
}

func checkStrangers(_ context.Context, in *inspection) Finding {
	var strange []string
	for _, k := range in.keys.Keys {
		kid := k.member("kid")
		if !slices.ContainsFunc(in.status, func(own session.KeyStatus) bool { return own.Thumbprint == kid }) {
			strange = append(strange, kid)
		}
	}
	if strange != nil {
		return Finding{Verdict: Failed, Found: "the home does not have " + list(strange),
			Change: uploadKeys + ": whoever has such a key can act as this agent"}
	}
	return found("keys: %d, all the home's", len(in.keys.Keys))
}
