package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// scriptTimeout is the longest time of one Node script.
const scriptTimeout = time.Minute

// script runs one of interop/node's scripts on a file that holds input as JSON, and counts the lines it prints.
func (w *world) script(ctx context.Context, t *tally, name string, input any) error {
	file := filepath.Join(w.state, name+".json")
	data, err := json.Marshal(input)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	return w.scriptOn(ctx, t, name, file)
}

// scriptOn runs a script on files that are there already.
func (w *world) scriptOn(ctx context.Context, t *tally, name string, files ...string) error {
	ctx, cancel := context.WithTimeout(ctx, scriptTimeout)
	defer cancel()
	cmd := command(ctx, w.node, append([]string{filepath.Join(w.nodes, name+".mjs")}, files...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	runErr := cmd.Run()
	counted, err := countLines(t, out.Bytes())
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w: %s", name, err, tail(said.String()))
	case runErr != nil:
		return fmt.Errorf("%s: %w: %s", name, runErr, tail(said.String()))
	case counted == 0:
		return fmt.Errorf("%s: it checked nothing", name)
	}
	return nil
}

// countLines counts what a script found.
func countLines(t *tally, out []byte) (counted int, err error) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		var found struct {
			Check string `json:"check"`
			OK    *bool  `json:"ok"`
			Why   string `json:"why"`
			Skip  string `json:"skip"`
		}
		if err := json.Unmarshal(lines.Bytes(), &found); err != nil || found.OK == nil && found.Skip == "" {
			return counted, fmt.Errorf("a line that is no result: %s", tail(lines.Text()))
		}
		counted++
		switch {
		case found.Skip != "":
			t.skip(found.Check, found.Skip)
		case *found.OK:
			t.pass()
		default:
			t.fail(found.Check, found.Why)
		}
	}
	return counted, lines.Err()
}
