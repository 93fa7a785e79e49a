// Package session is who we are to a Company: the agent's identity keys, the User ID, the Session the agent names
// itself, and the signed statements that carry them: the delegation, the Session header and the browser assertion.
//
// Long-term keys sign delegations and nothing else. A delegation vouches for a key that lives in this process only and
// for an hour at most; that key signs the Session header, anew for every request, and the browser assertion
// (PROTOCOL 1.0, sections 4 and 5). Each private key is inside a [Signer] and never comes out of it.
//
// A long-term key is next, current or previous by the clock alone. It stands in the published key set before it can
// sign, and after, so that what it has signed can be verified: [Rotate] and [Revoke].
package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/lock"
)

var (
	// ErrNoIdentity is returned by Load when the home has no identity yet.
	ErrNoIdentity = errors.New("this home has no identity")
	// ErrIdentityExists is returned by Init when the home has one: it is never overwritten.
	ErrIdentityExists = errors.New("this home has an identity already")
)

const (
	identityFile = "identity.json"
	publicFolder = "public"
	agentFile    = "agent.json"
	jwksFile     = "jwks.json"
	maxName      = 200 // bytes
)

// Options says who the agent is.
type Options struct {
	ClientID    string // the HTTPS URL the client metadata document will be published at
	Name        string // client_name
	RedirectURI string // oauth/callback beside the client id when empty
	LogoURI     string // logo_uri, an HTTPS URL; none when empty
	Seals       lock.Seals
}

// Key is what may be known of one long-term key.
type Key struct {
	Thumbprint string    `json:"kid"`
	Created    time.Time `json:"created"`
	Activates  time.Time `json:"activates"` // when it begins to sign; the key before it ceases then
}

// Identity is the agent's identity: its client id and its long-term keys, in the order in which they begin to sign. It
// is what was read or made, never changes, and is safe for concurrent use.
type Identity struct {
	clientID string
	name     string
	redirect string
	logo     string
	keys     []identityKey
	dir      string
	seals    lock.Seals // opens what is sealed of them
}

// identityKey is a long-term key: in the open, or sealed by the home's lock.
type identityKey struct {
	Key
	public claims
	signer *Signer // nil when it is sealed
	sealed []byte
}

// Init makes the agent's first key and writes the identity into dir, with the two documents to publish in its folder
// public. It never overwrites: ErrIdentityExists. The public documents are written before the identity, so a crash in
// between leaves nothing that counts.
func Init(dir string, o Options, now time.Time, random io.Reader) (*Identity, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, identityFile)); err == nil {
		return nil, ErrIdentityExists
	}
	now = now.UTC().Truncate(time.Second)
	key, err := newKey(now, now, o.Seals, random)
	if err != nil {
		return nil, err
	}
	id := &Identity{clientID: o.ClientID, name: o.Name, redirect: o.RedirectURI, logo: o.LogoURI, dir: dir, keys: []identityKey{key}, seals: o.Seals}
	err = id.write()
	if errors.Is(err, ErrIdentityExists) {
		// Another Init was faster, and its documents to publish may now be ours, for a key that nobody has.
		other, loadErr := Load(dir)
		if loadErr == nil {
			loadErr = other.writePublic(durable.WriteFile)
		}
		return nil, errors.Join(err, loadErr)
	}
	if err != nil {
		return nil, err
	}
	return id, nil
}

func newKey(created, activates time.Time, seals lock.Seals, random io.Reader) (identityKey, error) {
	signer, err := NewSigner(random)
	if err != nil {
		return identityKey{}, fmt.Errorf("identity: %w", err)
	}
	k := identityKey{Key: Key{Thumbprint: signer.KeyID(), Created: created, Activates: activates}, public: signer.public, signer: signer}
	return k.kept(seals)
}

func (o *Options) check() error {
	u, err := url.Parse(o.ClientID)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || u.Path == "" || u.Path == "/" {
		return fmt.Errorf("client id %q: it is the https URL of the client metadata document, such as https://agent.example/agent.json", o.ClientID)
	}
	if clean := path.Clean(u.Path); clean != strings.TrimSuffix(u.Path, "/") || path.Base(clean) == jwksFile {
		return fmt.Errorf("client id %q: its path has no dot segments, no empty ones, and does not end in /%s, which will be beside it", o.ClientID, jwksFile)
	}
	if o.Name == "" || len(o.Name) > maxName || strings.ContainsFunc(o.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("name %q: it is 1 to %d bytes of plain text", o.Name, maxName)
	}
	if o.RedirectURI == "" {
		o.RedirectURI = u.ResolveReference(&url.URL{Path: "oauth/callback"}).String()
	}
	r, err := url.Parse(o.RedirectURI)
	if err != nil || r.Scheme != "https" || r.Host != u.Host || r.User != nil || r.Fragment != "" {
		return fmt.Errorf("redirect URI %q: it is an https URL on %s", o.RedirectURI, u.Host)
	}
	if o.LogoURI == "" {
		return nil
	}
	if l, err := url.Parse(o.LogoURI); err != nil || l.Scheme != "https" || l.Host == "" || l.User != nil {
		return fmt.Errorf("logo URI %q: it is an https URL", o.LogoURI)
	}
	return nil
}

// write puts a new identity on disk.
func (id *Identity) write() error {
	if err := id.writePublic(durable.WriteFile); err != nil {
		return err
	}
	data, err := id.marshal()
	if err != nil {
		return err
	}
	err = durable.WriteNew(filepath.Join(id.dir, identityFile), []byte(data.Reveal()))
	if errors.Is(err, fs.ErrExist) {
		return ErrIdentityExists
	}
	return err
}

// ClientID is the URL that identifies the agent.
func (id *Identity) ClientID() string { return id.clientID }

// RedirectURI is where a Direct Sign-In sends the User back to, character for character as published.
func (id *Identity) RedirectURI() string { return id.redirect }

// Keys returns what may be known of the long-term keys, newest last.
func (id *Identity) Keys() []Key {
	keys := make([]Key, len(id.keys))
	for i, k := range id.keys {
		keys[i] = k.Key
	}
	return keys
}
