// Command papaver is a Personal Agent runtime for the Personal Agent Protocol: it drives a Chromium for one person,
// and asks that person before anything with an effect happens.
package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/papaver-agent/papaver/ledger"
)

// env is what a command may touch of the process.
type env struct {
	stdin  *os.File
	stdout *os.File
	stderr io.Writer
	getenv func(string) string
	now    func() time.Time
	self   string // path of this program

	faults faults
}

// faults are put under what a run writes and sends. The program has none; its tests do.
type faults struct {
	openLedger func(path string) (ledger.File, error)
	wrap       func(http.RoundTripper) http.RoundTripper
}

func main() { os.Exit(begin(faults{})) }

// begin runs the program and returns its exit status.
func begin(with faults) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup wants us to go on
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	// A reader that went away must not kill us in the middle of a round: writing to it is an error like another. The
	// signal is caught and not ignored, since what is ignored stays so in the programs we start.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// What outlives Chromium for a moment comes to us, who wait for it, and not to a container's first process, which may
	// not. A kernel without it changes nothing else.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	defer stop()
	return run(ctx, env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, now: time.Now, self: self, faults: with}, os.Args[1:])
}

// command is one word of the command line.
type command struct {
	name  string
	usage string
	about string
	run   func(ctx context.Context, e env, args []string) error
}

// commands lists the tree, in the order the help shows it.
func commands() []command {
	return []command{
		{"demo", "demo", "the bundled site, an agent and the terminal UI, all on this machine, from nothing", runDemo},
		{"run", "run FLOW.json --company URL", "make a browsing task; questions appear here, or wait for papaver tui", runRun},
		{"flow", "flow check FILE", "name what of a flow can't be run, with its place", runFlow},
		{"tui", "tui", "show the home's running tasks and the questions that wait", runTUI},
		{"discover", "discover COMPANY", "read and check what a Company publishes, rule by rule", runDiscover},
		{"signin", "signin COMPANY", "give this agent access to your account at a Company", runSignIn},
		{"signout", "signout COMPANY", "take that access back", runSignOut},
		{"companies", "companies", "the Companies this home knows, and where you are signed in", runCompanies},
		{"ledger", "ledger list|show ID|verify [--head HASH]|export", "what happened, and proof that the record is intact", runLedger},
		{"identity", "identity init --client-id URL --name NAME | show | check | rotate | revoke-key KID", "the agent's keys, what to publish of them, and what is really published", runIdentity},
		{"lock", "lock set|status|remove", "your passphrase for answers, which seals the agent's keys and tokens too", runLock},
		{"mcp", "mcp [--uploads DIR] [--open]", "the acts as tools for an agent that is a language model, over standard input and output", runMCP},
		{"site", "site [--profile 0.1|0.2|1.0] [--agent-dir DIR]", "the bundled Company alone, for trying agents against", runSite},
		{"doctor", "doctor", "check Chromium, capture, clock, keys, lock, ledger, disk and terminal", runDoctor},
	}
}

// run finds the command, runs it and returns the exit status.
func run(ctx context.Context, e env, args []string) int {
	if len(args) == 0 {
		if onTerminal(e) {
			return status(e, runTUI(ctx, e, nil))
		}
		printHelp(e.stderr)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		printHelp(e.stdout)
		return exitDone
	case "version", "--version":
		printVersion(e.stdout)
		return exitDone
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return status(e, c.run(ctx, e, args[1:]))
		}
	}
	return status(e, usagef("there is no command %q; papaver help lists them", args[0]))
}

// status prints an error for people and returns the exit status that belongs to it.
func status(e env, err error) int {
	if err == nil {
		return exitDone
	}
	if code, ok := errors.AsType[exitCode](err); ok {
		return int(code)
	}
	printError(e.stderr, err)
	if errors.Is(err, errUsage) {
		return exitUsage
	}
	if errors.Is(err, context.Canceled) {
		return exitInterrupted
	}
	return exitError
}
