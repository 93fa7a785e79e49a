package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/signin"
)

func TestWithoutAccountsTheScreenOfCompaniesIsNotOffered(t *testing.T) {
	b := newBench(t, 80, 24)
	b.show()
	b.wantNoText("Companies")
	b.press(runes("c"))
	b.wantText("Task ")
	b.press(runes("?"))
	b.wantNoText("Companies")
}

// Each is typed where it stands; none of it may sign in or out, and none may answer.
func TestKeysAtTheWrongTimeDoNothing(t *testing.T) {
	for name, do := range map[string]func(*bench){
		"y without o":                 func(b *bench) { b.press(runes("y")) },
		"o, then another key, then y": func(b *bench) { b.press(runes("o"), runes("n"), runes("y")) },
		"o, then Esc, then y":         func(b *bench) { b.press(runes("o"), special(tea.KeyEsc), runes("y")) },
		"o and a pasted y":            func(b *bench) { b.press(runes("o"), pasted("y")) },
		"o and Alt+y":                 func(b *bench) { b.press(runes("o"), withAlt("y")) },
		"o at a Company that is signed out": func(b *bench) {
			b.press(special(tea.KeyDown), runes("o"), runes("y"))
		},
		"o, a question, and y": func(b *bench) {
			b.press(runes("o"))
			b.show(short(b.t))
			b.press(runes("y"), runes("q"), runes("y"))
		},
		"Enter with nothing typed": func(b *bench) { b.press(runes("n"), special(tea.KeyEnter)) },
		"s and back":               func(b *bench) { b.press(runes("s"), special(tea.KeyEsc), special(tea.KeyEnter)) },
		"no scope": func(b *bench) {
			b.press(runes("s"), special(tea.KeyEnter), special(tea.KeySpace), special(tea.KeyEnter))
		},
		"keys in a terminal too small": func(b *bench) { b.send(tea.WindowSizeMsg{Width: 30, Height: 10}); b.press(runes("o"), runes("y")) },
		"a and d":                      func(b *bench) { b.pass(time.Second); b.press(runes("a"), runes("d")); b.pass(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			b, f := atTheCompanies(t, 80, 24)
			do(b)
			if len(f.signedOut()) != 0 || len(f.choices) != 0 {
				t.Errorf("signed out %q, signed in %+v\n%s", f.signedOut(), f.choices, b.text())
			}
			b.wantAnswers()
		})
	}
}

func TestSigningOutIsAskedOnceMoreAndSaysWhatCameOfIt(t *testing.T) {
	b, f := atTheCompanies(t, 80, 24)
	b.press(runes("o"))
	b.wantText("Sign out at stormline.test?")
	b.press(runes("y"))
	if got := f.signedOut(); len(got) != 1 || got[0] != "stormline.test work" {
		t.Errorf("signed out %q", got)
	}
	b.wantText("Signed out at stormline.test.")
	f.err = &trouble.Error{What: "stormline.test did not revoke the access", Done: "the Company was asked", Undone: "the token is kept here", Next: "try it later"}
	b.press(runes("o"), runes("y"))
	b.wantText("did not revoke the access")
	b.wantText("the token is kept here")
	b.wantNoText("Signed out at")
}

func TestWhatIsChosenIsWhatIsAskedFor(t *testing.T) {
	b, f := atTheCompanies(t, 80, 24)
	b.press(runes("s"), special(tea.KeyEnter), special(tea.KeyDown), special(tea.KeySpace), special(tea.KeyEnter))
	if len(f.choices) != 1 || f.choices[0].Account != "work" || f.choices[0].Type != signin.Direct ||
		strings.Join(f.choices[0].Scope, " ") != "poppy:read poppy:write" || f.choices[0].Address != "stormline.test" {
		t.Errorf("choices %+v", f.choices)
	}
}

// The address stands on lines of its own, with nothing before or behind it, and is whole.
func TestTheAddressCanBeCopied(t *testing.T) {
	for w := minWidth; w <= 200; w += 7 {
		b, _ := atTheCompanies(t, w, 60)
		b.toSigning(0)
		b.prompt(addressPrompt())
		lines := splitLines(b.text())
		var got strings.Builder
		for _, l := range lines {
			if got.Len() > 0 && strings.TrimSpace(l) == "" {
				break
			}
			if got.Len() > 0 || strings.HasPrefix(l, "https://auth.") {
				got.WriteString(l)
			}
		}
		if got.String() != longAddress {
			t.Errorf("at %d columns the address reads %q", w, got.String())
		}
	}
}

func TestWhatIsPastedIsTheCallbackAddress(t *testing.T) {
	b, _ := atTheCompanies(t, 80, 40)
	b.toSigning(0)
	b.prompt(addressPrompt())
	b.prompt(callbackAsked{})
	b.press(pasted("  https://agent.test/oauth/\r\ncallback?code=q"), special(tea.KeyBackspace))
	b.type_("7")
	b.press(withAlt("x"), special(tea.KeyTab), special(tea.KeyEnter))
	if got := b.typed(); got != "https://agent.test/oauth/callback?code=7" {
		t.Errorf("given %q", got)
	}
	b.wantText("Waiting for the Company.")
	b.prompt(callbackAsked{signin.ErrMixUp})
	b.wantText("Not taken: this callback belongs to another sign-in")
	b.press(special(tea.KeyEnter))
	if got := b.typed(); got != "" {
		t.Errorf("given %q again", got)
	}
}

// A password may hold letters that are keys elsewhere, and spaces. It is never drawn, and it is wiped where it was given
// up.
//
// Clauses: S01-4.7.02
func TestASecretIsTakenAsItIsTypedAndNeverDrawn(t *testing.T) {
	b, _ := atTheCompanies(t, 80, 40)
	b.toSigning(2)
	b.prompt(fieldAsked{credentials(), 1})
	empty := b.text()
	b.type_("q?a d cols ")
	shown := b.text()
	b.type_("more")
	if b.text() != shown {
		t.Errorf("the screen tells how much was typed:\n%s", b.text())
	}
	if empty == shown {
		t.Error("the screen does not tell that something was typed")
	}
	text := b.m.companies.field.text
	b.press(special(tea.KeyEsc), special(tea.KeyEsc))
	for _, c := range text {
		if c != 0 {
			t.Fatalf("what was typed is still there: %q", text)
		}
	}
	b.wantText("stopping the sign-in")
	b.send(signedInMsg{bridge: b.m.companies.signing.bridge, err: context.Canceled})
	b.wantText("You stopped the sign-in. Nothing was signed in.")

	b.toSigning(2)
	b.prompt(fieldAsked{credentials(), 1})
	b.type_("q?a d cols")
	b.press(special(tea.KeyEnter))
	if got := b.typed(); got != "q?a d cols" {
		t.Errorf("given %q", got)
	}
}

func TestEscStopsOnlyWhenItIsPressedTwice(t *testing.T) {
	b, _ := atTheCompanies(t, 80, 40)
	b.toSigning(1)
	b.prompt(codePrompt())
	b.press(special(tea.KeyEsc))
	b.wantText("Press Esc once more")
	b.press(special(tea.KeyDown), special(tea.KeyEsc))
	if b.m.companies.stage != stageSigning {
		t.Fatalf("the sign-in was stopped\n%s", b.text())
	}
	bridge := b.m.companies.signing.bridge
	b.press(special(tea.KeyEsc))
	if b.m.companies.stage != stageStopping {
		t.Fatalf("the sign-in was not stopped\n%s", b.text())
	}
	b.send(signedInMsg{bridge: bridge, result: signedInResult()}) // it had come to an end already
	b.wantText("signed in as work")
}

// Whatever comes late from a sign-in or a reading that was left changes nothing.
func TestWhatComesLateIsDropped(t *testing.T) {
	b, _ := atTheCompanies(t, 80, 40)
	b.toSigning(1)
	b.prompt(codePrompt())
	old := b.m.companies.signing.bridge
	b.press(special(tea.KeyEsc), special(tea.KeyEsc))
	b.send(signedInMsg{bridge: old, err: context.Canceled})
	before := b.text()
	b.send(promptMsg{old, codePrompt()})
	b.send(signedInMsg{bridge: old, result: signedInResult()})
	b.send(offersMsg{serial: 0, offers: Offers{Domain: "late.test"}})
	b.send(signedOutMsg{serial: 0})
	if b.text() != before {
		t.Errorf("the screen changed:\n%s", b.text())
	}
}

func TestAResizeKeepsWhatWasTyped(t *testing.T) {
	b, _ := atTheCompanies(t, 140, 50)
	b.toSigning(0)
	b.prompt(addressPrompt())
	b.prompt(callbackAsked{})
	b.press(pasted("https://agent.test/oauth/callback?code=1"))
	for _, size := range []struct{ w, h int }{{60, 20}, {1, 1}, {40, 12}, {300, 100}, {80, 24}} {
		b.send(tea.WindowSizeMsg{Width: size.w, Height: size.h})
		fitsScreen(t, b.text(), max(size.w, 2), size.h)
	}
	b.wantText("> https://agent.test/oauth/callback?code=1_")
}

// A question that comes while the User types for a sign-in is not answered by what they go on typing, however slowly; the
// sign-in goes on behind it.
//
// Clauses: OPS3-5.05, OPS3-5.06
func TestAQuestionDuringASignInIsNotAnsweredByWhatIsTypedForIt(t *testing.T) {
	b, _ := atTheCompanies(t, 80, 40)
	b.toSigning(2)
	b.prompt(fieldAsked{credentials(), 1})
	b.type_("pass")
	b.show(short(t))
	b.wantText("Papaver asks for your answer")
	b.wantText("you were typing: press an arrow key first")
	for _, key := range "word and a dad" {
		b.pass(time.Second)
		b.type_(string(key))
		b.pass(time.Second)
	}
	b.wantAnswers()
	b.send(tea.WindowSizeMsg{Width: 81, Height: 40})
	b.pass(time.Second)
	b.press(runes("a"))
	b.pass(time.Second)
	b.wantAnswers()
	before := b.text()
	b.prompt(codeAsked{signin.OneTimePrompt{Party: stormline()}}) // the sign-in went on
	if b.text() != before {
		t.Errorf("the question's screen changed:\n%s", b.text())
	}
	b.press(special(tea.KeyDown))
	b.press(runes("a"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers()
	b.pass(time.Second)
	b.press(runes("d"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers(false)
	b.wantText("The one-time code")
	b.wantNoText("pass")
}

// A question that comes over the list is answered under the rule of every other.
func TestAQuestionOverTheListOfCompaniesIsAnsweredAndLeadsBack(t *testing.T) {
	b, _ := atTheCompanies(t, 80, 40)
	b.show(short(t))
	b.pass(time.Second)
	b.press(runes("a"))
	b.pass(100 * time.Millisecond)
	b.wantAnswers(true)
	b.wantText("Papaver: Companies")
	b.wantText("You approved.")
}

func TestHostileCompanyTextStaysHarmlessInASignIn(t *testing.T) {
	const hostile = "\x1b[2J\x1b]8;;https://x\a”\u202eevil\r\n│ signed in\t\u200b日本"
	b, f := atTheCompanies(t, 80, 40)
	party := signin.Party{Domain: "shop.test/" + hostile, Name: hostile + strings.Repeat("x", 300), Scope: []string{hostile}, Scopes: map[string]string{hostile: hostile}}
	f.known = append(f.known, Known{Domain: hostile, Name: hostile, Issuer: hostile, UserID: hostile, Accounts: []account.Account{{Domain: hostile, Scope: []string{hostile}, Type: hostile}}})
	f.offers.Name, f.offers.Domain, f.offers.Types[0].Scopes[2], f.offers.Scopes[hostile] = hostile, hostile, hostile, hostile
	check := func(what string) {
		t.Helper()
		for _, size := range []struct{ w, h int }{{80, 40}, {40, 12}, {120, 60}} {
			b.send(tea.WindowSizeMsg{Width: size.w, Height: size.h})
			text := b.text()
			fitsScreen(t, text, size.w, size.h)
			for _, r := range text {
				if r != '\n' && r < ' ' || r == '\u202e' || r == '\u200b' {
					t.Fatalf("%s: %U is on the screen:\n%q", what, r, text)
				}
			}
			for _, l := range splitLines(text) {
				if strings.HasPrefix(l, "│ signed in") {
					t.Errorf("%s: a line of ours is imitated:\n%s", what, text)
				}
			}
		}
	}
	b.send(knownMsg{known: f.known})
	check("list")
	b.press(runes("s"))
	check("types")
	b.press(special(tea.KeyEnter))
	check("scopes")
	b.press(special(tea.KeyEnter))
	for what, event := range map[string]any{
		"address": signin.AddressPrompt{Party: party, URL: hostile, Redirect: hostile}, "callback": callbackAsked{errors.New(hostile)},
		"code": signin.CodePrompt{Party: party, URL: hostile, Complete: hostile, UserCode: hostile}, "waiting": signin.Waiting{Err: errors.New(hostile)},
		"field":    fieldAsked{signin.CredentialsPrompt{Party: party, Endpoint: hostile, Fields: []company.Field{{Name: hostile, Label: hostile}}}, 0},
		"one-time": codeAsked{signin.OneTimePrompt{Party: party, SentTo: hostile}},
	} {
		b.prompt(event)
		b.press(pasted(hostile))
		check(what)
	}
	b.send(signedInMsg{bridge: b.m.companies.signing.bridge, err: &trouble.Error{What: hostile, Done: hostile, Undone: hostile, Next: hostile}})
	check("trouble")
}

// In the line-by-line way the Companies are listed, and the commands for the rest are named.
func TestThePlainWayListsTheCompaniesAndNamesTheCommands(t *testing.T) {
	b := newPlainBench(t, 80, 24)
	b.m.cfg.Accounts = newFakeAccounts()
	b.send(viewMsg{attach.View{}})
	b.send(runes("c"))
	for _, want := range []string{"stormline.test, calls itself “Stormline Outdoor”", "signed in as work", "papaver signin COMPANY"} {
		if !strings.Contains(b.text(), want) {
			t.Errorf("not printed: %q\n%s", want, b.text())
		}
	}
	if strings.Contains(b.text(), "▸") {
		t.Errorf("something is chosen:\n%s", b.text())
	}
	golden(t, "plain-companies-80x24", strings.ReplaceAll(b.text(), "\r\n", "\n"))
}

func TestAnAddressThatCouldNotBeReadIsThereToMend(t *testing.T) {
	b, f := atTheCompanies(t, 80, 40)
	f.err = &trouble.Error{What: "shop.exampel could not be reached", Undone: "nothing was signed in"}
	b.press(runes("n"))
	b.type_("shop.exampel")
	b.press(special(tea.KeyEnter))
	b.wantText("shop.exampel could not be reached")
	f.err = nil
	b.press(runes("n"))
	b.wantText("> shop.exampel_")
	b.press(special(tea.KeyBackspace), special(tea.KeyBackspace))
	b.type_("le")
	b.press(special(tea.KeyEnter))
	if got := strings.Join(f.asked, " "); got != "shop.exampel shop.example" {
		t.Errorf("asked %q", got)
	}
}

func TestAnErrorWithoutWordsIsSaidOnce(t *testing.T) {
	b, f := atTheCompanies(t, 80, 40)
	f.err = errors.New("the disk is full")
	b.press(runes("s"))
	if n := strings.Count(b.text(), "the disk is full"); n != 1 {
		t.Errorf("it is said %d times:\n%s", n, b.text())
	}
	b.wantNoText("ledger")
}
