package session_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/session"
)

func integer(b []byte) string { return new(big.Int).SetBytes(b).String() }

// childHome tells the test binary to be a second process that wants a User ID in that home.
const childHome = "PAPAVER_TEST_USER_ID_HOME"

// TestMain lets the test binary be a process of its own that makes a User ID.
func TestMain(m *testing.M) {
	dir := os.Getenv(childHome)
	if dir == "" {
		os.Exit(m.Run())
	}
	id, err := userIDUnderLock(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprint(os.Stdout, id)
	os.Exit(0)
}

func userIDUnderLock(dir string) (string, error) {
	h, err := home.Open(dir)
	if err != nil {
		return "", err
	}
	unlock, err := h.Lock(context.Background())
	if err != nil {
		return "", err
	}
	defer unlock()
	return session.UserID(h.Identity(), issuer, v1, rand.Reader)
}

// Clauses: C10-3.06, C10-4.05, S01-4.2.01, S01-4.2.02, S01-4.2.03, S01-4.2.04
func TestAUserIDIsRandomStableAndAnotherOneForEachIssuer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "identity")
	seen := make(map[string]string)
	for _, at := range []string{"https://a.example/", "https://a.example", "https://A.example/", "https://b.example/", "https://a.example/t"} {
		id, err := session.UserID(dir, at, v1, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(`^usr_[A-Za-z0-9_-]{22}$`).MatchString(id) {
			t.Errorf("%s: %q", at, id)
		}
		if other, twice := seen[id]; twice {
			t.Errorf("%s and %s have one User ID", at, other)
		}
		seen[id] = at
	}
	for id, at := range seen {
		if again, err := session.UserID(dir, at, v1, failing{errors.New("not needed")}); err != nil || again != id {
			t.Errorf("%s: %q became %q, %v", at, id, again, err)
		}
	}
	// Derived from nothing: another home has other ones for the same issuers.
	for _, at := range seen {
		id, err := session.UserID(filepath.Join(t.TempDir(), "identity"), at, v1, rand.Reader)
		if err != nil || seen[id] != "" {
			t.Errorf("%s: %q again in another home, %v", at, id, err)
		}
	}
}

func TestAUserIDIsNotMadeOverAFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, damaged := range []string{"", "{", "[]", "null", `{"https://auth.example/": 7}`, `{"a":"x","a":"y"}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, "users.json")
		if err := os.WriteFile(path, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if id, err := session.UserID(dir, issuer, v1, rand.Reader); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %q, %v", damaged, id, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != damaged {
			t.Errorf("%q became %q, %v", damaged, after, err)
		}
	}
	broken := errors.New("no randomness")
	dir := t.TempDir()
	if _, err := session.UserID(dir, issuer, v1, failing{broken}); !errors.Is(err, broken) {
		t.Errorf("err = %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "users.json")); err == nil {
		t.Error("a file was written without an ID")
	}
}

// Clauses: C10-4.05
func TestProcessesThatMakeAUserIDAtOnceGetTheSameOne(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "home")
	type process struct {
		cmd    *exec.Cmd
		stdout strings.Builder
	}
	processes := make([]*process, 4)
	for i := range processes {
		p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0])}
		p.cmd.Env = append(os.Environ(), childHome+"="+dir)
		p.cmd.Stdout, p.cmd.Stderr = &p.stdout, os.Stderr
		processes[i] = p
	}
	for _, p := range processes {
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	ids := make(map[string]bool)
	for _, p := range processes {
		if err := p.cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		ids[p.stdout.String()] = true
	}
	if len(ids) != 1 || ids[""] {
		t.Errorf("IDs %v", ids)
	}
}
