package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/signin"
)

// errUnderWay is what a sign-in of the bench gives: it is not over, and its test goes on.
var errUnderWay = errors.New("the test goes on")

// fakeAccounts are two Companies. A sign-in is run by signIn, or is under way until the test says more.
type fakeAccounts struct {
	known  []Known
	offers Offers
	err    error // of everything but Known
	signIn func(context.Context, Choice, signin.UI) (signin.Result, error)

	mu      sync.Mutex
	choices []Choice
	keys    []*lock.Key
	asked   []string // addresses whose offers were read
	out     []string // domains and labels that were signed out
}

func newFakeAccounts() *fakeAccounts {
	return &fakeAccounts{
		known: []Known{
			{
				Domain: "stormline.test", Name: "Stormline Outdoor", UserID: "usr_9kQ2mXv7Lw3pZt8s",
				Accounts: []account.Account{{
					Key: account.Key{Issuer: "https://auth.stormline.test", Label: "work"}, Domain: "stormline.test", Type: "device",
					Scope: []string{"poppy:read", "poppy:write"}, Expires: noon().Add(30 * 24 * time.Hour), Place: account.PlaceFile,
				}},
			},
			{Domain: "tea.test", UserID: "usr_Bb41HhYd0QxJ6e2n"},
		},
		offers: Offers{
			Domain: "stormline.test", Name: "Stormline Outdoor", Scopes: map[string]string{"addresses": "Your saved addresses"},
			Types: []OfferedType{
				{signin.Direct, []string{"poppy:read", "poppy:write", "addresses"}, []string{"poppy:read"}},
				{signin.Device, []string{"poppy:read", "poppy:write"}, []string{"poppy:read"}},
				{signin.Mediated, []string{"poppy:read"}, []string{"poppy:read"}},
			},
		},
	}
}

func (f *fakeAccounts) Known(context.Context) ([]Known, error) { return f.known, nil }

func (f *fakeAccounts) Offers(_ context.Context, key *lock.Key, address, _ string) (Offers, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked, f.keys = append(f.asked, address), append(f.keys, key)
	return f.offers, f.err
}

func (f *fakeAccounts) SignIn(ctx context.Context, _ *lock.Key, c Choice, ui signin.UI) (signin.Result, error) {
	f.mu.Lock()
	f.choices = append(f.choices, c)
	f.mu.Unlock()
	if f.signIn == nil {
		return signin.Result{}, errUnderWay
	}
	return f.signIn(ctx, c, ui)
}

func (f *fakeAccounts) SignOut(_ context.Context, _ *lock.Key, address, label string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out = append(f.out, address+" "+label)
	return f.err
}

func (f *fakeAccounts) signedOut() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.out...)
}

// atCompanies is a bench on the screen of Companies.
func atTheCompanies(t testing.TB, w, h int, configure ...func(*Config)) (*bench, *fakeAccounts) {
	f := newFakeAccounts()
	b := newBench(t, w, h, append(configure, func(c *Config) { c.Accounts, c.UntilDone = f, false })...)
	b.show()
	b.press(runes("c"))
	return b, f
}

// prompt has the sign-in under way show or ask something.
func (b *bench) prompt(event any) {
	b.t.Helper()
	if b.m.companies.signing == nil {
		b.t.Fatalf("no sign-in is under way\n%s", b.text())
	}
	b.send(promptMsg{b.m.companies.signing.bridge, event})
}

// given is what was typed for the field that was asked for; empty when nothing was.
func (b *bench) typed() string {
	select {
	case text := <-b.m.companies.signing.bridge.given:
		return string(text)
	default:
		return ""
	}
}

func (b *bench) type_(text string) {
	for _, r := range text {
		if r == ' ' {
			b.press(tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}})
			continue
		}
		b.press(runes(string(r)))
	}
}

func stormline(scope ...string) signin.Party {
	if scope == nil {
		scope = []string{"poppy:read"}
	}
	return signin.Party{Domain: "stormline.test", Name: "Stormline Outdoor", Scope: scope, Scopes: map[string]string{"addresses": "Your saved addresses"}}
}

const longAddress = "https://auth.stormline.test/authorize?client_id=https%3A%2F%2Fagent.test%2Fagent.json&code_challenge=" +
	"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256&redirect_uri=https%3A%2F%2Fagent.test%2Foauth%2Fcallback&" +
	"response_type=code&scope=poppy%3Aread%20addresses&state=hF2kd93nUzYc0wQn4TgL7vRxAeBjMsPi"

func addressPrompt() signin.AddressPrompt {
	return signin.AddressPrompt{
		Party: stormline("poppy:read", "addresses"), URL: longAddress, Redirect: "https://agent.test/oauth/callback", Ends: noon().Add(15 * time.Minute),
	}
}

func codePrompt() signin.CodePrompt {
	return signin.CodePrompt{
		Party: stormline(), URL: "https://auth.stormline.test/device", Complete: "https://auth.stormline.test/device?user_code=WDJB-MJHT",
		UserCode: "WDJB-MJHT", Ends: noon().Add(10 * time.Minute),
	}
}

func credentials() signin.CredentialsPrompt {
	return signin.CredentialsPrompt{
		Party: stormline(), Endpoint: "https://auth.stormline.test/mediated",
		Fields: []company.Field{{Name: "email", Label: "Email"}, {Name: "password", Label: "Password", Secret: true}},
	}
}

func signedInResult() signin.Result {
	return signin.Result{
		Type: signin.Direct, Asked: []string{"poppy:read", "addresses"},
		Kept: account.Kept{Replaced: true, Account: account.Account{
			Key: account.Key{Label: "work"}, Domain: "stormline.test", Scope: []string{"poppy:read"}, Type: "direct", Expires: noon().Add(24 * time.Hour),
		}},
	}
}

// toSigning goes from the list to a sign-in of the nth type.
func (b *bench) toSigning(nth int) {
	b.t.Helper()
	b.press(runes("s"))
	for range nth {
		b.press(special(tea.KeyDown))
	}
	b.press(special(tea.KeyEnter))
	if b.m.companies.stage == stageScope {
		b.press(special(tea.KeyEnter))
	}
	if b.m.companies.stage != stageSigning {
		b.t.Fatalf("no sign-in began\n%s", b.text())
	}
}

// Clauses: S01-4.4.15
func TestTheScreensOfASignIn(t *testing.T) {
	for name, screen := range map[string]func(*bench, *fakeAccounts){
		"companies": func(*bench, *fakeAccounts) {},
		"signout":   func(b *bench, _ *fakeAccounts) { b.press(runes("o")) },
		"address":   func(b *bench, _ *fakeAccounts) { b.press(runes("n")); b.type_("shop.example") },
		"types":     func(b *bench, _ *fakeAccounts) { b.press(runes("s"), special(tea.KeyDown)) },
		"scopes":    func(b *bench, _ *fakeAccounts) { b.press(runes("s"), special(tea.KeyEnter), special(tea.KeyDown)) },
		"direct": func(b *bench, _ *fakeAccounts) {
			b.toSigning(0)
			b.prompt(addressPrompt())
			b.prompt(callbackAsked{signin.ErrMixUp})
			b.press(pasted("https://agent.test/oauth/callback?code=x"))
		},
		"device": func(b *bench, _ *fakeAccounts) {
			b.toSigning(1)
			b.prompt(codePrompt())
			b.prompt(signin.Waiting{Err: errors.New("no answer came"), Pause: 10 * time.Second})
		},
		"mediated": func(b *bench, _ *fakeAccounts) {
			b.toSigning(2)
			b.prompt(fieldAsked{credentials(), 1})
			b.type_("hunter2")
		},
		"code": func(b *bench, _ *fakeAccounts) {
			b.toSigning(2)
			b.prompt(codeAsked{signin.OneTimePrompt{Party: stormline(), SentTo: "d…@example.org", Ends: noon().Add(5 * time.Minute)}})
		},
		"partial": func(b *bench, _ *fakeAccounts) {
			b.toSigning(0)
			b.send(signedInMsg{bridge: b.m.companies.signing.bridge, result: signedInResult()})
		},
		"failed": func(b *bench, _ *fakeAccounts) {
			b.toSigning(2)
			b.send(signedInMsg{bridge: b.m.companies.signing.bridge, err: &trouble.Error{
				What: "stormline.test takes no more attempts for now; it may be tried again in 15m0s", Done: "the sign-in was begun",
				Undone: "nothing was signed in; the access from before stands", Next: "wait, then press s; another type may work now",
			}})
		},
	} {
		for _, size := range []struct{ w, h int }{{40, 24}, {80, 40}, {140, 50}} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size.w, size.h), func(t *testing.T) {
				b, f := atTheCompanies(t, size.w, size.h)
				screen(b, f)
				fitsScreen(t, b.text(), size.w, size.h)
				golden(t, fmt.Sprintf("signin-%s-%dx%d", name, size.w, size.h), b.text())
				if strings.Contains(b.text(), "hunter2") {
					t.Error("a secret is on the screen")
				}
			})
		}
	}
}
