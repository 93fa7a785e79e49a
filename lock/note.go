package lock

// Kinds of the ledger's lines about a lock. From a KindSet to the KindRemoved of the same key every answer of the User's has
// the key's signature.
const (
	KindSet     = "lock-set"
	KindChanged = "lock-changed" // another passphrase, the same key
	KindRemoved = "lock-removed"
)

// Note is what such a line holds: the key, so that signatures can be checked from the ledger alone, and its signature, so
// that nobody without the passphrase can write that the lock was removed.
type Note struct {
	Key       string    `json:"key"`        // its fingerprint
	PublicKey []byte    `json:"public_key"` // Ed25519
	Signature Signature `json:"signature"`
}

// Note is the line's content for something that was done with the lock.
func (k *Key) Note(kind string) (Note, error) {
	sig, err := k.Sign(Statement{Kind: kind, Approved: true})
	return Note{Key: k.lock.Fingerprint(), PublicKey: k.lock.PublicKey(), Signature: sig}, err
}

// Check checks that a line of that kind was written by who had the lock open: ErrSignature.
func (n Note) Check(kind string) error {
	l := Public(n.PublicKey)
	if l.Fingerprint() != n.Key {
		return ErrSignature
	}
	return l.Verify(Statement{Kind: kind, Approved: true}, n.Signature)
}
