package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// installed is the folder for what others made. The leading dot keeps it out of ./... and of the tests that read sources.
const installed = ".interop"

// Times.
const (
	installTimeout = 4 * time.Minute
	probeTimeout   = 20 * time.Second
	endWait        = 5 * time.Second // from the wish to end a process until it is killed
)

// errNotHere is wrapped when an interpreter isn't on this machine.
var errNotHere = errors.New("not on this machine")

// need is what a row can't do without.
type need string

const (
	nothing  need = ""
	python01 need = "0.1"
	python02 need = "0.2"
	node     need = "node"
	replay   need = "replay"
	mcpNode  need = "mcp"
	mcpPy    need = "mcp-python"
)

// world is what all rows share.
type world struct {
	state  string // a folder for this run
	binary string // papaver
	driver string // of papaver run
	flow   string // a part of the names of the recordings that are made
	log    io.Writer
	node   string // the interpreter
	nodes  string // the folder with the scripts and their modules
	mcp    string // the same of the clients of papaver mcp
	mcpPy  string // the Python that has one
	replay string // the same of the recorded flows' reference
	live   bool   // the reference is run, and not read
	venv   map[need]string
	lacks  map[need]error // what could not be set up
}

// setUp installs what is not installed yet, all parts at once, and returns what could not be.
func (w *world) setUp(ctx context.Context) map[need]error {
	began := time.Now()
	python, pythonErr := interpreter(ctx, "PYTHON", "python3", "-c", "import sys; sys.exit(sys.version_info < (3, 10))")
	nodePath, nodeErr := interpreter(ctx, "NODE", "node", "-e", "process.exit(+(process.versions.node.split('.')[0] < 20))")
	w.node, w.venv = nodePath, make(map[need]string)
	root, err := filepath.Abs(installed)
	if err != nil {
		return map[need]error{nothing: err, python01: err, python02: err, node: err}
	}
	w.nodes, w.replay = filepath.Join(root, "node"), filepath.Join(root, "replay")
	missing := make(map[need]error)
	var mu sync.Mutex
	var all sync.WaitGroup
	install := func(n need, before error, do func() error) {
		all.Go(func() {
			err := before
			if err == nil {
				err = do()
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				missing[n] = err
			}
		})
	}
	for _, draft := range []need{python01, python02} {
		venv := filepath.Join(root, "peer-"+string(draft))
		w.venv[draft] = filepath.Join(venv, "bin", "python")
		install(draft, pythonErr, func() error {
			cmd := command(ctx, "interop/peer/setup.sh", venv, string(draft))
			cmd.Env = append(cmd.Env, "PYTHON="+python)
			return output(cmd, installTimeout)
		})
	}
	install(node, nodeErr, func() error { return installModules(ctx, "interop/node", w.nodes) })
	w.mcp = filepath.Join(root, "mcp")
	install(mcpNode, nodeErr, func() error { return installModules(ctx, mcpFolder, w.mcp) })
	w.mcpPy = filepath.Join(root, "mcp-python", "bin", "python")
	install(mcpPy, pythonErr, func() error { return installMCP(ctx, python, filepath.Join(root, "mcp-python")) })
	if w.live {
		install(replay, nodeErr, func() error { return installModules(ctx, flowFolder+"/replay", w.replay) })
	}
	all.Wait()
	fmt.Fprintf(w.log, "set up in %.1f s\n", time.Since(began).Seconds())
	w.lacks = missing
	return missing
}

// installModules copies scripts beside their modules, and asks npm for the modules when the lock file changed.
func installModules(ctx context.Context, from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	sources, err := filepath.Glob(filepath.Join(from, "*"))
	if err != nil {
		return err
	}
	changed := false
	for _, source := range sources {
		data, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.Base(source))
		if filepath.Base(source) == "package-lock.json" {
			old, err := os.ReadFile(filepath.Join(to, "installed-lock.json"))
			changed = err != nil || !bytes.Equal(old, data)
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	cmd := command(ctx, "npm", "ci", "--ignore-scripts", "--legacy-peer-deps", "--no-audit", "--no-fund")
	cmd.Dir = to
	if err := output(cmd, installTimeout); err != nil {
		return err
	}
	lock, err := os.ReadFile(filepath.Join(to, "package-lock.json"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "installed-lock.json"), lock, 0o644)
}

// installMCP makes a virtual environment with the Python SDK, unless it is there.
func installMCP(ctx context.Context, python, dir string) error {
	wanted, err := os.ReadFile(mcpFolder + "/requirements.txt")
	if err != nil {
		return err
	}
	note := filepath.Join(dir, "installed.txt")
	if has, err := os.ReadFile(note); err == nil && bytes.Equal(has, wanted) {
		return nil
	}
	if err := output(command(ctx, python, "-m", "venv", dir), installTimeout); err != nil {
		return err
	}
	pip := command(ctx, filepath.Join(dir, "bin", "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", mcpFolder+"/requirements.txt")
	if err := output(pip, installTimeout); err != nil {
		return err
	}
	return os.WriteFile(note, wanted, 0o644)
}

// interpreter finds an interpreter by a variable or by name, and tries it.
func interpreter(ctx context.Context, variable, name string, probe ...string) (string, error) {
	if named := os.Getenv(variable); named != "" {
		name = named
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, errNotHere)
	}
	if err := output(command(ctx, path, probe...), probeTimeout); err != nil {
		return "", fmt.Errorf("a %s that is new enough: %w", name, errNotHere)
	}
	return path, nil
}

// command makes a process that has a group of its own, so that what it started ends with it.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = endWait
	return cmd
}

// output runs a process to its end. What it printed is in the error.
func output(cmd *exec.Cmd, limit time.Duration) error {
	out, err := combined(cmd, limit)
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, tail(out))
	}
	return nil
}

// combined runs a process to its end and returns what it printed.
func combined(cmd *exec.Cmd, limit time.Duration) (string, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return "", err
	}
	late := time.AfterFunc(limit, func() { _ = cmd.Cancel() })
	defer late.Stop()
	err := cmd.Wait()
	return out.String(), err
}

// tail is the end of a text, for an error.
func tail(text string) string {
	const most = 2000
	text = strings.TrimSpace(text)
	if len(text) > most {
		text = "…" + text[len(text)-most:]
	}
	return text
}
