package browser_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// What a page writes into its console and what it asks for can be looked at, without the values of a query, without a
// secret that was entered, and without a form that we sent.
func TestAPagesConsoleAndRequestsAreTold(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newPages(t)
		landing := site.page("/landing", "")
		url := site.page("/page", `<input id=f type=password><button id=b onclick="console.error('bad',7,{a:1});console.log(f.value);fetch('/asked?token=abc&flag');nothing.x()">B</button>`)
		b := start(t, driver, func(context.Context, browser.Held) {})
		c := newContext(t, b)
		if _, err := c.SubmitForm(t.Context(), landing, []browser.Field{{Name: "assertion", Value: value("e.y.j")}}); err != nil {
			t.Fatal(err)
		}
		if list, err := c.Answered(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("the form is told of: %+v, %v", list, err)
		}
		do(t, c, browser.Act{Kind: browser.Navigate, URL: url})
		do(t, c, on("#f", browser.Act{Kind: browser.Change, Value: value("hunter2"), Private: true}))
		do(t, c, click("#b"))
		list, err := c.Answered(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []browser.Answered{
			{Method: "GET", URL: url, Resource: "Document", Status: 200},
			{Method: "GET", URL: site.URL + "/asked?token=…&=…", Resource: "XHR", Status: 200},
		} {
			if !slices.Contains(list, want) {
				t.Errorf("%+v is not among %+v", want, list)
			}
		}
		messages, err := c.Console(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, m := range messages {
			all.WriteString(m.Level + ": " + m.Text + "\n")
		}
		for _, want := range []string{"error: bad 7 Object\n", "info: (a secret, left out)\n", "error: Uncaught ReferenceError: nothing"} {
			if !strings.Contains(all.String(), want) {
				t.Errorf("the console is without %q:\n%s", want, all.String())
			}
		}
		if strings.Contains(all.String(), "hunter2") {
			t.Errorf("the secret is in the console:\n%s", all.String())
		}
	})
}
