package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/signin"
	"github.com/papaver-agent/papaver/tui"
)

// errNoWay is returned when nothing can give what is waited for any more.
var errNoWay = errors.New("there is no way left to answer")

// signInUI is a sign-in on the command line: words for people go to standard error, events to out, and answers come
// from the terminal or from what --input-fd names.
type signInUI struct {
	env      env
	flags    *signInFlags
	out      *lines
	answers  *answers // nil before the first is needed
	terminal *os.File // the controlling terminal; nil before it is needed
	headed   bool
}

func newSignInUI(e env, f *signInFlags, out *lines) *signInUI {
	return &signInUI{env: e, flags: f, out: out}
}

// close gives back what was opened.
func (u *signInUI) close() {
	if u.answers != nil {
		u.answers.close()
	}
	if u.terminal != nil {
		_ = u.terminal.Close()
	}
}

// handy reports whether the User has a browser where this runs.
func (u *signInUI) handy() bool {
	return isTerminal(u.env.stdin) && desktop(u.env)
}

func (u *signInUI) say(format string, args ...any) { fmt.Fprintf(u.env.stderr, format+"\n", args...) }

// head says who asks for what. The domain comes first.
func (u *signInUI) head(kind signin.Type, p signin.Party) {
	if u.headed {
		return
	}
	u.headed = true
	who := plaintext.Domain(p.Domain).String()
	if p.Name != "" {
		who += " calls itself " + plaintext.Quote(p.Name).String()
	}
	u.say("%s\n%s sign-in, for access to:", who, strings.ToUpper(string(kind[:1]))+string(kind[1:]))
	for _, s := range p.Scope {
		about := map[string]string{"poppy:read": "see what is in your account", "poppy:write": "change what is in your account"}[s]
		if own, ok := p.Scopes[s]; ok {
			about = plaintext.Quote(own).String()
		}
		u.say("  %s", strings.TrimSpace(fmt.Sprintf("%-14s %s", plaintext.Line(s, 60), about)))
	}
}

// when is a moment as a person needs it.
func (u *signInUI) when(t time.Time) string {
	return fmt.Sprintf("until %s (%d minutes)", t.Local().Format("15:04"), int(t.Sub(u.env.now()).Round(time.Minute).Minutes()))
}

// addressLine is the page of a Direct Sign-In.
type addressLine struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	Company string    `json:"company"`
	Scope   []string  `json:"scope"`
	URL     string    `json:"url"`
	Ends    time.Time `json:"ends"`
}

// Address implements signin.UI. The address stands unwrapped on a line of its own.
func (u *signInUI) Address(ctx context.Context, p signin.AddressPrompt) error {
	u.head(signin.Direct, p.Party)
	u.say("\nOpen this page in your own browser, and sign in there:\n\n%s\n", p.URL)
	u.say("At the end your browser goes to an address that begins with\n%s\nand what it shows there does not matter. Copy that whole address from the browser's\naddress bar, paste it here and press Enter. This waits %s; Ctrl-C stops it.",
		p.Redirect, u.when(p.Ends))
	u.out.write(addressLine{Time: u.env.now(), Event: "address", Company: p.Domain, Scope: wholeAll(p.Scope), URL: p.URL, Ends: p.Ends.UTC()})
	if u.flags.open || u.handy() && !u.flags.given["open"] {
		// That it can't be opened is no error: the address is there to read.
		if err := browse(ctx, p.URL); err != nil {
			u.say("It could not be opened from here (%v).", err)
		}
	}
	return u.out.failed()
}

// refusedLine is a callback address that was not taken.
type refusedLine struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	Why   string    `json:"why"`
}

// Callback implements signin.UI.
func (u *signInUI) Callback(ctx context.Context, refused error) (string, error) {
	if refused != nil {
		u.say("Not taken: %s. Paste the address once more.", plaintext.Whole(refused.Error()))
		u.out.write(refusedLine{Time: u.env.now(), Event: "refused", Why: plaintext.Whole(refused.Error()).String()})
	}
	for {
		line, err := u.input().line(ctx)
		if text := strings.TrimSpace(string(line)); text != "" {
			return text, nil
		}
		if errors.Is(err, io.EOF) {
			if err = u.turnToTerminal(); err == nil {
				continue
			}
		}
		if err != nil {
			return "", err
		}
	}
}

// input is where lines come from: what --input-fd names, else standard input.
func (u *signInUI) input() *answers {
	if u.answers == nil {
		from := u.env.stdin
		if u.flags.given["input-fd"] && u.flags.input != 0 {
			from = os.NewFile(uintptr(u.flags.input), "the input")
		}
		u.answers = newAnswers(from)
	}
	return u.answers
}

// turnToTerminal goes on at the controlling terminal when the input has ended: it may have been empty from the start.
func (u *signInUI) turnToTerminal() error {
	if u.terminal != nil || isTerminal(u.env.stdin) || u.flags.given["input-fd"] {
		return errNoWay
	}
	terminal, err := tui.OpenTerminal()
	if err != nil {
		return errNoWay
	}
	u.answers.close()
	u.terminal, u.answers = terminal, newAnswers(terminal)
	return nil
}

// codeLine is the link and the code of a Device Sign-In.
type codeLine struct {
	Time     time.Time `json:"time"`
	Event    string    `json:"event"`
	Company  string    `json:"company"`
	Scope    []string  `json:"scope"`
	URL      string    `json:"url"`
	Complete string    `json:"url_with_code,omitempty"`
	UserCode string    `json:"code"`
	Ends     time.Time `json:"ends"`
}

// Code implements signin.UI. Addresses and the code stand unwrapped on lines of their own.
func (u *signInUI) Code(_ context.Context, p signin.CodePrompt) error {
	u.head(signin.Device, p.Party)
	code := plaintext.Whole(p.UserCode)
	if p.Complete != "" {
		u.say("\nOpen this page on any device, and see that it shows the code below:\n\n%s\n", p.Complete)
		printQR(u.env, p.Complete)
		u.say("Or open the page and type the code:\n\n%s\n", p.URL)
	} else {
		u.say("\nOpen this page on any device, and type the code there:\n\n%s\n", p.URL)
		printQR(u.env, p.URL)
	}
	u.say("%s\n\nSign in only if the page is %s's. This waits %s; Ctrl-C stops it.", code, plaintext.Domain(p.Domain), u.when(p.Ends))
	u.out.write(codeLine{
		Time: u.env.now(), Event: "code", Company: p.Domain, Scope: wholeAll(p.Scope), URL: p.URL, Complete: p.Complete, UserCode: code.String(), Ends: p.Ends.UTC(),
	})
	return u.out.failed()
}

// waitingLine tells that the waiting goes on in another way.
type waitingLine struct {
	Time  time.Time `json:"time"`
	Event string    `json:"event"`
	Pause int       `json:"pause_seconds"`
	Why   string    `json:"why,omitempty"`
}

// Waiting implements signin.UI.
func (u *signInUI) Waiting(w signin.Waiting) {
	line := waitingLine{Time: u.env.now(), Event: "waiting", Pause: int(w.Pause.Seconds())}
	if w.Err != nil {
		line.Why = plaintext.Whole(w.Err.Error()).String()
		u.say("The Company could not be asked: %s. It is asked again in %s; your code stays good.", line.Why, w.Pause)
	}
	u.out.write(line)
}
