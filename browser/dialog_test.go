package browser_test

import (
	"context"
	"errors"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

const questions = `<button id=b onclick="note('a:'+alert('said'));note('c:'+confirm('sure?'));note('p:'+prompt('how many?','3'));fetch('/answered',{method:'POST'})">B</button>
<button id=down onmousedown="note('d:'+confirm('down?'))" onclick="note('click')">D</button>
<button id=storm onclick="for(let i=0;i<200;i++)alert(i);note('over')">S</button>`

func TestDialogsAreAnsweredAsTheCallerSays(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		site := newPages(t)
		url := site.page("/page", questions)
		site.page("/leave", `<button id=b>B</button><script>onbeforeunload=(e)=>e.preventDefault()</script>`)
		b := start(t, driver, func(context.Context, browser.Held) {})
		c := newContext(t, b)
		open := func() {
			t.Helper()
			do(t, c, browser.Act{Kind: browser.Navigate, URL: url})
		}
		expect := func(when, want string) {
			t.Helper()
			if got := said(t, c); got != want {
				t.Errorf("%s the page noted %q, want %q", when, got, want)
			}
		}

		open()
		do(t, c, click("#b"))
		expect("dismissed:", "a:undefined c:false p:null")
		open()
		do(t, c, on("#b", browser.Act{Kind: browser.Click, Dialogs: browser.Accepted}))
		expect("accepted:", "a:undefined c:true p:3")
		open()
		do(t, c, click("#storm"))
		expect("after two hundred:", "over")

		open()
		c.HandleDialogs(browser.Asked)
		before := site.count("POST /answered")
		made := do(t, c, click("#b"))
		for _, question := range []struct {
			want  browser.Dialog
			reply browser.Reply
		}{
			{browser.Dialog{Type: "alert", Message: "said", URL: url}, browser.Reply{}},
			{browser.Dialog{Type: "confirm", Message: "sure?", URL: url}, browser.Reply{Accept: true}},
			{browser.Dialog{Type: "prompt", Message: "how many?", Default: "3", URL: url}, browser.Reply{Accept: true, Text: value("17")}},
		} {
			if d, open := c.Dialog(); !open || d != question.want {
				t.Fatalf("open: %+v, %v, want %+v", d, open, question.want)
			}
			if _, err := c.Do(t.Context(), click("#b")); !errors.Is(err, browser.ErrDialogOpen) {
				t.Errorf("an act under it: %v", err)
			}
			if again := do(t, c, browser.Act{Kind: browser.HandleDialog, Reply: question.reply}); again != made {
				t.Errorf("it belongs to %+v", again)
			}
		}
		expect("handled:", "a:undefined c:true p:17")
		if n := site.count("POST /answered") - before; n != 1 {
			t.Errorf("%d requests came of it", n)
		}

		open()
		do(t, c, click("#down"))
		do(t, c, browser.Act{Kind: browser.HandleDialog, Reply: browser.Reply{Accept: true}})
		do(t, c, browser.Act{Kind: browser.WaitText, Text: browser.Text{Is: "d:true"}})

		c.HandleDialogs(browser.Dismissed)
		do(t, c, browser.Act{Kind: browser.Navigate, URL: site.URL + "/leave"})
		do(t, c, click("#b")) // only a page that was used may ask
		c.HandleDialogs(browser.Asked)
		do(t, c, browser.Act{Kind: browser.Navigate, URL: url})
		if d, open := c.Dialog(); !open || d.Type != "beforeunload" {
			t.Errorf("leaving: %+v, %v", d, open)
		}
		do(t, c, browser.Act{Kind: browser.HandleDialog, Reply: browser.Reply{Accept: true}})
		do(t, c, browser.Act{Kind: browser.WaitURL, URL: url})

		c.SetAskedLimit(gone)
		do(t, c, click("#b"))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for {
			_, err := c.Do(ctx, browser.Act{Kind: browser.WaitText, Text: browser.Text{Is: "a:undefined c:false p:null"}})
			if err == nil {
				break
			}
			if !errors.Is(err, browser.ErrDialogOpen) {
				t.Fatalf("a dialog that nobody handles: %v", err)
			}
		}
	})
}
