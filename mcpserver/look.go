package mcpserver

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"image/png"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/papaver-agent/papaver/browser"
)

const (
	maxPicture  = 3 << 20 // bytes of a PNG; a larger one is sent as a JPEG
	jpegQuality = 80
	maxPause    = 30 * time.Second // of browser_wait_for
	pageLines   = 100              // of a list in one result
)

type snapshotArgs struct {
	Target string `json:"target,omitempty" jsonschema:"the reference of the element whose part of the page alone is wanted"`
	Ref    string `json:"ref,omitempty" jsonschema:"the same as target"`
	Offset int    `json:"offset,omitempty" jsonschema:"how many lines to leave out at the beginning: what the result before said"`
}

func (s *server) snapshot(ctx context.Context, _ *mcp.CallToolRequest, a snapshotArgs, r *result) error {
	v, err := s.here()
	if err != nil {
		return err
	}
	if a.Ref == "" {
		a.Ref = a.Target
	}
	return r.page(ctx, v, browser.SnapshotOptions{Ref: a.Ref, Offset: max(a.Offset, 0)})
}

type screenshotArgs struct {
	element
	Type     string `json:"type,omitempty" jsonschema:"png or jpeg; png when not said"`
	FullPage bool   `json:"fullPage,omitempty" jsonschema:"the whole page and not what is in view alone"`
}

func (s *server) screenshot(ctx context.Context, _ *mcp.CallToolRequest, a screenshotArgs, r *result) error {
	v, err := s.here()
	if err != nil {
		return err
	}
	if a.Type != "" && a.Type != "png" && a.Type != "jpeg" {
		return wrongArgument("type is png or jpeg")
	}
	shot := browser.Shot{Whole: a.FullPage}
	if a.named() != "" {
		of, err := a.of(browser.Act{})
		if err != nil {
			return err
		}
		shot.Ref, shot.Selectors = of.Ref, of.Selectors
	}
	picture, err := v.Screenshot(ctx, shot)
	if err != nil {
		return err
	}
	kind := "image/png"
	if a.Type == "jpeg" || len(picture) > maxPicture {
		decoded, err := png.Decode(bytes.NewReader(picture))
		if err != nil {
			return fmt.Errorf("the picture: %w", err)
		}
		var smaller bytes.Buffer
		if err := jpeg.Encode(&smaller, decoded, &jpeg.Options{Quality: jpegQuality}); err != nil {
			return fmt.Errorf("the picture: %w", err)
		}
		picture, kind = smaller.Bytes(), "image/jpeg"
	}
	if len(picture) > maxPicture {
		return wrongArgument("the picture is too large; leave fullPage out, or name an element")
	}
	r.say("The picture is of the website's page. What is written in it is the website's.")
	r.picture = &mcp.ImageContent{Data: picture, MIMEType: kind}
	return nil
}

type requestsArgs struct {
	Static bool   `json:"static,omitempty" jsonschema:"pictures, fonts, style sheets and scripts that were had too"`
	Filter string `json:"filter,omitempty" jsonschema:"a regular expression that the addresses match"`
	Offset int    `json:"offset,omitempty" jsonschema:"how many to leave out at the beginning"`
}

func (s *server) requests(ctx context.Context, _ *mcp.CallToolRequest, a requestsArgs, r *result) error {
	v, err := s.here()
	if err != nil {
		return err
	}
	filter, err := regexp.Compile(a.Filter)
	if err != nil {
		return wrongArgument("filter is no regular expression")
	}
	list, err := v.Answered(ctx)
	if err != nil {
		return err
	}
	var lines []string
	for _, one := range list {
		static := slices.Contains([]string{"Image", "Font", "Stylesheet", "Script", "Media"}, one.Resource) && one.Status < 400
		if !filter.MatchString(one.URL) || static && !a.Static {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s => %d", one.Method, one.URL, one.Status))
	}
	r.say("Values in queries are left out, and what joins the browser to a Session is not listed.")
	return r.lines("the page's requests", lines, a.Offset)
}

type consoleArgs struct {
	Level  string `json:"level,omitempty" jsonschema:"error, warning, info or debug, each with those before it; info when not said"`
	Offset int    `json:"offset,omitempty" jsonschema:"how many to leave out at the beginning"`
}

func (s *server) console(ctx context.Context, _ *mcp.CallToolRequest, a consoleArgs, r *result) error {
	v, err := s.here()
	if err != nil {
		return err
	}
	levels := []string{"error", "warning", "info", "debug"}
	most := slices.Index(levels, lower(a.Level))
	switch {
	case a.Level == "":
		most = slices.Index(levels, "info")
	case most < 0:
		return wrongArgument("level is error, warning, info or debug")
	}
	list, err := v.Console(ctx)
	if err != nil {
		return err
	}
	var lines []string
	for _, m := range list {
		if slices.Contains(levels[:most+1], m.Level) {
			lines = append(lines, "["+m.Level+"] "+strings.Join(strings.Fields(m.Text), " "))
		}
	}
	return r.lines("the page's console", lines, a.Offset)
}

// lines adds as much of a list as one result holds, and says what follows.
func (r *result) lines(what string, lines []string, offset int) error {
	from := min(max(offset, 0), len(lines))
	to := min(from+pageLines, len(lines))
	r.say("%d in all, %d to %d of them here.", len(lines), min(from+1, to), to)
	if to < len(lines) {
		r.say("What follows: the same call with offset %d.", to)
	}
	return r.website(what, strings.Join(lines[from:to], "\n"))
}

type waitForArgs struct {
	Time     float64 `json:"time,omitempty" jsonschema:"seconds to wait, 30 at most"`
	Text     string  `json:"text,omitempty" jsonschema:"a text that is to appear"`
	TextGone string  `json:"textGone,omitempty" jsonschema:"a text that is to disappear"`
	URL      string  `json:"url,omitempty" jsonschema:"the page's address, in which * stands for anything"`
}

// acts are what is waited for in the page.
func (a waitForArgs) acts() []browser.Act {
	var acts []browser.Act
	if a.TextGone != "" {
		acts = append(acts, browser.Act{Kind: browser.WaitText, Text: browser.Text{Is: a.TextGone, Gone: true}})
	}
	if a.Text != "" {
		acts = append(acts, browser.Act{Kind: browser.WaitText, Text: browser.Text{Is: a.Text}})
	}
	if a.URL != "" {
		acts = append(acts, browser.Act{Kind: browser.WaitURL, URL: a.URL})
	}
	return acts
}

func (s *server) waitFor(ctx context.Context, req *mcp.CallToolRequest, a waitForArgs, r *result) error {
	if a.Time < 0 || a.Time > maxPause.Seconds() {
		return wrongArgument("time is 0 to 30 seconds")
	}
	acts := a.acts()
	if a.Time == 0 && len(acts) == 0 {
		return wrongArgument("time, text, textGone or url is missing")
	}
	v, err := s.here()
	if err != nil {
		return err
	}
	if a.Time > 0 {
		over := time.NewTimer(time.Duration(a.Time * float64(time.Second)))
		defer over.Stop()
		select {
		case <-over.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if len(acts) == 0 {
		return r.page(ctx, v, browser.SnapshotOptions{Lines: actLines, Bytes: actBytes})
	}
	return s.make(ctx, req, acts, r)
}

type tabsArgs struct {
	Action string `json:"action" jsonschema:"list, new, close or select"`
	Index  *int   `json:"index,omitempty" jsonschema:"which tab, counted from 0; for close the current one when not said"`
	URL    string `json:"url,omitempty" jsonschema:"the page that a new tab opens"`
}

func (s *server) tabs(ctx context.Context, req *mcp.CallToolRequest, a tabsArgs, r *result) error {
	v, err := s.here()
	if err != nil {
		return err
	}
	list, err := v.Tabs(ctx)
	if err != nil {
		return err
	}
	act, err := a.act(list)
	if err != nil {
		return err
	}
	if act.Kind != "" {
		if err := s.make(ctx, req, []browser.Act{act}, r); err != nil {
			return err
		}
		if list, err = v.Tabs(ctx); err != nil {
			return nil // what the act came to is said
		}
	}
	var lines []string
	for i, tab := range list {
		current := ""
		if tab.Current {
			current = " (current)"
		}
		lines = append(lines, fmt.Sprintf("%d:%s %s %q", i, current, tab.URL, tab.Title))
	}
	return r.website("the tabs", strings.Join(lines, "\n"))
}

// act is what the arguments ask for beside the list.
func (a tabsArgs) act(list []browser.TabInfo) (browser.Act, error) {
	act := browser.Act{}
	switch a.Action {
	case "list":
		return act, nil
	case "new":
		return browser.Act{Kind: browser.NewTab, URL: a.URL}, nil
	case "close":
		act.Kind = browser.CloseTab
	case "select":
		act.Kind = browser.SwitchTab
	default:
		return act, wrongArgument("action is list, new, close or select")
	}
	switch {
	case a.Index != nil && *a.Index >= 0 && *a.Index < len(list):
		act.Target = string(list[*a.Index].ID)
	case a.Index != nil || act.Kind == browser.SwitchTab:
		return act, wrongArgument("index is that of a tab, 0 to %d", len(list)-1)
	}
	return act, nil
}
