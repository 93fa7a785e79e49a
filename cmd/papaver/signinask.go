package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/signin"
	"github.com/papaver-agent/papaver/tui"
)

// labelCells is how much of a field's label is shown, in terminal cells.
const labelCells = 40

// askedLine says what a Mediated Sign-In waits for.
type askedLine struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	Company string    `json:"company"`
	Fields  []string  `json:"fields,omitempty"`
	SentTo  string    `json:"sent_to,omitempty"`
	Wrong   bool      `json:"wrong,omitempty"` // the code before
}

// Credentials implements signin.UI.
func (u *signInUI) Credentials(ctx context.Context, p signin.CredentialsPrompt) (map[string][]byte, error) {
	u.head(signin.Mediated, p.Party)
	u.say("\nHere you hand your credentials to this agent, which sends them to\n%s\nand nowhere else, and does not keep them.", plaintext.Whole(p.Endpoint))
	line := askedLine{Time: u.env.now(), Event: "credentials", Company: p.Domain}
	for _, f := range p.Fields {
		line.Fields = append(line.Fields, plaintext.Line(f.Name, labelCells).String())
	}
	u.out.write(line)
	if u.scripted() {
		given, err := u.input().object(ctx)
		if !errors.Is(err, io.EOF) {
			return onlyFields(given, p.Fields, err)
		}
		if err := u.turnToTerminal(); err != nil {
			return nil, missingInput(p.Fields)
		}
	}
	given := make(map[string][]byte)
	for _, f := range p.Fields {
		value, err := u.ask(ctx, plaintext.Quote(labelOf(f)).String()+": ", f.Secret)
		given[f.Name] = value
		if err != nil {
			return given, err
		}
	}
	return given, nil
}

// scripted reports whether answers come as JSON and not from a person.
func (u *signInUI) scripted() bool { return u.flags.given["input-fd"] || !isTerminal(u.env.stdin) }

func labelOf(f company.Field) string {
	if f.Label == "" {
		return f.Name
	}
	return f.Label
}

// OneTimeCode implements signin.UI.
func (u *signInUI) OneTimeCode(ctx context.Context, p signin.OneTimePrompt) ([]byte, error) {
	switch {
	case p.Wrong:
		u.say("\nThat code was wrong.")
	case p.SentTo != "":
		u.say("\n%s sent you a one-time code: %s", plaintext.Domain(p.Domain), plaintext.Line(p.SentTo, 2*labelCells))
	default:
		u.say("\n%s sent you a one-time code.", plaintext.Domain(p.Domain))
	}
	if !p.Ends.IsZero() {
		u.say("It is good %s.", u.when(p.Ends))
	}
	u.out.write(askedLine{Time: u.env.now(), Event: "one_time_code", Company: p.Domain, SentTo: plaintext.Line(p.SentTo, 2*labelCells).String(), Wrong: p.Wrong})
	if u.scripted() && u.terminal == nil {
		fields := []company.Field{{Name: "code"}}
		given, err := u.input().object(ctx)
		if errors.Is(err, io.EOF) {
			return nil, missingInput(fields)
		}
		given, err = onlyFields(given, fields, err)
		return given["code"], err
	}
	return u.ask(ctx, "Code: ", true)
}

// ask reads one line from the controlling terminal, without echo when it is a secret.
func (u *signInUI) ask(ctx context.Context, prompt string, secret bool) ([]byte, error) {
	if u.terminal == nil {
		terminal, err := tui.OpenTerminal()
		if err != nil {
			return nil, err
		}
		if u.answers != nil {
			u.answers.close()
		}
		u.terminal, u.answers = terminal, newAnswers(terminal)
	}
	if secret {
		restore, err := withoutEcho(u.terminal)
		if err != nil {
			return nil, err
		}
		defer restore()
	}
	for {
		fmt.Fprint(u.terminal, prompt)
		line, err := u.answers.line(ctx)
		if len(line) > 0 || err != nil {
			return line, err
		}
	}
}

// onlyFields checks that a JSON object has the fields that are asked for, and no others.
func onlyFields(given map[string][]byte, fields []company.Field, err error) (map[string][]byte, error) {
	if err != nil {
		return given, err
	}
	for name := range given {
		if !slices.ContainsFunc(fields, func(f company.Field) bool { return f.Name == name }) {
			return given, inputError{fmt.Sprintf("it has the member %q, which is not asked for", plaintext.Line(name, labelCells))}
		}
	}
	for _, f := range fields {
		if len(given[f.Name]) == 0 {
			return given, missingInput(fields)
		}
	}
	return given, nil
}

// missingInput says what the input must be.
func missingInput(fields []company.Field) error {
	form := make(map[string]string)
	for _, f := range fields {
		form[plaintext.Line(f.Name, labelCells).String()] = "…"
	}
	data, err := json.Marshal(form)
	if err != nil {
		return err
	}
	return inputError{fmt.Sprintf("it must be one JSON object with these members: %s", data)}
}

// object reads one JSON object of strings. What it read is overwritten; the values are the caller's to overwrite.
func (a *answers) object(ctx context.Context) (map[string][]byte, error) {
	defer a.cancelWith(ctx)()
	if a.values == nil {
		a.values = jsontext.NewDecoder(io.LimitReader(a.lines, maxInput))
	}
	value, err := a.values.ReadValue()
	defer clear(value)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, io.EOF
	case err != nil:
		return nil, inputError{"it is no JSON object, each member once"} // the cause could quote it
	}
	var members map[string]jsontext.Value
	if err := strictjson.Decode(value, strictjson.Limits{}, &members); err != nil {
		return nil, inputError{"it is no JSON object, each member once"}
	}
	given := make(map[string][]byte)
	for name, raw := range members {
		text, err := jsontext.AppendUnquote(nil, raw)
		clear(raw)
		if err != nil {
			return given, inputError{fmt.Sprintf("its member %q is no string", plaintext.Line(name, labelCells))}
		}
		given[name] = text
	}
	return given, nil
}
