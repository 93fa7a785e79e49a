package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/lock"
)

// identityOnDisk is the file's form; the file is 0600.
type identityOnDisk struct {
	Format   int         `json:"format"`
	ClientID string      `json:"client_id"`
	Name     string      `json:"name"`
	Redirect string      `json:"redirect_uri"`
	Logo     string      `json:"logo_uri,omitempty"`
	Keys     []keyOnDisk `json:"keys"`
}

// keyOnDisk has the private key as a JWK, or sealed with the public one beside it.
type keyOnDisk struct {
	Key
	Private json.RawMessage `json:"private,omitempty"`
	Public  claims          `json:"public,omitempty"`
	Sealed  []byte          `json:"sealed,omitempty"`
}

// The formats of the file. A file of an earlier one is read, and written in the present one with the next change.
const (
	identityOneKey = 1 // without a time of activation: its one key signs from its creation on
	identityOpen   = 2
	identitySealed = 3 // a key of it is sealed
)

// marshal returns the content of the identity's file.
func (id *Identity) marshal() (secret.Text, error) {
	disk := identityOnDisk{Format: identityOpen, ClientID: id.clientID, Name: id.name, Redirect: id.redirect, Logo: id.logo}
	for _, k := range id.keys {
		kept := keyOnDisk{Key: k.Key}
		if k.sealed != nil {
			disk.Format, kept.Sealed, kept.Public = identitySealed, k.sealed, k.public
		} else {
			private, err := marshalPrivate(k.signer.private)
			if err != nil {
				return secret.Text{}, err
			}
			kept.Private = json.RawMessage(private.Reveal())
		}
		disk.Keys = append(disk.Keys, kept)
	}
	data, err := json.Marshal(disk)
	if err != nil {
		return secret.Text{}, fmt.Errorf("identity: %w", err)
	}
	return secret.New(string(data) + "\n"), nil
}

// Load reads the identity in dir. Without one it is ErrNoIdentity. One whose keys are sealed signs only [Identity.With]
// the open lock.
func Load(dir string) (*Identity, error) {
	file := filepath.Join(dir, identityFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoIdentity
	}
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	var disk identityOnDisk
	if err := strictjson.Decode(data, strictjson.Limits{}, &disk); err != nil {
		return nil, fmt.Errorf("identity %s is damaged", file) // the cause could quote a key
	}
	if disk.Format < identityOneKey || disk.Format > identitySealed {
		return nil, fmt.Errorf("identity %s has format %d, and this papaver reads formats %d to %d", file, disk.Format, identityOneKey, identitySealed)
	}
	id := &Identity{clientID: disk.ClientID, name: disk.Name, redirect: disk.Redirect, logo: disk.Logo, dir: dir}
	for i, k := range disk.Keys {
		key, err := k.read()
		if err != nil {
			return nil, fmt.Errorf("identity %s: key %d %w", file, i, err)
		}
		if disk.Format == identityOneKey {
			key.Activates = key.Created
		}
		if key.Activates.Before(key.Created) || i > 0 && key.Activates.Before(id.keys[i-1].Activates) {
			return nil, fmt.Errorf("identity %s: key %d is not in the order of activation", file, i)
		}
		id.keys = append(id.keys, key)
	}
	if len(id.keys) == 0 {
		return nil, fmt.Errorf("identity %s has no key", file)
	}
	return id, nil
}

// errNotItsKey is a key whose kid is another's.
var errNotItsKey = errors.New("is not the one its kid names")

func (k keyOnDisk) read() (identityKey, error) {
	if k.Sealed != nil {
		public, err := publicMembers(k.Public)
		if err != nil || public["kid"] != k.Thumbprint {
			return identityKey{}, errNotItsKey
		}
		return identityKey{Key: k.Key, public: public, sealed: k.Sealed}, nil
	}
	signer, err := readSigner(secret.New(string(k.Private)), k.Thumbprint)
	if err != nil {
		return identityKey{}, err
	}
	return identityKey{Key: k.Key, public: signer.public, signer: signer}, nil
}

// readSigner reads a private key, which must be the one that kid names.
func readSigner(jwk secret.Text, kid string) (*Signer, error) {
	private, err := parsePrivate(jwk)
	if err != nil {
		return nil, err
	}
	signer, err := newSigner(private)
	if err != nil || signer.KeyID() != kid {
		return nil, errNotItsKey
	}
	return signer, nil
}

// kept is the key as a home with these seals keeps it.
func (k identityKey) kept(seals lock.Seals) (identityKey, error) {
	private, err := marshalPrivate(k.signer.private)
	if err != nil {
		return identityKey{}, err
	}
	sealed, err := seals.Seal(private)
	if err != nil {
		return identityKey{}, fmt.Errorf("identity: %w", err)
	}
	if sealed != nil {
		k.sealed, k.signer = sealed, nil
	}
	return k, nil
}

// open is the key's signer; its errors are those of [lock.Seals.Unseal].
func (k identityKey) open(seals lock.Seals) (*Signer, error) {
	if k.signer != nil {
		return k.signer, nil
	}
	private, err := seals.Unseal(k.sealed)
	if err != nil {
		return nil, err
	}
	return readSigner(private, k.Thumbprint)
}

// With is the same identity, which signs with its sealed keys as far as seals opens them. A delegation that needs a key
// that stays sealed is [lock.ErrLocked].
func (id *Identity) With(seals lock.Seals) *Identity {
	with := *id
	with.seals = seals
	return &with
}

// Sealed reports whether a private key of it is sealed.
func (id *Identity) Sealed() bool {
	for _, k := range id.keys {
		if k.sealed != nil {
			return true
		}
	}
	return false
}

// Reseal writes the identity in dir as a home with the seals to keeps it; from opens what is sealed of it now. Without an
// identity it does nothing. The caller holds the home's lock.
func Reseal(dir string, from, to lock.Seals) error {
	id, err := Load(dir)
	if errors.Is(err, ErrNoIdentity) {
		return nil
	}
	if err != nil {
		return err
	}
	for i, k := range id.keys {
		signer, err := k.open(from)
		if err != nil {
			return fmt.Errorf("identity: key %s: %w", k.Thumbprint, err)
		}
		if id.keys[i], err = (identityKey{Key: k.Key, public: signer.public, signer: signer}).kept(to); err != nil {
			return err
		}
	}
	return id.replace(durable.WriteFile)
}
