package home_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/home"
)

// childHome tells the test binary to be another process, which holds that home's lock until its input ends.
const childHome = "PAPAVER_TEST_LOCKED_HOME"

// TestMain lets the test binary be another process that holds the lock.
func TestMain(m *testing.M) {
	dir := os.Getenv(childHome)
	if dir == "" {
		os.Exit(m.Run())
	}
	h, err := home.Open(dir)
	if err == nil {
		_, err = h.Lock(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = fmt.Fprintln(os.Stdout, "locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0) // the lock goes with the process
}

func TestDefaultFollowsTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  map[string]string
		want string // empty: an error
	}{
		"PAPAVER_HOME":            {map[string]string{"PAPAVER_HOME": "/p", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/p"},
		"XDG_STATE_HOME":          {map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/papaver"},
		"HOME":                    {map[string]string{"HOME": "/h"}, "/h/.local/state/papaver"},
		"a relative XDG folder":   {map[string]string{"XDG_STATE_HOME": "x", "HOME": "/h"}, "/h/.local/state/papaver"},
		"empty ones":              {map[string]string{"PAPAVER_HOME": "", "XDG_STATE_HOME": "", "HOME": "/h"}, "/h/.local/state/papaver"},
		"nothing":                 {nil, ""},
		"a relative XDG one only": {map[string]string{"XDG_STATE_HOME": "x"}, ""},
	} {
		got, err := home.Default(func(name string) string { return tc.env[name] })
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tc.want)
		}
	}
}

// TestTheHomeIsOursAloneWhateverTheUmask changes the process's umask, so nothing runs beside it.
func TestTheHomeIsOursAloneWhateverTheUmask(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "home")
	old := syscall.Umask(0)
	h, err := home.Open(dir)
	var unlock func()
	if err == nil {
		unlock, err = h.Lock(t.Context())
	}
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Dir(dir): 0o700, filepath.Join(dir, "lock"): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %04o", path, info.Mode(), err, want)
		}
	}
	for _, folder := range []string{h.Identity(), h.Ledger(), h.Run()} {
		if filepath.Dir(folder) != h.Dir() {
			t.Errorf("%s is not in the home", folder)
		}
	}
}

// A home of a newer program is refused before anything in it is read, and is left as it is; one from before there were
// versions is of the first.
func TestAHomeOfANewerVersionIsRefusedAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file string // "": none
		ok   bool
	}{
		"none, from before":    {"", true},
		"ours":                 {"papaver home 1\n", true},
		"a newer one":          {"papaver home 2\n", false},
		"an unfinished one":    {"papaver home 1", false},
		"something else":       {"x", false},
		"one that never ends":  {"papaver home 1\n" + strings.Repeat("x", 1<<20), false},
		"a version like ours":  {"papaver home 11\n", false},
		"emptied by something": {"\x00", false},
	} {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "version")
		if err := os.WriteFile(filepath.Join(dir, "lock"), nil, 0o600); err != nil { // it is used already
			t.Fatal(err)
		}
		if tc.file != "" {
			if err := os.WriteFile(path, []byte(tc.file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			_, err := home.Open(dir)
			if errors.Is(err, home.ErrVersion) == tc.ok || tc.ok && err != nil {
				t.Errorf("%s: err = %v", name, err)
			}
		}
		want := tc.file
		if want == "" {
			want = "papaver home 1\n"
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: the file says %.40q, %v", name, got, err)
		}
	}
}

func TestAHomeThatOthersCanEnterIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Open(dir); !errors.Is(err, durable.ErrLoose) {
		t.Errorf("err = %v", err)
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Open(path); err == nil {
		t.Error("a file is a home")
	}
}

func open(t *testing.T) home.Home {
	t.Helper()
	h, err := home.Open(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// wantLocked fails the test unless somebody holds the lock.
func wantLocked(t *testing.T, h home.Home) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := h.Lock(ctx); !errors.Is(err, home.ErrLocked) {
		t.Errorf("err = %v, want ErrLocked", err)
	}
}

func TestTheLockIsHeldUntilItIsGivenBack(t *testing.T) {
	t.Parallel()
	h := open(t)
	unlock, err := h.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantLocked(t, h)
	type result struct {
		unlock func()
		err    error
	}
	next := make(chan result, 1)
	go func() {
		unlock, err := h.Lock(context.Background())
		next <- result{unlock, err}
	}()
	unlock()
	unlock() // a second time changes nothing
	r := <-next
	if r.err != nil {
		t.Fatal(r.err)
	}
	wantLocked(t, h)
	unlock()
	wantLocked(t, h)
	r.unlock()
}

func TestAnotherProcessHoldsTheLockUntilItEnds(t *testing.T) {
	t.Parallel()
	h := open(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), childHome+"="+h.Dir()), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "locked\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	wantLocked(t, h)
	if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	unlock, err := h.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
