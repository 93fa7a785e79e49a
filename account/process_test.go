package account_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/session"
)

// The environment of a child of these tests, which refreshes as often as it is told.
const childDir, childURL, childTimes = "ACCOUNT_TEST_DIR", "ACCOUNT_TEST_URL", "ACCOUNT_TEST_TIMES"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(refreshing(dir))
	}
	os.Exit(m.Run())
}

func refreshing(dir string) int {
	s, err := account.Open(account.Config{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	times, _ := strconv.Atoi(os.Getenv(childTimes))
	for range times {
		if _, err := s.Refresh(context.Background(), home, remote{os.Getenv(childURL)}, account.Request{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return 0
}

// child is another process on the same home.
func child(t *testing.T, dir, url string, times int) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir, childURL+"="+url, fmt.Sprintf("%s=%d", childTimes, times))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// Two processes share a token that is good for one use: each waits for the other, and none sends a spent one
// (field report 80).
//
// Clauses: S01-4.8.07
func TestProcessesRefreshOneTokenOneAtATime(t *testing.T) {
	t.Parallel()
	const processes, times = 3, 15
	i := newIssuer(t, "first")
	dir := filepath.Join(t.TempDir(), "accounts")
	s := open(t, account.Config{Dir: dir})
	keep(t, s, signedIn(home), "first", remote{i.URL})
	var children []*exec.Cmd
	for range processes {
		children = append(children, child(t, dir, i.URL, times))
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Errorf("a process: %v", err)
		}
	}
	if n := len(i.used()); n != processes*times || i.most != 1 {
		t.Errorf("%d refreshes, at most %d at once; want %d, one at a time", n, i.most, processes*times)
	}
}

// A process that is killed between the Company's answer and the disk loses the new token. The next one is told so, and
// not only that the sign-in has ended.
func TestARefreshThatWasCutShortIsTold(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "first")
	i.released = make(chan struct{})
	dir := filepath.Join(t.TempDir(), "accounts")
	s := open(t, account.Config{Dir: dir})
	keep(t, s, signedIn(home), "first", remote{i.URL})
	c := child(t, dir, i.URL, 1)
	<-i.arrived // the Company has exchanged the token
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	close(i.released)
	if a, err := s.Find(home); err != nil || a.Interrupted.IsZero() {
		t.Errorf("Find says %+v, %v", a, err)
	}
	_, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{})
	if ended, ok := errors.AsType[*account.EndedError](err); !ok || ended.Interrupted.IsZero() {
		t.Errorf("error %v", err)
	}
}

// Wherever a process is killed, what it leaves is whole (field report 93).
func TestAKilledProcessLeavesAWholeStore(t *testing.T) {
	t.Parallel()
	i := newIssuer(t, "first")
	i.grace = true // so that a token that was lost on its way does not end the test
	dir := filepath.Join(t.TempDir(), "accounts")
	s := open(t, account.Config{Dir: dir})
	keep(t, s, signedIn(home), "first", remote{i.URL})
	for n := range 25 {
		c := child(t, dir, i.URL, 1000)
		for range n%5 + 1 {
			<-i.arrived
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.Wait()
		drain(i.arrived)
		if _, err := s.Refresh(t.Context(), home, remote{i.URL}, account.Request{}); err != nil {
			t.Fatalf("after kill %d: %v", n, err)
		}
		drain(i.arrived)
	}
}

func drain(c chan struct{}) {
	for {
		select {
		case <-c:
		default:
			return
		}
	}
}

// beside answers a refresh with an error and a new token.
type beside struct{ remote }

func (b beside) Refresh(ctx context.Context, token secret.Text, sessionID string, scope []string, key *session.ProofKey) (session.Grant, error) {
	g, err := b.remote.Refresh(ctx, token, sessionID, scope, key)
	if err != nil {
		return session.Grant{}, err
	}
	return session.Grant{AccountToken: g.AccountToken}, session.ErrUnreadable
}
