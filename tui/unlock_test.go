package tui

import (
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/lock"
)

const passphrase = "alpine start 4am"

// newLock is a home's lock that the tests' passphrase opens, and its folder.
func newLock(t testing.TB) (*lock.Key, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "answers")
	key, err := lock.Make(dir, secret.New(passphrase), 2, noon(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key, dir
}

// lockedBy is the configuration at the home whose lock is in dir.
func lockedBy(dir string) func(*Config) {
	return func(c *Config) { c.Lock = func() (lock.Lock, error) { return lock.Load(dir) } }
}

// atTheLock has pressed a key on a question at a locked home.
func atTheLock(t testing.TB, w, h int, key string, configure ...func(*Config)) (*bench, *lock.Key) {
	t.Helper()
	k, dir := newLock(t)
	b := newBench(t, w, h, append([]func(*Config){lockedBy(dir), func(c *Config) { c.UntilDone = false }}, configure...)...)
	b.show(short(t))
	b.answer(key)
	return b, k
}

// answer presses an answer key as a person does.
func (b *bench) answer(key string) {
	b.toEnd()
	b.pass(time.Second)
	b.press(runes(key))
	b.pass(100 * time.Millisecond)
}

// open types a passphrase and presses Enter.
func (b *bench) open(text string) {
	b.type_(text)
	b.press(special(tea.KeyEnter))
}

// wantSigned checks the one answer and its signature, which is over the question that was shown.
func wantSigned(t testing.TB, given []approval.Answer, k *lock.Key, q attach.Question, approved bool) {
	t.Helper()
	if len(given) != 1 || given[0].Approved() != approved || given[0].Shown() != q.Request.Shows() {
		t.Fatalf("answers: %+v", given)
	}
	if err := k.Lock().Verify(q.Request.Statement(approved), given[0].Signature()); err != nil {
		t.Errorf("its signature: %v", err)
	}
}

func TestTheScreensThatAskForThePassphrase(t *testing.T) {
	for name, screen := range map[string]func(*bench){
		"empty": func(*bench) {},
		"typed": func(b *bench) { b.type_(passphrase) },
		"wrong": func(b *bench) { b.open("password123") },
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range sizes {
				b, _ := atTheLock(t, size.w, size.h, "a")
				screen(b)
				fitsScreen(t, b.text(), size.w, size.h)
				golden(t, fmt.Sprintf("passphrase-%s-%dx%d", name, size.w, size.h), b.text())
				b.wantNoText(passphrase)
				b.wantAnswers()
			}
		})
	}
}

func TestAtALockedHomeAnAnswerIsSignedOnceThePassphraseIsGiven(t *testing.T) {
	for key, approved := range map[string]bool{"a": true, "d": false} {
		b, k := atTheLock(t, 80, 24, key)
		b.wantText("Papaver asks for your passphrase")
		b.wantText("You pressed " + key)
		b.wantAnswers()
		b.open("password123")
		b.wantText("does not open the lock")
		b.wantAnswers()
		b.open(passphrase)
		wantSigned(t, b.feed.given(), k, short(t), approved)
	}
}

func TestTheKeyIsKeptForTheNextAnswerAndThenForgotten(t *testing.T) {
	for name, tc := range map[string]struct {
		between func(*bench)
		asks    bool
	}{
		"soon after":            {func(b *bench) { b.pass(time.Minute) }, false},
		"long after":            {func(b *bench) { b.at = b.at.Add(ForgetAfter); b.send(tickMsg{}) }, true},
		"the clock went back":   {func(b *bench) { b.at = b.at.Add(-ForgetAfter - time.Hour) }, true},
		"put aside by Ctrl+Z":   {func(b *bench) { b.press(special(suspendKey)); b.send(resumedMsg{}) }, true},
		"put aside by others":   {func(b *bench) { b.send(suspendMsg{}); b.send(resumedMsg{}) }, true},
		"stopped and continued": {func(b *bench) { b.send(continuedMsg{}); b.send(resumedMsg{}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := atTheLock(t, 80, 24, "a")
			b.open(passphrase)
			b.wantAnswers(true)
			b.send(viewMsg{viewOf()})
			tc.between(b)
			second := short(t)
			second.Request.ID = "q2"
			second.Request.Question.Deadline = b.at.Add(5 * time.Minute)
			b.show(second)
			b.answer("d")
			if tc.asks {
				b.wantAnswers(true)
				b.wantText("Papaver asks for your passphrase")
				return
			}
			b.wantAnswers(true, false)
		})
	}
}

func TestAHandedOverKeySignsWithoutAsking(t *testing.T) {
	k, dir := newLock(t)
	b := newBench(t, 80, 24, lockedBy(dir), func(c *Config) { c.Key = k })
	b.show(short(t))
	b.answer("a")
	wantSigned(t, b.feed.given(), k, short(t), true)
}

// What is pressed or happens while the passphrase is asked for answers nothing.
func TestNothingButThePassphraseSendsTheAnswer(t *testing.T) {
	changed, other := short, short
	for name, tc := range map[string]struct {
		do    func(*bench)
		shows string
	}{
		"Esc":         {func(b *bench) { b.type_(passphrase); b.press(special(tea.KeyEsc), special(tea.KeyEnter)) }, "You gave no passphrase. Nothing was answered"},
		"Enter alone": {func(b *bench) { b.press(special(tea.KeyEnter)) }, "Papaver asks for your passphrase"},
		"a and d":     {func(b *bench) { b.press(runes("a"), runes("d"), special(tea.KeyEnter)) }, "does not open the lock"},
		"cleared":     {func(b *bench) { b.type_(passphrase); b.press(special(tea.KeyCtrlU), special(tea.KeyEnter)) }, "Papaver asks for your passphrase"},
		"too small": {func(b *bench) {
			b.type_(passphrase)
			b.send(tea.WindowSizeMsg{Width: 30, Height: 10})
			b.press(special(tea.KeyEnter))
		}, "too small to"},
		"put aside": {func(b *bench) {
			b.type_(passphrase)
			b.press(special(suspendKey))
			b.send(resumedMsg{})
			b.press(special(tea.KeyEnter))
		}, "Papaver was put aside"},
		"it changed": {func(b *bench) {
			b.type_(passphrase)
			q := changed(b.t)
			q.Request.Question.Operation.Revision = "rev_2"
			b.show(q)
			b.press(special(tea.KeyEnter))
		}, "This question has changed"},
		"it closed": {func(b *bench) { b.type_(passphrase); b.show(); b.press(special(tea.KeyEnter)) }, "not open any more"},
		"it became another Company's": {func(b *bench) {
			b.type_(passphrase)
			q := other(b.t)
			q.Request.Question.Company.Domain = "elsewhere.test"
			b.show(q)
			b.press(special(tea.KeyEnter))
		}, "This question has changed"},
		"it expired": {func(b *bench) { b.at = b.at.Add(time.Hour); b.open(passphrase) }, "has expired"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := atTheLock(t, 100, 24, "a")
			tc.do(b)
			b.pass(time.Second)
			b.wantAnswers()
			b.wantText(tc.shows)
			if b.m.unlock == nil {
				return
			}
			if strings.Contains(tc.shows, "asks for") || strings.Contains(tc.shows, "open the lock") || strings.Contains(tc.shows, "too small") {
				return
			}
			t.Error("the passphrase is still asked for")
		})
	}
}

// After Esc the question is read again from its beginning, and the quiet time begins anew.
func TestAfterEscTheQuestionIsAskedAgain(t *testing.T) {
	b, _ := atTheLock(t, 80, 24, "a")
	b.press(special(tea.KeyEsc), runes("d"))
	b.pass(100 * time.Millisecond)
	if b.m.unlock != nil {
		t.Fatal("a key counted at once")
	}
	b.answer("d")
	b.wantText("You pressed d")
	b.wantAnswers()
}

// The passphrase comes while the lock is being tried: the User left, and what comes of it is dropped.
func TestALockThatOpensTooLateSignsNothing(t *testing.T) {
	b, k := atTheLock(t, 80, 24, "a")
	asked := b.m.unlock
	b.press(special(tea.KeyEsc))
	b.send(openedMsg{asked, k, nil})
	b.answer("d") // it is asked for again, and what comes of the first is no answer to that
	b.wantText("You pressed d")
	b.send(openedMsg{asked, k, nil})
	b.wantAnswers()
	if b.m.keeper.key != nil {
		t.Error("the key was kept")
	}
}

func TestALockThatIsNotTheUsersIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		lock  func(dir string) (lock.Lock, error)
		desk  error
		shows string
	}{
		"it can't be read":       {func(string) (lock.Lock, error) { return lock.Lock{}, errors.New("no") }, nil, "could not be read"},
		"the desk knows another": {lock.Load, lock.ErrSignature, "not signed with the lock that this task knows"},
	} {
		t.Run(name, func(t *testing.T) {
			k, dir := newLock(t)
			b := newBench(t, 100, 30, func(c *Config) {
				c.Lock, c.Key = func() (lock.Lock, error) { return tc.lock(dir) }, k
			})
			b.feed.err = tc.desk
			b.show(short(t))
			b.answer("a")
			b.wantText(tc.shows)
			if b.m.place != atQuestion {
				t.Error("the question is gone from the screen")
			}
		})
	}
}

// A key that is open is no good any more when the home has another lock.
func TestAnotherLockIsAskedForAnew(t *testing.T) {
	earlier, _ := newLock(t)
	k, dir := newLock(t)
	b := newBench(t, 80, 24, lockedBy(dir), func(c *Config) { c.Key = earlier })
	b.show(short(t))
	b.answer("a")
	b.wantText("Papaver asks for your passphrase")
	b.wantAnswers()
	b.open(passphrase)
	wantSigned(t, b.feed.given(), k, short(t), true)
}

// One that was taken away is still what a run that knows it asks for.
func TestAKeySignsOnWhenTheLockIsTakenAway(t *testing.T) {
	k, _ := newLock(t)
	b := newBench(t, 80, 24, lockedBy(t.TempDir()), func(c *Config) { c.Key = k })
	b.show(short(t))
	b.answer("d")
	wantSigned(t, b.feed.given(), k, short(t), false)
}

// What the Companies screen does at a locked home needs the same passphrase.
func TestSigningInAndOutAsksForThePassphraseToo(t *testing.T) {
	k, dir := newLock(t)
	b, accounts := atTheCompanies(t, 80, 24, lockedBy(dir))
	b.press(runes("s"))
	b.wantText("Papaver asks for your passphrase")
	golden(t, "passphrase-companies-80x24", b.text())
	if len(accounts.asked) > 0 {
		t.Fatalf("asked %q before", accounts.asked)
	}
	b.press(special(tea.KeyEsc))
	b.wantText("The lock was not opened")
	b.press(runes("s"))
	b.type_(passphrase)

	// A question comes to the front meanwhile, and what was typed is no part of it.
	b.show(short(t))
	b.wantText("you were typing")
	b.press(special(tea.KeyEnter), runes("q"))
	b.wantText("A question came while the passphrase was asked for")
	b.press(runes("s"))
	b.open(passphrase)
	if len(accounts.asked) != 1 || accounts.keys[0].Lock().Fingerprint() != k.Lock().Fingerprint() {
		t.Errorf("asked %q with %v", accounts.asked, accounts.keys)
	}
	b.wantAnswers()
}

func TestThePlainWayAsksForThePassphraseToo(t *testing.T) {
	for name, tc := range map[string]struct {
		do   func(*plainBench)
		says string
		want bool
	}{
		"right": {func(b *plainBench) { b.types(passphrase); b.press(special(tea.KeyEnter)) }, "You approved", true},
		"wrong, then right": {func(b *plainBench) {
			b.types("password123")
			b.press(special(tea.KeyEnter))
			b.types(passphrase)
			b.press(special(tea.KeyEnter))
		}, "does not open the lock", true},
		"Esc":    {func(b *plainBench) { b.types(passphrase); b.press(special(tea.KeyEsc)); b.press(special(tea.KeyEnter)) }, "You gave no passphrase", false},
		"closed": {func(b *plainBench) { b.types(passphrase); b.send(viewMsg{viewOf()}); b.press(special(tea.KeyEnter)) }, "not open any more", false},
		"put aside": {func(b *plainBench) {
			b.types(passphrase)
			b.send(suspendMsg{})
			b.send(resumedMsg{})
			b.press(special(tea.KeyEnter))
		}, "Papaver asks for your answer", false},
	} {
		t.Run(name, func(t *testing.T) {
			k, dir := newLock(t)
			b := newPlainBench(t, 80, 40, lockedBy(dir))
			b.send(viewMsg{viewOf(short(t))})
			b.pass(time.Second)
			b.press(runes("a"))
			text := b.text()
			if !strings.Contains(text, "Papaver asks for your passphrase") || len(b.feed.given()) > 0 {
				t.Fatalf("answers %v after\n%s", b.feed.given(), text)
			}
			tc.do(b)
			if text = b.text(); !strings.Contains(text, tc.says) || strings.Contains(text, passphrase) {
				t.Errorf("%q is not said, or the passphrase is:\n%s", tc.says, text)
			}
			if !tc.want {
				if given := b.feed.given(); len(given) > 0 {
					t.Fatalf("answers %v after\n%s", given, text)
				}
				return
			}
			wantSigned(t, b.feed.given(), k, short(t), true)
			if name == "right" {
				golden(t, "plain-passphrase-80x40", strings.ReplaceAll(text, "\r\n", "\n"))
			}
		})
	}
}

// types presses the keys of a text one by one.
func (b *plainBench) types(text string) {
	for _, r := range text {
		b.send(runes(string(r)))
	}
}
