package tui

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/signin"
)

// record keeps all that a pseudo-terminal was sent, beside what stands on its screen.
func (s *terminal) record() func() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = new(strings.Builder)
	return func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.sent.String()
	}
}

// mediated asks for credentials and a code, as a Mediated Sign-In does, and gives what came to got.
func mediated(got chan<- string) func(context.Context, Choice, signin.UI) (signin.Result, error) {
	return func(ctx context.Context, _ Choice, ui signin.UI) (signin.Result, error) {
		given, err := ui.Credentials(ctx, credentials())
		if err != nil {
			got <- "stopped"
			return signin.Result{}, err
		}
		code, err := ui.OneTimeCode(ctx, signin.OneTimePrompt{Party: stormline()})
		if err != nil {
			got <- "stopped"
			return signin.Result{}, err
		}
		got <- string(given["email"]) + " " + string(given["password"]) + " " + string(code)
		return signedInResult(), nil
	}
}

func startSigningIn(t *testing.T, got chan<- string) (*running, func() string) {
	f := newFakeAccounts()
	f.offers.Types = f.offers.Types[2:]
	f.signIn = mediated(got)
	r := start(t, func(ctx context.Context, cfg Config) error {
		cfg.Accounts = f
		return Run(ctx, cfg)
	}, 80, 30, false)
	sent := r.record()
	r.feed.views <- attach.View{Tasks: []attach.Task{jacketTask()}}
	r.waitFor("c Companies")
	r.press("c")
	r.waitFor("s sign in again")
	r.press("s")
	r.waitFor("“Email”")
	return r, sent
}

// What is typed for a secret field goes to the sign-in, and no byte of it to the terminal; neither while it is typed nor
// at the end.
//
// Clauses: S01-4.7.02
func TestASecretIsNeverSentToTheTerminal(t *testing.T) {
	got := make(chan string, 1)
	r, sent := startSigningIn(t, got)
	r.press("dana@example.org")
	r.waitFor("> dana@example.org_")
	r.press("\r")
	r.waitFor("“Password”")
	for _, c := range "alpine start 4am" {
		r.press(string(c))
	}
	r.waitFor("typed; it is not shown")
	r.press("\r")
	r.waitFor("The one-time code")
	r.press("\x1b[200~314159\x1b[201~") // pasted
	r.waitFor("typed; it is not shown")
	r.press("\r")
	r.waitFor("signed in as work")
	if text := <-got; text != "dana@example.org alpine start 4am 314159" {
		t.Errorf("the sign-in got %q", text)
	}
	r.press("\x03")
	if err := r.end(); err != nil {
		t.Fatalf("Run: %v", err)
	}
	for _, secret := range []string{"alpine", "4am", "314159", "start 4"} {
		if strings.Contains(sent(), secret) || strings.Contains(r.text(), secret) {
			t.Errorf("%q was sent to the terminal", secret)
		}
	}
	r.wantRestored()
}

// Esc twice, Ctrl+C and a closed terminal each end the sign-in, and nothing of it goes on.
func TestHoweverTheUserLeavesTheSignInEnds(t *testing.T) {
	for name, leave := range map[string]func(*running){
		"Esc twice": func(r *running) { r.press("\x1b"); r.waitFor("Press Esc once more"); r.press("\x1b") },
		"Ctrl+C":    func(r *running) { r.press("\x03") },
		"hang-up":   func(r *running) { _ = r.master.Close() },
		"context":   func(r *running) { r.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			got := make(chan string, 1)
			r, _ := startSigningIn(t, got)
			r.press("dana")
			r.waitFor("> dana_")
			leave(r)
			select {
			case text := <-got:
				if text != "stopped" {
					t.Errorf("the sign-in got %q", text)
				}
			case <-time.After(ptyTimeout):
				t.Fatal("the sign-in goes on")
			}
			if name == "Esc twice" {
				r.waitFor("Nothing was signed in.")
				return
			}
			if err := r.end(); err != nil && !errors.Is(err, ErrHangUp) && !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
				t.Errorf("Run: %v", err)
			}
		})
	}
}

// On a real terminal too a question comes to the front of a sign-in, which goes on behind it.
func TestAQuestionComesToTheFrontOfASignIn(t *testing.T) {
	got := make(chan string, 1)
	r, _ := startSigningIn(t, got)
	r.press("dan")
	r.waitFor("> dan_")
	r.feed.views <- viewOf(live(short(t)))
	r.waitFor("you were typing: press an arrow key first")
	r.press("a")
	r.press("\x1b[B")
	r.waitFor("a approve")
	if len(r.feed.given()) != 0 {
		t.Fatalf("answers: %+v", r.feed.given())
	}
	r.press("q")
	r.waitFor("> dan_")
	r.press("a\r")
	r.waitFor("“Password”")
	r.press("x\r")
	r.waitFor("The one-time code")
	r.press("1\r")
	if text := <-got; text != "dana x 1" {
		t.Errorf("the sign-in got %q", text)
	}
	if len(r.feed.given()) != 0 {
		t.Fatalf("answers: %+v", r.feed.given())
	}
}
