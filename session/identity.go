// Package session is who we are to a Company: the agent's identity keys, the User ID, the Session the agent names
// itself, and the signed statements that carry them: the delegation, the Session header and the browser assertion.
//
// Long-term keys sign delegations and nothing else. A delegation vouches for a key that lives in this process only and
// for an hour at most; that key signs the Session header, anew for every request, and the browser assertion
// (PROTOCOL 1.0, sections 4 and 5).
package session

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/strictjson"
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
	RedirectURI string // /oauth/callback beside the client id when empty
}

// Key is what may be known of one long-term key.
type Key struct {
	Thumbprint string    `json:"kid"`
	Created    time.Time `json:"created"`
}

// Identity is the agent's identity: its client id and its long-term keys. It is immutable and safe for concurrent use.
type Identity struct {
	clientID string
	name     string
	redirect string
	keys     []identityKey
	dir      string
}

type identityKey struct {
	Key
	private *ecdsa.PrivateKey
}

// identityOnDisk is the file's form. The private key stands in it as a JWK; the file is 0600.
type identityOnDisk struct {
	Format   int         `json:"format"`
	ClientID string      `json:"client_id"`
	Name     string      `json:"name"`
	Redirect string      `json:"redirect_uri"`
	Keys     []keyOnDisk `json:"keys"`
}

type keyOnDisk struct {
	Key
	Private json.RawMessage `json:"private"`
}

const identityFormat = 1

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
	private, err := ecdsa.GenerateKey(elliptic.P256(), random)
	if err != nil {
		return nil, fmt.Errorf("identity key: %w", err)
	}
	public, err := publicJWK(&private.PublicKey)
	if err != nil {
		return nil, err
	}
	kid, _ := public["kid"].(string)
	id := &Identity{clientID: o.ClientID, name: o.Name, redirect: o.RedirectURI, dir: dir,
		keys: []identityKey{{Key: Key{Thumbprint: kid, Created: now.UTC().Truncate(time.Second)}, private: private}}}
	err = id.write()
	if errors.Is(err, ErrIdentityExists) {
		// Another Init was faster, and its documents to publish may now be ours, for a key that nobody has.
		other, loadErr := Load(dir)
		if loadErr == nil {
			loadErr = other.writePublic()
		}
		return nil, errors.Join(err, loadErr)
	}
	if err != nil {
		return nil, err
	}
	return id, nil
}

func (o *Options) check() error {
	u, err := url.Parse(o.ClientID)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || u.Path == "" || u.Path == "/" {
		return fmt.Errorf("client id %q: it is the https URL of the client metadata document, such as https://agent.example/agent.json", o.ClientID)
	}
	if o.Name == "" || len(o.Name) > maxName || strings.ContainsFunc(o.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("name %q: it is 1 to %d bytes of plain text", o.Name, maxName)
	}
	if o.RedirectURI == "" {
		o.RedirectURI = u.ResolveReference(&url.URL{Path: "oauth/callback"}).String()
	}
	r, err := url.Parse(o.RedirectURI)
	if err != nil || r.Scheme != "https" || r.Host != u.Host || r.Fragment != "" {
		return fmt.Errorf("redirect URI %q: it is an https URL on %s", o.RedirectURI, u.Host)
	}
	return nil
}

// writePublic writes the documents to publish.
func (id *Identity) writePublic() error {
	public := filepath.Join(id.dir, publicFolder)
	if err := durable.MkdirAll(public); err != nil {
		return fmt.Errorf("identity folder: %w", err)
	}
	published, err := id.Published()
	if err != nil {
		return err
	}
	for name, document := range map[string]json.RawMessage{agentFile: published.Agent, jwksFile: published.Keys} {
		if err := durable.WriteFile(filepath.Join(public, name), append(document, '\n')); err != nil {
			return fmt.Errorf("document to publish: %w", err)
		}
	}
	return nil
}

func (id *Identity) write() error {
	if err := id.writePublic(); err != nil {
		return err
	}
	disk := identityOnDisk{Format: identityFormat, ClientID: id.clientID, Name: id.name, Redirect: id.redirect}
	for _, k := range id.keys {
		private, err := marshalPrivate(k.private)
		if err != nil {
			return err
		}
		disk.Keys = append(disk.Keys, keyOnDisk{Key: k.Key, Private: json.RawMessage(private.Reveal())})
	}
	data, err := json.Marshal(disk)
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	err = durable.WriteNew(filepath.Join(id.dir, identityFile), append(data, '\n'))
	if errors.Is(err, fs.ErrExist) {
		return ErrIdentityExists
	}
	return err
}

// Load reads the identity in dir. Without one it is ErrNoIdentity.
func Load(dir string) (*Identity, error) {
	path := filepath.Join(dir, identityFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoIdentity
	}
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	var disk identityOnDisk
	if err := strictjson.Decode(data, strictjson.Limits{}, &disk); err != nil {
		return nil, fmt.Errorf("identity %s is damaged", path) // the cause could quote a key
	}
	if disk.Format != identityFormat {
		return nil, fmt.Errorf("identity %s has format %d, and this papaver reads format %d", path, disk.Format, identityFormat)
	}
	id := &Identity{clientID: disk.ClientID, name: disk.Name, redirect: disk.Redirect, dir: dir}
	for i, k := range disk.Keys {
		private, err := parsePrivate(secret.New(string(k.Private)))
		if err != nil {
			return nil, fmt.Errorf("identity %s: key %d: %w", path, i, err)
		}
		public, err := publicJWK(&private.PublicKey)
		if err != nil || public["kid"] != k.Thumbprint {
			return nil, fmt.Errorf("identity %s: key %d is not the one its kid names", path, i)
		}
		id.keys = append(id.keys, identityKey{Key: k.Key, private: private})
	}
	if len(id.keys) == 0 {
		return nil, fmt.Errorf("identity %s has no key", path)
	}
	return id, nil
}

// ClientID is the URL that identifies the agent.
func (id *Identity) ClientID() string { return id.clientID }

// Keys returns what may be known of the long-term keys, newest last.
func (id *Identity) Keys() []Key {
	keys := make([]Key, len(id.keys))
	for i, k := range id.keys {
		keys[i] = k.Key
	}
	return keys
}

// Published is what the agent publishes: the client metadata document at its client id, and the key set at jwks_uri.
type Published struct {
	Agent json.RawMessage `json:"agent"`
	Keys  json.RawMessage `json:"jwks"`
}

// PublicDir is the folder the two documents are kept in.
func (id *Identity) PublicDir() string { return filepath.Join(id.dir, publicFolder) }

// Published returns the two documents. No private key is in them.
func (id *Identity) Published() (Published, error) {
	u, err := url.Parse(id.clientID)
	if err != nil {
		return Published{}, fmt.Errorf("client id: %w", err)
	}
	agent, err := json.MarshalIndent(struct {
		ClientID   string   `json:"client_id"`
		Name       string   `json:"client_name"`
		Redirects  []string `json:"redirect_uris"`
		JWKS       string   `json:"jwks_uri"`
		AuthMethod string   `json:"token_endpoint_auth_method"`
	}{id.clientID, id.name, []string{id.redirect}, u.ResolveReference(&url.URL{Path: jwksFile}).String(), "private_key_jwt"}, "", "  ")
	if err != nil {
		return Published{}, err
	}
	var set struct {
		Keys []claims `json:"keys"`
	}
	for _, k := range id.keys {
		public, err := publicJWK(&k.private.PublicKey)
		if err != nil {
			return Published{}, err
		}
		set.Keys = append(set.Keys, public)
	}
	keys, err := json.MarshalIndent(set, "", "  ")
	if err != nil {
		return Published{}, err
	}
	return Published{Agent: agent, Keys: keys}, nil
}
