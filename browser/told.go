package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const (
	maxConsole     = 256  // messages of a tab that are remembered
	maxConsoleText = 2000 // bytes of one
)

// ConsoleMessage is what a page wrote into its console, or an error of its script. All of it is page content, not
// sanitised.
type ConsoleMessage struct {
	Level string // debug, info, warning or error
	Text  string
}

// Answered is a request of a page that was answered, without its headers and its body.
type Answered struct {
	Method   string
	URL      string // values of its query and its fragment are left out: they may be secrets
	Resource string // CDP's Network.ResourceType
	Status   int    // 0 when there was no answer but a network error
}

// Console returns the last 256 messages of the tab that is acted in, the oldest first. What was entered as a secret is
// left out of them.
func (c *Context) Console(ctx context.Context) ([]ConsoleMessage, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	if err := c.comeBack(ctx); err != nil {
		return nil, err
	}
	t := c.tab
	t.mu.Lock()
	list := slices.Clone(t.console)
	t.mu.Unlock()
	for i, m := range list {
		list[i].Text = c.private.leftOut(m.Text)
	}
	return list, nil
}

// Answered returns the last 256 answered requests of the tab that is acted in, the oldest first: those of its main frame
// and of frames that acts were made in. A form that [Context.SubmitForm] sent, and the redirects after it, are never
// among them.
func (c *Context) Answered(ctx context.Context) ([]Answered, error) {
	c.acting.Lock()
	defer c.acting.Unlock()
	if err := c.comeBack(ctx); err != nil {
		return nil, err
	}
	t := c.tab
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []Answered
	for _, p := range t.recent {
		if !p.submitted {
			list = append(list, Answered{Method: p.Method, URL: withoutValues(p.URL), Resource: p.Resource, Status: p.Status})
		}
	}
	return list, nil
}

// withoutValues is an address with its parameters' names and without their values.
func withoutValues(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(an address that is none)"
	}
	if u.Opaque != "" || u.Scheme == "data" || u.Scheme == "blob" {
		return u.Scheme + ":…"
	}
	if u.RawQuery != "" {
		parts := strings.Split(u.RawQuery, "&")
		for i, part := range parts {
			name, _, valued := strings.Cut(part, "=")
			if !valued {
				name = "" // what stands alone may be the value
			}
			parts[i] = name + "=…"
		}
		u.RawQuery = ""
		u.User, u.Fragment = nil, ""
		return u.String() + "?" + strings.Join(parts, "&")
	}
	u.User, u.Fragment = nil, ""
	return u.String()
}

// ConsoleWord is one part of a console message as a driver hands it on: its value, which is JSON, else what Chromium
// describes it as, else its type.
func ConsoleWord(value []byte, description, kind string) string {
	var text string
	switch {
	case len(value) > 0 && json.Unmarshal(value, &text) == nil:
		return text
	case len(value) > 0:
		return string(value)
	case description != "":
		return description
	}
	return kind
}

// onConsole takes a message from the driver. It does not block.
func (b *Browser) onConsole(tab TargetID, m ConsoleMessage) {
	if len(m.Text) > maxConsoleText {
		m.Text = fmt.Sprintf("%s… (%d bytes in all)", strings.ToValidUTF8(m.Text[:maxConsoleText], ""), len(m.Text))
	}
	switch m.Level {
	case "debug", "error", "warning":
	case "assert":
		m.Level = "error"
	default:
		m.Level = "info"
	}
	b.mu.Lock()
	t := b.tabs[tab]
	b.mu.Unlock()
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.console = append(t.console, m)
	if len(t.console) > maxConsole {
		t.console = slices.Delete(t.console, 0, len(t.console)-maxConsole)
	}
}
