package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/session"
)

// kidLength is the length of a key's thumbprint: 256 bits in base64url.
const kidLength = 43

// identityCommand is what all words of papaver identity work with.
type identityCommand struct {
	env
	flags *flags
	home  home.Home

	options session.Options
	after   time.Duration
	way     *wayFlags
}

// identityWord is one word of papaver identity.
type identityWord struct {
	name  string
	flags []string // beside --home and --json
	words int      // that follow it
	run   func(ctx context.Context, c *identityCommand, words []string) error
}

func identityWords() []identityWord {
	return []identityWord{
		{"init", []string{"client-id", "name", "redirect-uri", "logo-uri"}, 0, initIdentity},
		{"show", nil, 0, showIdentity},
		{"check", []string{"connect-to", "cacert"}, 0, checkIdentity},
		{"rotate", []string{"after"}, 0, rotateIdentity},
		{"revoke-key", nil, 1, revokeKey},
	}
}

func runIdentity(ctx context.Context, e env, args []string) error {
	c := &identityCommand{env: e, flags: newFlags("identity")}
	f := c.flags
	f.StringVar(&c.options.ClientID, "client-id", "", "init: the https `URL` the client metadata document will be published at")
	f.StringVar(&c.options.Name, "name", "", "init: the agent's `NAME`, which companies and people read")
	f.StringVar(&c.options.RedirectURI, "redirect-uri", "", "init: the sign-in's redirect `URL` (default oauth/callback beside the client id)")
	f.StringVar(&c.options.LogoURI, "logo-uri", "", "init: the https `URL` of the agent's logo (default none)")
	f.DurationVar(&c.after, "after", session.DefaultOverlap, "rotate: the `TIME` for which the new key is published before it signs, such as 36h")
	c.way = f.addWay()
	words, err := f.parse(e, shieldKeys(args), 1, 2)
	if err != nil {
		return err
	}
	all := identityWords()
	i := slices.IndexFunc(all, func(w identityWord) bool { return w.name == words[0] })
	if i < 0 {
		return usagef("papaver identity has init, show, check, rotate and revoke-key, not %q", words[0])
	}
	word, words := all[i], words[1:]
	if err := c.misused(word, words); err != nil {
		return err
	}
	dir, err := f.homeDir(e)
	if err != nil {
		return err
	}
	if c.home, err = home.Open(dir); err != nil {
		return err
	}
	return word.run(ctx, c, words)
}

// shieldKeys puts -- before a key's name that begins like a flag.
func shieldKeys(args []string) []string {
	var shielded []string
	for _, a := range args {
		if strings.HasPrefix(a, "-") && len(a) == kidLength && !strings.Contains(a, "=") {
			shielded = append(shielded, "--")
		}
		shielded = append(shielded, a)
	}
	return shielded
}

// misused finds words that are too many or missing, and flags of another word.
func (c *identityCommand) misused(word identityWord, words []string) error {
	switch {
	case len(words) > word.words:
		return usagef("papaver identity %s: %q is too much", word.name, words[word.words])
	case len(words) < word.words:
		return usagef("papaver identity %s needs the KID of a key; papaver identity show lists them", word.name)
	}
	var wrong error
	c.flags.Visit(func(f *flag.Flag) {
		if f.Name != "home" && f.Name != "json" && !slices.Contains(word.flags, f.Name) {
			wrong = usagef("papaver identity %s knows no --%s", word.name, f.Name)
		}
	})
	return wrong
}

func initIdentity(ctx context.Context, c *identityCommand, _ []string) error {
	if c.options.ClientID == "" || c.options.Name == "" {
		return usagef("papaver identity init needs --client-id URL and --name NAME")
	}
	key, err := openLock(ctx, c.home.Dir(), false)
	if err != nil {
		return err
	}
	c.options.Seals = lock.SealsOf(c.home.Answers(), key)
	unlock, err := c.home.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	id, err := session.Init(c.home.Identity(), c.options, c.now(), rand.Reader)
	if err != nil {
		return err
	}
	return c.show(id, "")
}

func showIdentity(ctx context.Context, c *identityCommand, _ []string) error {
	id, err := c.load(ctx)
	if err != nil {
		return err
	}
	return c.show(id, "")
}

// load reads the identity, and writes the documents to publish anew when a crash or an editor left others there.
func (c *identityCommand) load(ctx context.Context) (*session.Identity, error) {
	unlock, err := c.home.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	id, err := session.Load(c.home.Identity())
	if err != nil {
		return nil, withoutIdentity(err)
	}
	mended, err := id.Mend()
	if err != nil {
		return nil, err
	}
	if mended {
		fmt.Fprintf(c.stderr, "papaver: the documents in %s were not this identity's, and are written anew\n", id.PublicDir())
	}
	return id, nil
}

// shownIdentity is what may be known of an identity. No private key is in it.
type shownIdentity struct {
	ClientID  string              `json:"client_id"`
	JWKSURI   string              `json:"jwks_uri"`
	Keys      []session.KeyStatus `json:"keys"`
	Revoked   string              `json:"revoked,omitempty"`
	PublicDir string              `json:"public_dir"`
	Agent     json.RawMessage     `json:"agent"`
	JWKS      json.RawMessage     `json:"jwks"`
}

// show prints the identity; revoked is the key that was just removed, or nothing.
func (c *identityCommand) show(id *session.Identity, revoked string) error {
	published, err := id.Published()
	if err != nil {
		return err
	}
	now := c.now()
	if c.flags.json {
		out := lines{w: c.stdout}
		out.write(shownIdentity{ClientID: id.ClientID(), JWKSURI: id.KeySetURL(), Keys: id.KeyStatuses(now), Revoked: revoked,
			PublicDir: id.PublicDir(), Agent: published.Agent, JWKS: published.Keys})
		return out.failed()
	}
	say := func(label, value string) { fmt.Fprintf(c.stdout, "%-11s %s\n", label, plaintext.Whole(value)) }
	say("client id", id.ClientID())
	for _, k := range id.KeyStatuses(now) {
		say("key", k.Thumbprint)
		say("", describeKey(k, now))
	}
	say("to publish", filepath.Join(id.PublicDir(), "agent.json"))
	say("", "  at "+id.ClientID())
	say("", filepath.Join(id.PublicDir(), "jwks.json"))
	say("", "  at "+id.KeySetURL())
	if revoked == "" {
		say("then", "papaver identity check compares what is published with these")
	}
	return nil
}

// describeKey says a key's state, its age and when that changes.
func describeKey(k session.KeyStatus, now time.Time) string {
	made := fmt.Sprintf("made %s (%d days old)", k.Created.Format(time.DateOnly), int(now.Sub(k.Created).Hours()/24))
	switch {
	case k.State == session.Next:
		return fmt.Sprintf("next: signs from %s, %s; %s", moment(k.Activates), from(now, k.Activates), made)
	case k.State == session.Previous && k.Needed.Before(now):
		return fmt.Sprintf("previous: signs no more since %s, and nothing needs it any more; %s", moment(*k.Retired), made)
	case k.State == session.Previous:
		return fmt.Sprintf("previous: signs no more since %s, stays published until %s; %s", moment(*k.Retired), moment(*k.Needed), made)
	case k.Retired != nil:
		return fmt.Sprintf("current: signs until %s, %s; %s", moment(*k.Retired), from(now, *k.Retired), made)
	default:
		return "current: signs until another key follows it; " + made
	}
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// from says how far t is from now, roughly.
func from(now, t time.Time) string {
	d := t.Sub(now)
	switch {
	case d < time.Minute:
		return "which is now"
	case d < 2*time.Hour:
		return fmt.Sprintf("in %d minutes", int((d + time.Minute/2).Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("in %d hours", int((d + time.Hour/2).Hours()))
	default:
		return fmt.Sprintf("in %d days", int((d+12*time.Hour).Hours()/24))
	}
}
