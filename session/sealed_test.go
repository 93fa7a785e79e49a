package session_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/session"
)

// locked is a home's lock, open.
func locked(t *testing.T) lock.Seals {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "answers")
	k, err := lock.Make(dir, secret.New("alpine start 4am"), 2, noon, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return lock.SealsOf(dir, k)
}

// Who copies the home gets no key to sign with; who has the lock open signs as before.
func TestASealedIdentitySignsWithItsLockOpenAlone(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t)
	seals := locked(t)
	before, err := id.Published()
	if err != nil {
		t.Fatal(err)
	}
	secrets := privateParts(t, dir)
	if err := session.Reseal(dir, lock.Seals{}, seals); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "identity.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range secrets {
		if strings.Contains(string(data), part) {
			t.Error("a private key stands in the file")
		}
	}
	sealed, err := session.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	after, err := sealed.Published()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" || !sealed.Sealed() || id.Sealed() {
		t.Errorf("sealed: %v, published: %s", sealed.Sealed(), diff)
	}
	if mended, err := sealed.Mend(); err != nil || mended {
		t.Errorf("the documents to publish were changed: %v, %v", mended, err)
	}
	for name, with := range map[string]lock.Seals{"none": {}, "no key": lock.SealsOf(t.TempDir(), nil)} {
		if _, err := session.SignerAt(sealed.With(with), noon); !errors.Is(err, lock.ErrLocked) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := session.SignerAt(sealed.With(locked(t)), noon); !errors.Is(err, lock.ErrSealed) {
		t.Errorf("another lock: %v", err)
	}
	signer, err := session.SignerAt(sealed.With(seals), noon)
	if err != nil || signer.KeyID() != id.Keys()[0].Thumbprint {
		t.Errorf("%v, %v", signer, err)
	}
	// An identity that was read before it was sealed reads its key anew, and learns that it may not.
	if _, err := session.SignerAt(id, noon); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("read before: %v", err)
	}
}

func TestANewKeyOfASealedIdentityIsSealedToo(t *testing.T) {
	t.Parallel()
	_, dir := newIdentity(t)
	seals := locked(t)
	if err := session.Reseal(dir, lock.Seals{}, seals); err != nil {
		t.Fatal(err)
	}
	id, err := session.Rotate(dir, seals, 0, noon, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := session.SignerAt(id.With(seals), noon)
	if err != nil || signer.KeyID() != id.Keys()[1].Thumbprint {
		t.Errorf("%v, %v", signer, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "identity.json")); err != nil || strings.Contains(string(data), `"d":`) || strings.Contains(string(data), `"private"`) {
		t.Errorf("a private key stands in the file: %v", err)
	}
	if err := session.Reseal(dir, seals, lock.Seals{}); err != nil {
		t.Fatal(err)
	}
	open, err := session.Load(dir)
	if err != nil || open.Sealed() {
		t.Fatal(open, err)
	}
	if _, err := session.SignerAt(open, noon); err != nil {
		t.Error(err)
	}
	if err := session.Reseal(t.TempDir(), lock.Seals{}, seals); err != nil {
		t.Errorf("no identity: %v", err)
	}
}
