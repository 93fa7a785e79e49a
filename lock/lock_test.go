package lock_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/lock"
)

// quick is a work factor for tests alone.
const quick = 2

var (
	noon  = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	words = secret.New("alpine start 4am")
)

func newLock(t *testing.T) (*lock.Key, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "answers")
	k, err := lock.Make(dir, words, quick, noon, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k, dir
}

func load(t *testing.T, dir string) lock.Lock {
	t.Helper()
	l, err := lock.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// file reads the lock's file, lets change change it, and writes it back.
func file(t *testing.T, dir string, change func(map[string]any)) {
	t.Helper()
	path := filepath.Join(dir, "lock.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	change(members)
	if data, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

var yes = lock.Statement{Request: "q_1", Kind: "approval", Company: "shop.example", Operation: "exc_1", Revision: "v1", TermsHash: "abc", Approved: true}

func TestTheRightPassphraseOpensTheLockAndAnotherDoesNot(t *testing.T) {
	t.Parallel()
	made, dir := newLock(t)
	if _, err := lock.Make(dir, words, quick, noon, rand.Reader); !errors.Is(err, lock.ErrExists) {
		t.Errorf("a second lock: %v", err)
	}
	l := load(t, dir)
	if l.Fingerprint() != made.Lock().Fingerprint() || len(l.Fingerprint()) != 64 || !l.Created().Equal(noon) {
		t.Errorf("the lock is %s of %s", l.Fingerprint(), l.Created())
	}
	for _, wrong := range []string{"", "alpine start 5am", "alpine start 4am "} {
		if k, err := l.Open(secret.New(wrong)); !errors.Is(err, lock.ErrPassphrase) || k != nil {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	k, err := l.Open(words)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := k.Sign(yes)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Verify(yes, sig); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "lock.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	if _, err := lock.Load(t.TempDir()); !errors.Is(err, lock.ErrNone) {
		t.Errorf("no lock: %v", err)
	}
	if _, err := lock.Make(t.TempDir(), secret.New("seven77"), quick, noon, rand.Reader); !errors.Is(err, lock.ErrWeak) {
		t.Errorf("a short passphrase: %v", err)
	}
}

func TestASignatureIsGoodForItsOwnAnswerAlone(t *testing.T) {
	t.Parallel()
	k, _ := newLock(t)
	other, _ := newLock(t)
	sig, err := k.Sign(yes)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*lock.Statement){
		"request":   func(s *lock.Statement) { s.Request = "q_2" },
		"kind":      func(s *lock.Statement) { s.Kind = "rerun" },
		"company":   func(s *lock.Statement) { s.Company = "other.example" },
		"operation": func(s *lock.Statement) { s.Operation = "exc_2" },
		"revision":  func(s *lock.Statement) { s.Revision = "v2" },
		"terms":     func(s *lock.Statement) { s.TermsHash = "abd" },
		"answer":    func(s *lock.Statement) { s.Approved = false },
		"moved":     func(s *lock.Statement) { s.Revision, s.TermsHash = "v1abc", "" },
	} {
		s := yes
		change(&s)
		if err := k.Lock().Verify(s, sig); !errors.Is(err, lock.ErrSignature) {
			t.Errorf("another %s: %v", name, err)
		}
	}
	if err := other.Lock().Verify(yes, sig); !errors.Is(err, lock.ErrSignature) {
		t.Errorf("another lock: %v", err)
	}
	for _, wrong := range []lock.Signature{"", "AAAA", sig[:len(sig)-2], sig + "A", "!" + sig[1:]} {
		if err := k.Lock().Verify(yes, wrong); !errors.Is(err, lock.ErrSignature) {
			t.Errorf("signature %q: %v", wrong, err)
		}
	}
	if err := (lock.Lock{}).Verify(yes, sig); !errors.Is(err, lock.ErrSignature) {
		t.Errorf("no lock: %v", err)
	}
}

// Somebody who can write the home, and knows no passphrase, puts a key of their own in the place of the User's.
func TestAnotherKeyInTheFileIsNoticedWhenThePassphraseOpensIt(t *testing.T) {
	t.Parallel()
	_, strangers := newLock(t)
	stolen := map[string]any{}
	file(t, strangers, func(m map[string]any) { stolen = m })
	for _, member := range []string{"public_key", "recipient", "created"} {
		_, dir := newLock(t)
		file(t, dir, func(m map[string]any) {
			if m[member] = stolen[member]; member == "created" {
				m[member] = noon.Add(time.Second)
			}
		})
		if _, err := load(t, dir).Open(words); !errors.Is(err, lock.ErrChanged) {
			t.Errorf("another %s: %v", member, err)
		}
	}
	_, dir := newLock(t)
	file(t, dir, func(m map[string]any) {
		for member, value := range stolen {
			m[member] = value
		}
	})
	if _, err := load(t, dir).Open(secret.New("the User's own words")); !errors.Is(err, lock.ErrPassphrase) {
		t.Errorf("a lock of somebody else's: %v", err)
	}
}

func TestADamagedFileIsAnErrorAndNoLock(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(map[string]any){
		"a later format": func(m map[string]any) { m["format"] = 2 },
		"no box":         func(m map[string]any) { delete(m, "box") },
		"a short key":    func(m map[string]any) { m["public_key"] = "AAAA" },
		"no recipient":   func(m map[string]any) { m["recipient"] = "age1" },
		"a wrong type":   func(m map[string]any) { m["created"] = 7 },
		"much too large": func(m map[string]any) { m["box"] = strings.Repeat("A", 1<<20) },
	} {
		_, dir := newLock(t)
		file(t, dir, change)
		if _, err := lock.Load(dir); err == nil || errors.Is(err, lock.ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, dir := newLock(t)
	file(t, dir, func(m map[string]any) { m["box"] = "AAAA" })
	if _, err := load(t, dir).Open(words); !errors.Is(err, lock.ErrPassphrase) {
		t.Errorf("a broken box: %v", err)
	}
}

func TestAnotherPassphraseKeepsTheKey(t *testing.T) {
	t.Parallel()
	k, dir := newLock(t)
	sig, err := k.Sign(yes)
	if err != nil {
		t.Fatal(err)
	}
	later := secret.New("another one, and longer")
	if err := k.Change(dir, secret.New("short"), quick); !errors.Is(err, lock.ErrWeak) {
		t.Errorf("a short one: %v", err)
	}
	if err := k.Change(dir, later, quick); err != nil {
		t.Fatal(err)
	}
	l := load(t, dir)
	if _, err := l.Open(words); !errors.Is(err, lock.ErrPassphrase) {
		t.Errorf("the old one: %v", err)
	}
	if _, err := l.Open(later); err != nil {
		t.Error(err)
	}
	if err := l.Verify(yes, sig); err != nil {
		t.Errorf("an answer from before: %v", err)
	}
	if err := k.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Load(dir); !errors.Is(err, lock.ErrNone) {
		t.Errorf("removed: %v", err)
	}
}

func TestWhatIsSealedOpensWithThisLocksKeyOnly(t *testing.T) {
	t.Parallel()
	k, dir := newLock(t)
	box, err := load(t, dir).Seal([]byte("a token"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(box), "a token") {
		t.Error("it stands there in the open")
	}
	if plain, err := k.Unseal(box); err != nil || plain.Reveal() != "a token" {
		t.Errorf("%q, %v", plain.Reveal(), err)
	}
	other, _ := newLock(t)
	if _, err := other.Unseal(box); !errors.Is(err, lock.ErrSealed) {
		t.Errorf("another lock: %v", err)
	}
	box[len(box)-1] ^= 1
	if _, err := k.Unseal(box); !errors.Is(err, lock.ErrSealed) {
		t.Errorf("changed: %v", err)
	}
}

func TestAnOpenLockIsNeverPrinted(t *testing.T) {
	t.Parallel()
	k, dir := newLock(t)
	data, err := os.ReadFile(filepath.Join(dir, "lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprintf("%v %+v %#v", k, k, *k), string(data)} {
		if strings.Contains(text, "AGE-SECRET-KEY") || strings.Contains(text, words.Reveal()) {
			t.Errorf("it prints as %.200s", text)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(`{"format":1,"created":"2026-11-30T12:00:00Z","public_key":"","recipient":"","box":""}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "lock.json"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := lock.Load(dir); err == nil {
			_, _ = l.Seal(nil)
		}
	})
}

func TestSealsFollowTheHomesLock(t *testing.T) {
	t.Parallel()
	k, dir := newLock(t)
	stranger, _ := newLock(t)
	text := secret.New("a token")
	for name, tc := range map[string]struct {
		seals lock.Seals
		want  error
	}{
		"no home":           {lock.Seals{}, nil},
		"no lock":           {lock.SealsOf(t.TempDir(), nil), nil},
		"not open":          {lock.SealsOf(dir, nil), lock.ErrLocked},
		"another's":         {lock.SealsOf(dir, stranger), lock.ErrChanged},
		"removed meanwhile": {lock.SealsOf(t.TempDir(), k), lock.ErrChanged},
	} {
		if sealed, err := tc.seals.Seal(text); !errors.Is(err, tc.want) || sealed != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	open := lock.SealsOf(dir, k)
	sealed, err := open.Seal(text)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := open.Unseal(sealed); err != nil || back.Reveal() != text.Reveal() {
		t.Errorf("%q, %v", back.Reveal(), err)
	}
	if _, err := lock.SealsOf(dir, nil).Unseal(sealed); !errors.Is(err, lock.ErrLocked) {
		t.Errorf("not open: %v", err)
	}
}
