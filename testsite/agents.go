package testsite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
)

// Bounds on what is read of an agent's folder.
const (
	maxAgentFile = 64 << 10 // bytes
	maxAgentKeys = 16
)

// errUnknownAgent is returned for a client_id that no folder publishes.
var errUnknownAgent = errors.New("no known agent has this client_id")

// agent is what a Personal Agent publishes: its client metadata document and its key set.
type agent struct {
	clientID string
	name     string
	keys     []jwk
}

// agentDirs are the folders of the agents this Company knows without fetching. They are read at each use, since
// an agent may write its keys after the Company started.
type agentDirs []string

// find gives the agent of a client_id. It returns errUnknownAgent when no folder has it, and an error that says
// what is wrong when one has it and can't be used.
func (dirs agentDirs) find(clientID string) (agent, error) {
	for _, dir := range dirs {
		document, err := readBounded(filepath.Join(dir, "agent.json"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return agent{}, err
		}
		m, err := members(document)
		if err != nil {
			return agent{}, fmt.Errorf("agent.json: %w", err)
		}
		if id, _ := text(m, "client_id"); id != clientID {
			continue
		}
		return readAgent(dir, clientID, m)
	}
	return agent{}, errUnknownAgent
}

// readAgent checks the metadata document and reads the key set beside it.
func readAgent(dir, clientID string, m map[string]json.RawMessage) (agent, error) {
	a := agent{clientID: clientID}
	a.name, _ = text(m, "client_name")
	jwksURI, _ := text(m, "jwks_uri")
	for name, value := range map[string]string{"client_id": clientID, "jwks_uri": jwksURI} {
		if u, err := url.Parse(value); err != nil || u.Scheme != "https" || u.Host == "" {
			return agent{}, fmt.Errorf("agent.json: %s isn't an HTTPS URL", name)
		}
	}
	if method, _ := text(m, "token_endpoint_auth_method"); method != "private_key_jwt" {
		return agent{}, errors.New("agent.json: token_endpoint_auth_method isn't private_key_jwt")
	}
	data, err := readBounded(filepath.Join(dir, "jwks.json"))
	if err != nil {
		return agent{}, err
	}
	set, err := members(data)
	if err != nil {
		return agent{}, fmt.Errorf("jwks.json: %w", err)
	}
	var keys []json.RawMessage
	if err := json.Unmarshal(set["keys"], &keys); err != nil {
		return agent{}, fmt.Errorf("jwks.json: keys: %w", err)
	}
	if len(keys) > maxAgentKeys {
		return agent{}, fmt.Errorf("jwks.json: more than %d keys", maxAgentKeys)
	}
	for _, raw := range keys {
		// A key of another type may serve another purpose; it verifies nothing here.
		if k, err := parseJWK(raw); err == nil {
			a.keys = append(a.keys, k)
		}
	}
	return a, nil
}

// key gives the signing key that the delegation's header names by kid and alg.
func (a agent) key(kid, alg string) (jwk, bool) {
	for _, k := range a.keys {
		if kid != "" && k.kid == kid && alg == es256 && (k.alg == "" || k.alg == alg) && (k.use == "" || k.use == "sig") {
			return k, true
		}
	}
	return jwk{}, false
}

// readBounded reads a file of at most maxAgentFile bytes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxAgentFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	if len(data) > maxAgentFile {
		return nil, fmt.Errorf("%s: more than %d bytes", filepath.Base(path), maxAgentFile)
	}
	return data, nil
}
