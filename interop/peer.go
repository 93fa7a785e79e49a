package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// checkTimeout is the longest time of one run of check.py.
const checkTimeout = 2 * time.Minute

// The names that the peer's agents have.
const (
	peerAgent      = "agent.example"
	peerPlainAgent = "plain.example"
)

// companySide is a Company that the peer's agent and suite are run against.
type companySide struct {
	url     string
	control string
	args    []string // for check.py: names and authorities
}

// peerChecks runs the peer's agent with each sign-in, and its suite, against one Company.
type peerChecks struct {
	draft       need
	dir         string // the kit's state: authority and keys
	agentListen string
	suites      []string // all of them when empty
	cases       int      // how many cases those have; 0 leaves the suite out
}

// peerCompany is the ready line of company.py, as far as we use it.
type peerCompany struct {
	Company string `json:"company"`
	Address string `json:"address"`
	Map     string `json:"map"`
	CA      string `json:"ca"`
	Control string `json:"control"`
}

// python is a run of one of the kit's programs.
func (w *world) python(draft need, program string, args ...string) []string {
	return append([]string{w.venv[draft], filepath.Join("interop", "peer", program)}, args...)
}

// stateFolder makes a folder of this run.
func (w *world) stateFolder(name string) (string, error) {
	dir := filepath.Join(w.state, name)
	return dir, os.MkdirAll(dir, 0o700)
}

// kitAgainstItself is the control: what fails here is the kit's fault and nobody else's.
func kitAgainstItself(draft need, cases int) func(context.Context, *world, *tally) error {
	return func(ctx context.Context, w *world, t *tally) error {
		dir, err := w.stateFolder("itself-" + string(draft))
		if err != nil {
			return err
		}
		agent, err := freeAddress()
		if err != nil {
			return err
		}
		args := w.python(draft, "company.py", "--dir", dir, "--map", peerAgent+"="+agent, "--map", peerPlainAgent+"="+agent)
		var ready peerCompany
		company, err := serve(ctx, command(ctx, args[0], args[1:]...), &ready)
		if err != nil {
			return err
		}
		defer company.close()
		checks := peerChecks{draft: draft, dir: dir, agentListen: agent, cases: cases}
		return checks.run(ctx, w, t, companySide{url: ready.Company, control: ready.Control, args: []string{"--map", ready.Map}})
	}
}

// run makes every check. A walk's checks are its steps, the suite's are its cases.
func (p peerChecks) run(ctx context.Context, w *world, t *tally, c companySide) error {
	common := append([]string{"--dir", p.dir, "--agent-listen", p.agentListen, "--company", c.url, "--control", c.control}, c.args...)
	for _, kind := range []string{"device", "direct", "mediated", "none"} {
		if err := p.walk(ctx, w, t, kind, common); err != nil {
			return err
		}
	}
	if p.cases == 0 {
		return nil
	}
	return p.conformance(ctx, w, t, common)
}

// leastSteps is how many steps a whole walk has at least; fewer would mean that a part of poppy.json went missing.
var leastSteps = map[string]int{"device": 11, "direct": 11, "mediated": 11, "none": 4}

func (p peerChecks) walk(ctx context.Context, w *world, t *tally, kind string, common []string) error {
	out := filepath.Join(p.dir, "walk-"+kind+".json")
	args := w.python(p.draft, "check.py", append([]string{"walk", "--sign-in", kind, "--out", out}, common...)...)
	said, runErr := combined(command(ctx, args[0], args[1:]...), checkTimeout)
	var report struct {
		Steps []struct {
			Step   string `json:"step"`
			OK     bool   `json:"ok"`
			Error  string `json:"error"`
			Detail string `json:"detail"`
		} `json:"steps"`
	}
	if err := readJSON(out, &report); err != nil {
		return fmt.Errorf("walk (%s): %w: %s", kind, err, tail(said))
	}
	failed := t.failed
	for _, s := range report.Steps {
		name := "walk (" + kind + ") " + s.Step
		if !s.OK {
			t.fail(name, strings.TrimSpace(fmt.Sprintf("%s: %s", s.Error, s.Detail)))
			continue
		}
		t.pass()
	}
	if len(report.Steps) < leastSteps[kind] {
		t.fail("walk ("+kind+")", fmt.Sprintf("only %d steps", len(report.Steps)))
	}
	if runErr != nil && t.failed == failed {
		t.fail("walk ("+kind+")", fmt.Sprintf("%v: %s", runErr, tail(said)))
	}
	return nil
}

func (p peerChecks) conformance(ctx context.Context, w *world, t *tally, common []string) error {
	out := filepath.Join(p.dir, "conformance.json")
	args := append([]string{"conformance", "--out", out}, common...)
	for _, suite := range p.suites {
		args = append(args, "--suite", suite)
	}
	full := w.python(p.draft, "check.py", args...)
	said, runErr := combined(command(ctx, full[0], full[1:]...), checkTimeout)
	var report struct {
		Cases []struct {
			ID      string `json:"id"`
			Outcome string `json:"outcome"`
			Message string `json:"message"`
		} `json:"cases"`
	}
	if err := readJSON(out, &report); err != nil {
		return fmt.Errorf("conformance: %w: %s", err, tail(said))
	}
	failed := t.failed
	for _, r := range report.Cases {
		switch r.Outcome {
		case "passed":
			t.pass()
		case "skipped":
			if why, known := skips[r.ID]; known {
				t.skip(r.ID, why)
			} else {
				t.fail(r.ID, "skipped, and known.go gives no reason: "+r.Message)
			}
		default:
			t.fail(r.ID, r.Message)
		}
	}
	if len(report.Cases) != p.cases {
		t.fail("conformance", fmt.Sprintf("%d cases instead of %d", len(report.Cases), p.cases))
	}
	if runErr != nil && t.failed == failed {
		t.fail("conformance", fmt.Sprintf("%v: %s", runErr, tail(said)))
	}
	return nil
}
