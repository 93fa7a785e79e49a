// Package lock keeps the key that a User's answers are signed with, behind a passphrase that only the User knows, and
// seals with it what else of the home must be of no use to somebody who copies it.
//
// Without it the boundary around an answer is the user account: whatever runs as the same user could start a terminal UI of
// its own and press the key. With it an answer counts only with a signature that nobody makes without the passphrase.
//
// One file holds it: a public part, which says whether there is a lock, checks signatures and seals, and a box of age
// (age-encryption.org, its scrypt recipient) with the private part. The box names the public part again, so that who opens
// it learns whether that was put in its place: whoever knows no passphrase can make a lock of their own, but not one that
// the User's passphrase opens.
package lock

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

const (
	fileName = "lock.json"
	format   = 1
	maxFile  = 64 << 10 // bytes
	maxBox   = 1 << 20  // bytes of what is sealed at once

	// Work is what age's scrypt takes for the passphrase: 2 to the power of it. 18 is age's own, about a second.
	Work    = 18
	maxWork = 20 // more in a file is somebody's wish to keep us busy

	// MinPassphrase is the shortest passphrase, in bytes.
	MinPassphrase = 8
)

var (
	// ErrNone is returned when the home has no lock.
	ErrNone = errors.New("this home has no lock")
	// ErrExists is returned by Make when the home has one: it is never overwritten without its passphrase.
	ErrExists = errors.New("this home has a lock already")
	// ErrPassphrase is returned when a passphrase does not open the lock.
	ErrPassphrase = errors.New("this passphrase does not open the lock")
	// ErrWeak is returned for a passphrase that is too short.
	ErrWeak = fmt.Errorf("a passphrase has at least %d characters", MinPassphrase)
	// ErrChanged is returned when the public part of the file is not the one that the passphrase opens: somebody put
	// it there, and nothing of it may be trusted.
	ErrChanged = errors.New("the lock's file was changed by somebody who does not know the passphrase")
	// ErrSignature is returned for an answer whose signature is missing or not the lock's.
	ErrSignature = errors.New("the answer is not signed with the key of this home's lock")
	// ErrSealed is returned for a box that this key does not open.
	ErrSealed = errors.New("what is sealed cannot be opened with this lock's key")
)

// Lock is the public part of a home's lock. It is immutable and safe for concurrent use.
type Lock struct {
	created   time.Time
	public    ed25519.PublicKey
	recipient *age.X25519Recipient
	box       []byte
}

// Key is an open lock: it signs answers and opens what was sealed. It is immutable and safe for concurrent use, and no
// form of it is printed.
type Key struct {
	lock     Lock
	answers  secret.Text // the seed of the signing key
	identity secret.Text // of age
}

// onDisk is the file's form; private is what the box holds.
type onDisk struct {
	Format    int       `json:"format"`
	Created   time.Time `json:"created"`
	Public    []byte    `json:"public_key"` // Ed25519, 32 bytes
	Recipient string    `json:"recipient"`  // age
	Box       []byte    `json:"box,omitempty"`
}

type private struct {
	onDisk
	Seed     []byte `json:"seed"`
	Identity string `json:"identity"`
}

// Make makes the lock of the home whose folder dir is, and returns it open. A home that has one is ErrExists, a short
// passphrase ErrWeak. work is [Work] but in tests. random gives the signing key; age reads its own randomness.
func Make(dir string, passphrase secret.Text, work int, now time.Time, random io.Reader) (*Key, error) {
	public, signer, err := ed25519.GenerateKey(random)
	if err != nil {
		return nil, fmt.Errorf("the lock's key: %w", err)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, fmt.Errorf("the lock's key: %w", err)
	}
	k := &Key{
		lock:     Lock{created: now.UTC().Truncate(time.Second), public: public, recipient: identity.Recipient()},
		answers:  secret.New(string(signer.Seed())),
		identity: secret.New(identity.String()),
	}
	data, err := k.file(passphrase, work)
	if err != nil {
		return nil, err
	}
	if err := durable.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("the lock: %w", err)
	}
	err = durable.WriteNew(filepath.Join(dir, fileName), data)
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrExists
	}
	if err != nil {
		return nil, fmt.Errorf("the lock: %w", err)
	}
	return k, nil
}

// Load reads the public part of the lock in dir; without one it is ErrNone.
func Load(dir string) (Lock, error) {
	path := filepath.Join(dir, fileName)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Lock{}, ErrNone
	}
	if err != nil {
		return Lock{}, fmt.Errorf("the lock: %w", err)
	}
	defer func() { _ = f.Close() }()
	var disk onDisk
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return Lock{}, fmt.Errorf("the lock: %w", err)
	}
	if err := strictjson.Decode(data, strictjson.Limits{Bytes: maxFile}, &disk); err != nil {
		return Lock{}, fmt.Errorf("the lock %s is damaged: %w", path, err)
	}
	if disk.Format != format {
		return Lock{}, fmt.Errorf("the lock %s has format %d, and this papaver reads format %d", path, disk.Format, format)
	}
	recipient, err := age.ParseX25519Recipient(disk.Recipient)
	if err != nil || len(disk.Public) != ed25519.PublicKeySize || len(disk.Box) == 0 {
		return Lock{}, fmt.Errorf("the lock %s is damaged", path)
	}
	return Lock{created: disk.Created, public: disk.Public, recipient: recipient, box: disk.Box}, nil
}

// Created is when the lock was made.
func (l Lock) Created() time.Time { return l.created }

// Fingerprint names the lock: the SHA-256 of its public key, in hexadecimal digits.
func (l Lock) Fingerprint() string {
	sum := sha256.Sum256(l.public)
	return hex.EncodeToString(sum[:])
}

// PublicKey is what signatures are checked with: Ed25519, 32 bytes.
func (l Lock) PublicKey() []byte { return bytes.Clone(l.public) }

// Public is a lock of which nothing is known but its public key: it checks signatures, and seals and opens nothing.
func Public(key []byte) Lock { return Lock{public: bytes.Clone(key)} }

// Open opens the lock. A wrong passphrase is ErrPassphrase; when the passphrase is right and the public part is another's,
// ErrChanged. It takes about a second, by intention.
func (l Lock) Open(passphrase secret.Text) (*Key, error) {
	scrypt, err := age.NewScryptIdentity(passphrase.Reveal())
	if err != nil {
		return nil, ErrPassphrase
	}
	scrypt.SetMaxWorkFactor(maxWork)
	data, err := decrypt(l.box, scrypt)
	if err != nil {
		return nil, ErrPassphrase
	}
	var p private
	if err := strictjson.Decode(data, strictjson.Limits{Bytes: maxFile}, &p); err != nil || len(p.Seed) != ed25519.SeedSize {
		return nil, errors.New("the lock's box is damaged") // the cause could quote a key
	}
	identity, err := age.ParseX25519Identity(p.Identity)
	if err != nil {
		return nil, errors.New("the lock's box is damaged")
	}
	// The private halves decide, and not what stands beside them.
	public, _ := ed25519.NewKeyFromSeed(p.Seed).Public().(ed25519.PublicKey)
	if !public.Equal(l.public) || identity.Recipient().String() != l.recipient.String() || !p.Created.Equal(l.created) {
		return nil, ErrChanged
	}
	return &Key{lock: l, answers: secret.New(string(p.Seed)), identity: secret.New(p.Identity)}, nil
}

// Change gives the lock in dir another passphrase: the key stays, and with it all that was signed and sealed.
func (k *Key) Change(dir string, passphrase secret.Text, work int) error {
	data, err := k.file(passphrase, work)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(dir, fileName), data); err != nil {
		return fmt.Errorf("the lock: %w", err)
	}
	return nil
}

// Remove takes the lock of dir away. What is sealed must have been opened before: nothing opens it any more.
func (k *Key) Remove(dir string) error {
	if err := os.Remove(filepath.Join(dir, fileName)); err != nil {
		return fmt.Errorf("the lock: %w", err)
	}
	return durable.SyncDir(dir)
}

// Lock is the public part.
func (k *Key) Lock() Lock { return k.lock }

// file is the content of the lock's file.
func (k *Key) file(passphrase secret.Text, work int) ([]byte, error) {
	if len(passphrase.Reveal()) < MinPassphrase {
		return nil, ErrWeak
	}
	scrypt, err := age.NewScryptRecipient(passphrase.Reveal())
	if err != nil {
		return nil, fmt.Errorf("the lock's passphrase: %w", err)
	}
	scrypt.SetWorkFactor(work)
	disk := onDisk{Format: format, Created: k.lock.created, Public: k.lock.public, Recipient: k.lock.recipient.String()}
	data, err := json.Marshal(private{onDisk: disk, Seed: []byte(k.answers.Reveal()), Identity: k.identity.Reveal()})
	if err != nil {
		return nil, errors.New("the lock's box can't be made") // the cause could quote a key
	}
	if disk.Box, err = encrypt(data, scrypt); err != nil {
		return nil, fmt.Errorf("the lock's box: %w", err)
	}
	data, err = json.MarshalIndent(disk, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("the lock: %w", err)
	}
	return append(data, '\n'), nil
}

func encrypt(plain []byte, to age.Recipient) ([]byte, error) {
	var box bytes.Buffer
	w, err := age.Encrypt(&box, to)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return box.Bytes(), nil
}

func decrypt(box []byte, by age.Identity) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(box), by)
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxBox+1))
	if err != nil {
		return nil, err
	}
	if len(plain) > maxBox {
		return nil, errors.New("what is sealed is too large")
	}
	return plain, nil
}
