package session

import (
	"io"
	"time"

	"github.com/papaver-agent/papaver/lock"
)

// RotateBy and RevokeBy let a test stand between a change and the disk.

func RotateBy(write func(string, []byte) error, dir string, overlap time.Duration, now time.Time, random io.Reader) (*Identity, error) {
	return rotate(dir, lock.Seals{}, overlap, now, random, write)
}

func RevokeBy(write func(string, []byte) error, dir, kid string, now time.Time) (*Identity, KeyStatus, error) {
	return revoke(dir, kid, now, write)
}

// SignerAt is the key that signs at a time.
func SignerAt(id *Identity, now time.Time) (*Signer, error) { return id.signer(now) }
