package browser

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/papaver-agent/papaver/internal/secret"
)

// A secret is left out of what is told, in every way in which a page or an address writes it.
func TestASecretIsLeftOutHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	var p private
	if p.in("anything") || p.leftOut("anything") != "anything" {
		t.Error("where no secret was entered, something is left out")
	}
	for _, s := range []string{"", " ", "a", "sword fish*~'(7)", `ü"\x`, "two  spaces"} {
		p.add(secret.New(s))
	}
	const out = leftOutValue
	for text, want := range map[string]string{
		"the field has sword fish*~'(7)!": "the field h" + out + "s " + out + "!",
		"/?p=sword+fish*%7E%27%287%29":    "/?p=" + out, // a form
		"/?p=sword%20fish*~'(7)":          "/?p=" + out, // encodeURIComponent
		"/sword%20fish%2A~%27%287%29/":    "/" + out + "/",
		`titled "ü\"\\x"`:                 `titled "` + out + `"`,
		"?p=%C3%BC%22%5Cx":                "?p=" + out,
		"on two  spaces or two spaces":    "on " + out + " or " + out,
		"nothing of it":                   "nothing of it",
	} {
		if got := p.leftOut(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// An error without its secret is still the error that it is.
func TestAnErrorWithoutItsSecretIsTheSameError(t *testing.T) {
	t.Parallel()
	var p private
	p.add(secret.New("hunter2"))
	wanted := fmt.Errorf("the page is /?p=hunter2: %w", ErrNotSeen)
	if err := p.outOf(wanted); err.Error() != "the page is /?p="+leftOutValue+": "+ErrNotSeen.Error() || !errors.Is(err, ErrNotSeen) {
		t.Errorf("%v", err)
	}
	if err := p.outOf(ErrNotSeen); err != ErrNotSeen { //nolint:errorlint // the very same
		t.Errorf("%v", err)
	}
	if err := p.outOf(nil); err != nil {
		t.Errorf("%v", err)
	}
}

// Where a response was asked for is told of without a secret that a form wrote into the address.
func TestWhereAResponseIsHeldIsToldOfWithoutSecrets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDriver{engine: &fakeEngine{gone: make(chan struct{})}}
		met := make(chan Held, 1)
		b, err := Start(context.Background(), fakeConfig(t, d, func(_ context.Context, h Held) { met <- h }))
		if err != nil {
			t.Fatal(err)
		}
		c := fakeContext(t, b)
		c.private.add(secret.New("hunter 2"))
		const url = "https://shop.test/?pin=hunter+2"
		d.engine.paused(Paused{ID: "held", Frame: tabOf(c).id, Method: "GET", URL: url, Status: 403, Headers: []Header{{watched, "x"}}})
		synctest.Wait()
		if h := <-met; h.Told() != "https://shop.test/?pin="+leftOutValue || h.URL() != url {
			t.Errorf("told of as %s, of %s", h.Told(), h.URL())
		}
		mustClose(t, b)
	})
}
