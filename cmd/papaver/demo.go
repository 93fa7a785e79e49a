package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/papaver-agent/papaver/examples"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/testsite"
)

const demoFlow = "exchange.json"

// runDemo plays the main job from nothing: the bundled Company in this process, and an agent in another one, with a home
// of its own that is removed at the end. On a terminal the person there answers. Without one a scripted User does, by
// pressing keys in a pseudo-terminal; it lives here, in the process that made the Company's authority, and can reach
// no other Company.
func runDemo(ctx context.Context, e env, args []string) error {
	f := newFlags("demo")
	sandbox := f.Bool("sandbox", true, "Chromium's sandbox; as root Chromium needs --sandbox=false")
	timeline := f.String("trace", "", "write the agent's timeline to `FILE`, as papaver run --trace does")
	if _, err := f.parse(e, args, 0, 0); err != nil {
		return err
	}
	words := io.Writer(e.stdout)
	if f.json {
		words = e.stderr
	}
	dir, err := os.MkdirTemp("", "papaver-demo-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	h, err := home.Open(filepath.Join(dir, "home"))
	if err != nil {
		return err
	}
	id, err := session.Init(h.Identity(), session.Options{ClientID: "https://agent.test/agent.json", Name: "Demo agent"}, e.now(), rand.Reader)
	if err != nil {
		return err
	}
	flow, err := examples.Flows.ReadFile(demoFlow)
	if err != nil {
		return err
	}
	flowFile := filepath.Join(dir, demoFlow)
	if err := os.WriteFile(flowFile, flow, 0o600); err != nil {
		return err
	}
	site, ready, cleanUp, err := startSite(ctx, testsite.Config{AgentDirs: []string{id.PublicDir()}})
	if err != nil {
		return err
	}
	defer cleanUp()

	runArgs := []string{"run", flowFile, "--home", h.Dir(), "--company", ready.Company, "--cacert", ready.CACert, fmt.Sprintf("--sandbox=%v", *sandbox)}
	for _, rule := range ready.ConnectTo {
		runArgs = append(runArgs, "--connect-to", rule)
	}
	if *timeline != "" {
		runArgs = append(runArgs, "--trace", *timeline)
	}
	var runErr error
	if onTerminal(e) {
		runErr = playOnTerminal(ctx, e, runArgs)
	} else {
		fmt.Fprintln(words, "No terminal is here, so the demo's scripted User answers, by pressing keys in a pseudo-terminal.")
		runErr = playScripted(ctx, e, words, append(runArgs, "--plain"))
	}
	report := site.Report()
	if f.json {
		out := lines{w: e.stdout}
		out.write(report)
	}
	return sayCount(words, report, runErr)
}

// playOnTerminal runs the agent on our own terminal.
func playOnTerminal(ctx context.Context, e env, args []string) error {
	cmd := agentCommand(ctx, e, args)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.stdin, e.stdout, e.stderr
	return runChild(cmd)
}

// agentCommand is this program again, which ends when we do.
func agentCommand(ctx context.Context, e env, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = closeTimeout
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	return cmd
}

// runChild runs cmd on one thread: the death signal comes when the thread that started the child ends.
func runChild(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

// sayCount says what the Company itself counted; the demo has worked only when that is one performance.
func sayCount(w io.Writer, r testsite.Report, runErr error) error {
	for _, v := range r.Broken {
		fmt.Fprintf(w, "The Company saw the agent break a rule: %s: %s\n", v.Rule, v.Seen)
	}
	n := len(r.Performances)
	switch {
	case n == 1 && runErr == nil:
		fmt.Fprintln(w, "Stormline Outdoor's own count: performed once.")
	case n == 1:
		fmt.Fprintln(w, "Stormline Outdoor's own count: performed once, but the agent ended with an error.")
	case n == 0:
		fmt.Fprintf(w, "Stormline Outdoor's own count: nothing was performed, and %d approvals were recorded.\n", r.Recorded)
	default:
		fmt.Fprintf(w, "Stormline Outdoor's own count: performed %d times. That must never happen.\n", n)
		return exitCode(exitError)
	}
	if exit, ok := errors.AsType[*exec.ExitError](runErr); ok && exit.ExitCode() > 0 {
		return exitCode(exit.ExitCode())
	}
	if runErr != nil {
		return fmt.Errorf("the agent: %w", runErr)
	}
	if n != 1 || len(r.Broken) > 0 {
		return exitCode(exitError)
	}
	return nil
}
