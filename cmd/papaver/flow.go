package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/papaver-agent/papaver/flow"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/trouble"
)

// flowValues are --set and --secret.
type flowValues struct {
	set     settings
	secrets repeated
}

func (f *flags) addFlowValues() *flowValues {
	v := &flowValues{set: make(settings)}
	f.Var(v.set, "set", "the value of ${NAME} in the flow (`NAME=VALUE`); may be repeated")
	f.Var(&v.secrets, "secret", "ask for the value of ${`NAME`} on the terminal, and keep it out of everything that is told; may be repeated")
	return v
}

// repeated is the values of a flag that is repeated.
type repeated []string

func (*repeated) String() string { return "" }

func (n *repeated) Set(arg string) error {
	if arg == "" {
		return errors.New("it is a name")
	}
	*n = append(*n, arg)
	return nil
}

// ask asks for the secrets on the controlling terminal, without echo. With noInput nothing is asked.
func (v *flowValues) ask(ctx context.Context, noInput bool) (flow.Values, error) {
	values := flow.Values{Set: v.set}
	if len(v.secrets) == 0 {
		return values, nil
	}
	if noInput {
		return values, usagef("--secret asks for a value, and --no-input forbids it")
	}
	asker, err := newHiddenPrompt()
	if err != nil {
		return values, usagef("--secret asks for a value on a terminal, and there is none")
	}
	defer asker.close()
	values.Secrets = make(map[string]secret.Text)
	for _, name := range v.secrets {
		value, err := asker.once(ctx, plaintext.Quote(name).String()+": ")
		if err != nil {
			return values, err
		}
		values.Secrets[name] = value
	}
	return values, nil
}

func readFlow(path string, values flow.Values) (*flow.Flow, []byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, flow.MaxBytes+1))
	if err != nil {
		return nil, nil, err
	}
	f, err := flow.Parse(data, values)
	return f, data, err
}

// checkedLine is a line of papaver flow check --json: a part of the file that is wrong, or that is left out.
type checkedLine struct {
	Place   string `json:"place,omitempty"`
	What    string `json:"what"`
	Ignored bool   `json:"ignored"`
}

func runFlow(_ context.Context, e env, args []string) error {
	f := newFlags("flow")
	given := f.addFlowValues()
	words, err := f.parse(e, args, 2, 2)
	if err != nil {
		return err
	}
	if words[0] != "check" {
		return usagef("it is written papaver flow check FILE")
	}
	values := flow.Values{Set: given.set, Secrets: make(map[string]secret.Text)}
	for _, name := range given.secrets {
		values.Secrets[name] = secret.New(name) // nothing is entered
	}
	read, _, err := readFlow(words[1], values)
	out := lines{w: e.stdout}
	say := func(l checkedLine, format string, args ...any) {
		if f.json {
			out.write(l)
		} else {
			fmt.Fprintf(e.stdout, format+"\n", args...)
		}
	}
	if wrong, ok := errors.AsType[*flow.Error](err); ok {
		for _, p := range wrong.Problems {
			say(checkedLine{Place: p.Place, What: p.What}, "%s: %s: %s", words[1], p.Place, p.What)
		}
		return errors.Join(out.failed(), exitCode(exitError))
	}
	if err != nil {
		return &trouble.Error{What: words[1] + " can't be read", Err: err, Done: "nothing", Undone: "it was not checked", Next: "check the file's name"}
	}
	for _, notice := range read.Notices {
		say(checkedLine{Place: notice.Place, What: notice.What, Ignored: true}, "%s: %s", words[1], notice)
	}
	if !f.json {
		left := ""
		if n := read.Skipped(); n > 0 {
			left = fmt.Sprintf(", but for %d that are left out", n)
		}
		fmt.Fprintf(e.stderr, "papaver: %d steps, and each of them can be run%s\n", len(read.Steps), left)
	}
	return out.failed()
}
