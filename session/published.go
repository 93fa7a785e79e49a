package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/papaver-agent/papaver/internal/durable"
)

// Published is what the agent publishes: the client metadata document at its client id, and the key set at jwks_uri.
type Published struct {
	Agent json.RawMessage `json:"agent"`
	Keys  json.RawMessage `json:"jwks"`
}

// authMethod is how the agent authenticates at token endpoints (RFC 7523; draft 0.1, section 4.1).
const authMethod = "private_key_jwt"

// KeySetURL is the jwks_uri, where the key set is published: beside the client metadata document.
func (id *Identity) KeySetURL() string {
	u, err := url.Parse(id.clientID)
	if err != nil {
		return "" // it was checked when the identity was made
	}
	return u.ResolveReference(&url.URL{Path: jwksFile}).String()
}

// PublicDir is the folder the two documents are kept in.
func (id *Identity) PublicDir() string { return filepath.Join(id.dir, publicFolder) }

// Published returns the two documents. No private key is in them.
func (id *Identity) Published() (Published, error) {
	// The member extensions (draft 0.1, section 4.1) lists what the agent supports of the drafts' extensions. That is
	// nothing: they go with Operations v1, which we don't speak. Protocol 1.0 declares extensions with each request.
	agent, err := readable(struct {
		ClientID   string   `json:"client_id"`
		Name       string   `json:"client_name"`
		Logo       string   `json:"logo_uri,omitempty"`
		Redirects  []string `json:"redirect_uris"`
		JWKS       string   `json:"jwks_uri"`
		AuthMethod string   `json:"token_endpoint_auth_method"`
	}{id.clientID, id.name, id.logo, []string{id.redirect}, id.KeySetURL(), authMethod})
	if err != nil {
		return Published{}, err
	}
	var set struct {
		Keys []claims `json:"keys"`
	}
	for _, k := range id.keys {
		set.Keys = append(set.Keys, k.public)
	}
	keys, err := readable(set)
	if err != nil {
		return Published{}, err
	}
	return Published{Agent: agent, Keys: keys}, nil
}

// readable is v as JSON for people, without the escapes that are for web pages.
func readable(v any) (json.RawMessage, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(v)
	return bytes.TrimRight(text.Bytes(), "\n"), err
}

// writeFile makes a file hold exactly data, in one step: [durable.WriteFile], or a test's that fails.
type writeFile func(path string, data []byte) error

// writePublic writes the documents to publish. The key set comes first: where it can't be written, nothing changes.
func (id *Identity) writePublic(write writeFile) error {
	if err := durable.MkdirAll(id.PublicDir()); err != nil {
		return fmt.Errorf("identity folder: %w", err)
	}
	documents, err := id.publicFiles()
	if err != nil {
		return err
	}
	for _, d := range documents {
		if err := write(d.path, d.content); err != nil {
			return fmt.Errorf("document to publish: %w", err)
		}
	}
	return nil
}

type publicFile struct {
	path    string
	content []byte
}

func (id *Identity) publicFiles() ([]publicFile, error) {
	published, err := id.Published()
	if err != nil {
		return nil, err
	}
	at := func(name string, document json.RawMessage) publicFile {
		return publicFile{filepath.Join(id.PublicDir(), name), append(document, '\n')}
	}
	return []publicFile{at(jwksFile, published.Keys), at(agentFile, published.Agent)}, nil
}

// Mend writes the documents to publish anew when they are not the identity's, as after a crash in the middle of a
// change, and reports whether it did. The caller holds the home's lock.
func (id *Identity) Mend() (bool, error) {
	documents, err := id.publicFiles()
	if err != nil {
		return false, err
	}
	for _, d := range documents {
		if found, err := os.ReadFile(d.path); err != nil || !bytes.Equal(found, d.content) {
			return true, id.writePublic(durable.WriteFile)
		}
	}
	return false, nil
}
