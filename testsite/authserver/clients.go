package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/testsite/wire"
)

// Bounds on what is read of a client, and for how long it is kept. Keeping is a choice of ours.
const (
	maxDocument  = 64 << 10 // bytes
	maxKeys      = 16
	maxClients   = 1000
	fetchTimeout = 10 * time.Second
	keepDocument = 5 * time.Minute
	reloadPause  = 30 * time.Second // between two loads for an unknown key
)

// ErrUnknownClient is returned for a client_id that publishes nothing this Company can read.
var ErrUnknownClient = errors.New("no known agent has this client_id")

// Client is a Personal Agent as it publishes itself: its client metadata document and its key set (draft 0.1, section
// 4.1).
type Client struct {
	ID           string
	Name         string
	Logo         string // an HTTPS URL, or empty
	RedirectURIs []string
	Keys         []wire.Key
	Extensions   map[string]bool
}

// Key gives the signing key that a statement's header names by kid and alg.
func (c Client) Key(kid, alg string) (wire.Key, bool) {
	for _, k := range c.Keys {
		if kid != "" && k.ID == kid && alg == wire.ES256 && k.Signs() {
			return k, true
		}
	}
	return wire.Key{}, false
}

// Clients finds agents: in folders first, which are read at each use, since an agent may write its keys after the
// Company started; then by fetching, if there is an HTTP client. It is safe for concurrent use.
type Clients struct {
	dirs []string
	http *http.Client // nil: nothing is fetched
	now  func() time.Time

	mu      sync.Mutex
	fetched map[string]fetchedClient
	revoked map[string]bool
}

type fetchedClient struct {
	client Client
	at     time.Time
	tried  time.Time
}

// NewClients gives a finder for the folders. fetch may be nil; then an agent in no folder is unknown. fetch should
// follow no redirects and have its own bounds on time.
func NewClients(dirs []string, fetch *http.Client, now func() time.Time) *Clients {
	return &Clients{dirs: dirs, http: fetch, now: now, fetched: map[string]fetchedClient{}, revoked: map[string]bool{}}
}

// Revoke makes the client unknown from now on (draft 0.1, section 4.1), or known again.
func (c *Clients) Revoke(id string, revoked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revoked[id] = revoked
}

// Find gives the agent of a client_id. It returns ErrUnknownClient when there is none, and another error that says
// what is wrong when there is one that can't be used.
func (c *Clients) Find(ctx context.Context, id string) (Client, error) {
	c.mu.Lock()
	revoked := c.revoked[id]
	kept, isKept := c.fetched[id]
	c.mu.Unlock()
	if revoked {
		return Client{}, ErrUnknownClient
	}
	for _, dir := range c.dirs {
		document, err := readFile(filepath.Join(dir, "agent.json"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return Client{}, err
		}
		m, err := wire.Members(document)
		if err != nil {
			return Client{}, fmt.Errorf("agent.json: %w", err)
		}
		if named, _ := wire.Text(m, "client_id"); named != id {
			continue
		}
		client, _, err := readClient(id, m)
		if err != nil {
			return Client{}, err
		}
		set, err := readFile(filepath.Join(dir, "jwks.json"))
		if err != nil {
			return Client{}, err
		}
		client.Keys, err = readKeys(set)
		return client, err
	}
	if isKept && c.now().Sub(kept.at) < keepDocument {
		return kept.client, nil
	}
	return c.load(ctx, id)
}

// FindKey gives the agent and its key of that kid. A key that isn't in the kept set makes the set be loaded again, not
// more often than every 30 seconds.
func (c *Clients) FindKey(ctx context.Context, id, kid, alg string) (Client, wire.Key, error) {
	client, err := c.Find(ctx, id)
	if err != nil {
		return Client{}, wire.Key{}, err
	}
	if key, ok := client.Key(kid, alg); ok {
		return client, key, nil
	}
	c.mu.Lock()
	kept, isKept := c.fetched[id]
	again := isKept && c.now().Sub(kept.tried) >= reloadPause
	c.mu.Unlock()
	if again {
		if fresh, err := c.load(ctx, id); err == nil {
			client = fresh
		}
	}
	key, ok := client.Key(kid, alg)
	if !ok {
		return client, wire.Key{}, errors.New("no published signing key has the statement's kid and alg")
	}
	return client, key, nil
}

// load fetches the agent's document and key set.
func (c *Clients) load(ctx context.Context, id string) (Client, error) {
	if c.http == nil || !isHTTPS(id) {
		return Client{}, ErrUnknownClient
	}
	c.mu.Lock()
	if len(c.fetched) >= maxClients {
		clear(c.fetched)
	}
	kept := c.fetched[id]
	kept.tried = c.now()
	c.fetched[id] = kept
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	document, err := c.get(ctx, id)
	if err != nil {
		return Client{}, errors.Join(ErrUnknownClient, err)
	}
	m, err := wire.Members(document)
	if err != nil {
		return Client{}, fmt.Errorf("client metadata: %w", err)
	}
	client, keys, err := readClient(id, m)
	if err != nil {
		return Client{}, err
	}
	set, err := c.get(ctx, keys)
	if err != nil {
		return Client{}, err
	}
	if client.Keys, err = readKeys(set); err != nil {
		return Client{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetched[id] = fetchedClient{client: client, at: c.now(), tried: c.now()}
	return client, nil
}

func (c *Clients) get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d", address, response.StatusCode)
	}
	return readAll(response.Body, address)
}

// readClient checks the metadata document. It gives the address of the key set too.
func readClient(id string, m map[string]json.RawMessage) (c Client, keys string, err error) {
	c = Client{ID: id, Extensions: map[string]bool{}}
	if named, _ := wire.Text(m, "client_id"); named != id {
		return Client{}, "", errors.New("client metadata: client_id isn't the document's own URL")
	}
	c.Name, _ = wire.Text(m, "client_name")
	if logo, _ := wire.Text(m, "logo_uri"); isHTTPS(logo) {
		c.Logo = logo
	}
	keys, _ = wire.Text(m, "jwks_uri")
	if !isHTTPS(id) || !isHTTPS(keys) {
		return Client{}, "", errors.New("client metadata: client_id or jwks_uri isn't an HTTPS URL")
	}
	if !sameHost(id, keys) {
		return Client{}, "", errors.New("client metadata: jwks_uri isn't on the domain of client_id")
	}
	if method, _ := wire.Text(m, "token_endpoint_auth_method"); method != "private_key_jwt" {
		return Client{}, "", errors.New("client metadata: token_endpoint_auth_method isn't private_key_jwt")
	}
	var redirects []string
	if raw, found := m["redirect_uris"]; found && json.Unmarshal(raw, &redirects) != nil {
		return Client{}, "", errors.New("client metadata: redirect_uris isn't a list of strings")
	}
	for _, redirect := range redirects {
		if !isHTTPS(redirect) || !sameHost(id, redirect) {
			return Client{}, "", errors.New("client metadata: a redirect URI isn't an HTTPS URL on the domain of client_id")
		}
	}
	c.RedirectURIs = redirects
	if extensions, err := wire.Members(m["extensions"]); err == nil {
		for name := range extensions {
			c.Extensions[name] = true
		}
	}
	return c, keys, nil
}

// readKeys reads a key set. A key of another type may serve another purpose; it verifies nothing here.
func readKeys(data []byte) ([]wire.Key, error) {
	set, err := wire.Members(data)
	if err != nil {
		return nil, fmt.Errorf("key set: %w", err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(set["keys"], &raw); err != nil {
		return nil, fmt.Errorf("key set: keys: %w", err)
	}
	if len(raw) > maxKeys {
		return nil, fmt.Errorf("key set: more than %d keys", maxKeys)
	}
	var keys []wire.Key
	for _, one := range raw {
		if k, err := wire.ParseKey(one); err == nil {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// isHTTPS says whether the address is an absolute HTTPS URL without user and fragment.
func isHTTPS(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && u.Fragment == ""
}

func sameHost(a, b string) bool {
	first, err := url.Parse(a)
	if err != nil {
		return false
	}
	second, err := url.Parse(b)
	return err == nil && strings.EqualFold(first.Host, second.Host)
}

// readFile reads a file of at most maxDocument bytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAll(f, filepath.Base(path))
}

func readAll(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxDocument {
		return nil, fmt.Errorf("%s: more than %d bytes", name, maxDocument)
	}
	return data, nil
}
