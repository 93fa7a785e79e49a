package mcpserver

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/secret"
)

// errArgument is the family of errors of arguments that say nothing that can be done.
var errArgument = errors.New("the arguments can't be used")

func wrongArgument(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errArgument}, args...)...)
}

// element is how a tool names an element.
type element struct {
	Element string `json:"element,omitempty" jsonschema:"what the element is, for people who read the call"`
	Target  string `json:"target,omitempty" jsonschema:"the element's reference in the snapshot, such as e12, or a selector: CSS, aria/NAME, text/TEXT, xpath/EXPRESSION"`
	Ref     string `json:"ref,omitempty" jsonschema:"the same as target"`
}

// reference is what a snapshot calls an element.
var reference = regexp.MustCompile(`^(f\d+)?e\d+$`)

func (e element) named() string {
	if e.Target != "" {
		return e.Target
	}
	return e.Ref
}

// of has an act be done to the element.
func (e element) of(a browser.Act) (browser.Act, error) {
	switch name := e.named(); {
	case name == "":
		return a, wrongArgument("target is missing: it is a reference of browser_snapshot, or a selector")
	case reference.MatchString(name):
		a.Ref = name
	default:
		a.Selectors, a.Strict = [][]string{{name}}, true
	}
	return a, nil
}

// one is an act done to the element, alone.
func (e element) one(a browser.Act) ([]browser.Act, error) {
	a, err := e.of(a)
	return []browser.Act{a}, err
}

type navigateArgs struct {
	URL string `json:"url" jsonschema:"the page's address"`
}

func (a navigateArgs) acts() ([]browser.Act, error) {
	return []browser.Act{{Kind: browser.Navigate, URL: a.URL}}, nil
}

type clickArgs struct {
	element
	DoubleClick bool     `json:"doubleClick,omitempty" jsonschema:"twice in a row"`
	Button      string   `json:"button,omitempty" jsonschema:"left, right or middle; left when not said"`
	Modifiers   []string `json:"modifiers,omitempty" jsonschema:"keys to hold: Alt, Control, ControlOrMeta, Meta, Shift"`
}

func (a clickArgs) acts() ([]browser.Act, error) {
	press := browser.Act{Kind: browser.Click}
	if a.DoubleClick {
		press.Kind = browser.DoubleClick
	}
	switch a.Button {
	case "", "left":
	case "right":
		press.Pointer.Button = browser.Secondary
	case "middle":
		press.Pointer.Button = browser.Auxiliary
	default:
		return nil, wrongArgument("button is left, right or middle")
	}
	press, err := a.of(press)
	if err != nil {
		return nil, err
	}
	acts := []browser.Act{press}
	for _, key := range a.Modifiers {
		if key == "ControlOrMeta" {
			key = "Control"
		}
		if !slices.Contains([]string{"Alt", "Control", "Meta", "Shift"}, key) {
			return nil, wrongArgument("modifiers are Alt, Control, ControlOrMeta, Meta and Shift")
		}
		acts = append([]browser.Act{{Kind: browser.KeyDown, Key: key}}, append(acts, browser.Act{Kind: browser.KeyUp, Key: key})...)
	}
	return acts, nil
}

type hoverArgs struct{ element }

func (a hoverArgs) acts() ([]browser.Act, error) { return a.one(browser.Act{Kind: browser.Hover}) }

type typeArgs struct {
	element
	Text   string `json:"text" jsonschema:"what is entered; nothing empties the field"`
	Submit bool   `json:"submit,omitempty" jsonschema:"press Enter after it"`
	Slowly bool   `json:"slowly,omitempty" jsonschema:"key by key, behind what the field holds"`
}

func (a typeArgs) acts() ([]browser.Act, error) {
	enter := browser.Act{Kind: browser.Change, Value: secret.New(a.Text)}
	switch {
	case a.Slowly:
		enter.Kind = browser.Type
	case a.Text == "":
		enter.Kind = browser.Clear
	}
	acts, err := a.one(enter)
	if a.Submit && err == nil {
		acts = append(acts, browser.Act{Kind: browser.Press, Key: "Enter", Selectors: acts[0].Selectors, Ref: acts[0].Ref})
	}
	return acts, err
}

type formArgs struct {
	Fields []field `json:"fields" jsonschema:"the fields, filled in this order"`
}

type field struct {
	element
	Name  string `json:"name,omitempty" jsonschema:"what the field is, for people who read the call"`
	Type  string `json:"type" jsonschema:"textbox, checkbox, radio, combobox or slider"`
	Value string `json:"value" jsonschema:"true or false for a checkbox or radio; an option's value or label for a combobox"`
}

func (a formArgs) acts() ([]browser.Act, error) {
	var acts []browser.Act
	for _, f := range a.Fields {
		enter := browser.Act{Kind: browser.Change, Value: secret.New(f.Value)}
		switch f.Type {
		case "textbox", "slider":
			if f.Value == "" {
				enter.Kind = browser.Clear
			}
		case "checkbox", "radio":
			switch f.Value {
			case "true":
				enter.Kind = browser.Check
			case "false":
				enter.Kind = browser.Uncheck
			default:
				return nil, wrongArgument("the value of a %s is true or false", f.Type)
			}
			enter.Value = secret.Text{}
		case "combobox":
			enter.Kind, enter.Options, enter.Value = browser.Select, []string{f.Value}, secret.Text{}
		default:
			return nil, wrongArgument("a field's type is textbox, checkbox, radio, combobox or slider")
		}
		enter, err := f.of(enter)
		if err != nil {
			return nil, err
		}
		acts = append(acts, enter)
	}
	if len(acts) == 0 {
		return nil, wrongArgument("fields is empty")
	}
	return acts, nil
}

type selectArgs struct {
	element
	Values []string `json:"values" jsonschema:"values or labels of the options to select, and no others"`
}

func (a selectArgs) acts() ([]browser.Act, error) {
	return a.one(browser.Act{Kind: browser.Select, Options: a.Values})
}

type keyArgs struct {
	Key string `json:"key" jsonschema:"the key's name, such as ArrowLeft, or a character"`
}

func (a keyArgs) acts() ([]browser.Act, error) {
	return []browser.Act{{Kind: browser.Press, Key: a.Key}}, nil
}

type wheelArgs struct {
	element
	X float64 `json:"deltaX,omitempty" jsonschema:"to the right"`
	Y float64 `json:"deltaY,omitempty" jsonschema:"downwards"`
}

func (a wheelArgs) acts() ([]browser.Act, error) {
	scroll := browser.Act{Kind: browser.Scroll, Scrolling: browser.Scrolling{X: a.X, Y: a.Y, By: true}}
	if a.named() == "" {
		return []browser.Act{scroll}, nil
	}
	return a.one(scroll)
}

type dialogArgs struct {
	Accept bool   `json:"accept" jsonschema:"whether the dialog is accepted"`
	Text   string `json:"promptText,omitempty" jsonschema:"the answer to a prompt"`
}

func (a dialogArgs) acts() ([]browser.Act, error) {
	return []browser.Act{{Kind: browser.HandleDialog, Reply: browser.Reply{Accept: a.Accept, Text: secret.New(a.Text)}}}, nil
}

type resizeArgs struct {
	Width  int `json:"width" jsonschema:"in CSS pixels"`
	Height int `json:"height" jsonschema:"in CSS pixels"`
}

func (a resizeArgs) acts() ([]browser.Act, error) {
	return []browser.Act{{Kind: browser.Viewport, View: browser.View{Width: a.Width, Height: a.Height}}}, nil
}

type uploadArgs struct {
	element
	Paths []string `json:"paths" jsonschema:"paths of the files; one that is not absolute is looked for in the folders that the User named"`
}

// uploads gives files to the field that is named, or to the only one of the page.
func (s *server) uploads(a uploadArgs) ([]browser.Act, error) {
	if len(a.Paths) == 0 {
		return nil, wrongArgument("paths is empty")
	}
	if len(s.cfg.Uploads) == 0 {
		return nil, wrongArgument("the User named no folder to upload from (papaver mcp --uploads DIR)")
	}
	give := browser.Act{Kind: browser.Upload}
	for _, path := range a.Paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.cfg.Uploads[0], path)
		}
		give.Files = append(give.Files, path)
	}
	if a.named() == "" {
		give.Selectors, give.Strict = [][]string{{"input[type=file]"}}, true
		return []browser.Act{give}, nil
	}
	return a.one(give)
}

// lower is a word of a client as it is compared.
func lower(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
