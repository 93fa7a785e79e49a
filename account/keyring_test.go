package account_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/internal/secret"
)

// ring is a keyring in memory.
type ring struct {
	mu      sync.Mutex
	entries map[string]secret.Text
	locked  error
}

func (r *ring) Get(_ context.Context, entry string) (secret.Text, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked != nil {
		return secret.Text{}, &account.KeyringError{Err: r.locked}
	}
	value, ok := r.entries[entry]
	if !ok {
		return secret.Text{}, account.ErrNoEntry
	}
	return value, nil
}

func (r *ring) Set(_ context.Context, entry string, value secret.Text) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked != nil {
		return &account.KeyringError{Err: r.locked}
	}
	r.entries[entry] = value
	return nil
}

func (r *ring) Delete(_ context.Context, entry string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.locked != nil {
		return &account.KeyringError{Err: r.locked}
	}
	if _, ok := r.entries[entry]; !ok {
		return account.ErrNoEntry
	}
	delete(r.entries, entry)
	return nil
}

func (r *ring) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all strings.Builder
	for _, value := range r.entries {
		all.WriteString(value.Reveal())
	}
	return all.String()
}

func inKeyring(a account.Account) account.Account {
	a.Place = account.PlaceKeyring
	return a
}

// What is kept in the keyring is in no file, also after a rotation, and leaves the keyring with the account.
//
// Clauses: S01-4.8.09
func TestATokenInTheKeyringIsInNoFile(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "first-token")
	dir, r := filepath.Join(t.TempDir(), "accounts"), &ring{entries: map[string]secret.Text{}}
	s := open(t, account.Config{Dir: dir, Keyring: r})
	keep(t, s, inKeyring(signedIn(home)), "first-token", remote{i.URL})
	for _, want := range []string{"first-token", "rotated-1"} {
		if on := fileText(t, dir); strings.Contains(on, want) || !strings.Contains(r.text(), want) {
			t.Errorf("%s: keyring %q, files %q", want, r.text(), on)
		}
		if _, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.SignOut(t.Context(), home, remote{i.URL}); err != nil {
		t.Fatal(err)
	}
	if len(r.entries) != 0 {
		t.Errorf("the keyring still holds %d entries", len(r.entries))
	}
}

// A keyring that can't be used is an error, in both directions; nothing is put in a file instead, and a token in a file
// is not used in its place.
func TestThereIsNoWayRoundTheKeyring(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "first-token", "second-token")
	dir, r := filepath.Join(t.TempDir(), "accounts"), &ring{entries: map[string]secret.Text{}, locked: errors.New("it is locked")}
	s := open(t, account.Config{Dir: dir, Keyring: r})
	if err := s.Check(t.Context(), account.PlaceKeyring); err == nil {
		t.Error("Check takes a locked keyring for a usable one")
	}
	_, err := s.Keep(t.Context(), inKeyring(signedIn(home)), secret.New("first-token"), remote{i.URL})
	if _, ok := errors.AsType[*account.LostError](err); !ok {
		t.Errorf("Keep in a locked keyring: %v", err)
	}
	if _, err := s.Find(home); !errors.Is(err, account.ErrNone) || strings.Contains(fileText(t, dir), "token") {
		t.Errorf("something was kept: %v, %s", err, fileText(t, dir))
	}

	r.locked = nil
	if err := s.Check(t.Context(), account.PlaceKeyring); err != nil || len(r.entries) != 0 {
		t.Errorf("Check: %v, and left %d entries", err, len(r.entries))
	}
	keep(t, s, inKeyring(signedIn(home)), "first-token", remote{i.URL})
	r.locked = errors.New("it is locked")
	for name, do := range map[string]func() error{
		"refresh": func() error {
			_, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{})
			return err
		},
		"sign-out": func() error { _, err := s.SignOut(t.Context(), home, remote{i.URL}); return err },
		"without a keyring": func() error {
			_, err := open(t, account.Config{Dir: dir}).Refresh(t.Context(), home, remote{i.URL}, account.Request{})
			return err
		},
	} {
		if _, ok := errors.AsType[*account.KeyringError](do()); !ok {
			t.Errorf("%s: %v", name, do())
		}
	}
	if n := len(i.used()) + len(i.revoked); n != 0 {
		t.Errorf("%d requests were made without a token", n)
	}
	if _, err := s.Find(home); err != nil {
		t.Errorf("a locked keyring ended the sign-in: %v", err)
	}
}

// A sign-in with another place moves the token, and leaves none where it was.
func TestATokenMovesBetweenFileAndKeyring(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "first-token", "second-token", "third-token")
	dir, r := filepath.Join(t.TempDir(), "accounts"), &ring{entries: map[string]secret.Text{}}
	s := open(t, account.Config{Dir: dir, Keyring: r})
	keep(t, s, signedIn(home), "first-token", remote{i.URL})
	keep(t, s, inKeyring(signedIn(home)), "second-token", remote{i.URL})
	if on := fileText(t, dir); strings.Contains(on, "-token") || !strings.Contains(r.text(), "second-token") {
		t.Errorf("in the keyring: files %q, keyring %q", on, r.text())
	}
	keep(t, s, signedIn(home), "third-token", remote{i.URL})
	if on := fileText(t, dir); !strings.Contains(on, "third-token") || len(r.entries) != 0 {
		t.Errorf("in the file: files %q, keyring %q", on, r.text())
	}
}

// Without a session bus there is no keyring, and none is started.
func TestWithoutADesktopTheKeyringSaysSo(t *testing.T) {
	t.Parallel()
	err := account.OSKeyring(func(string) string { return "" }).Set(t.Context(), "probe", secret.New("x"))
	if _, ok := errors.AsType[*account.KeyringError](err); !ok || !strings.Contains(err.Error(), "no D-Bus session bus") {
		t.Errorf("error %v", err)
	}
}

// The User's word for where tokens are kept holds for the home; what is no such word is an error and not a guess.
func TestTheHomeSaysWhereTokensAreKept(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]account.Place{"-": account.PlaceFile, "file": account.PlaceFile, "keyring\n": account.PlaceKeyring, "Keyring": "", "": ""} {
		dir := filepath.Join(t.TempDir(), "accounts")
		s := open(t, account.Config{Dir: dir})
		if word != "-" {
			if err := os.WriteFile(filepath.Join(dir, "place"), []byte(word), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if p, err := s.Preferred(); p != want || (err != nil) != (want == "") {
			t.Errorf("%q: %q, %v", word, p, err)
		}
	}
}
