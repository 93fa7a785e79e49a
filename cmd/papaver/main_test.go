package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain puts this very program on PATH as papaver, so that every test runs it as a process of its own, and fails
// when the tests left a process or a file behind.
func TestMain(m *testing.M) {
	testscript.Main(clean{m}, map[string]func(){"papaver": func() { os.Exit(begin(deaths(os.Getenv(dieEnv)))) }})
}

// clean runs the tests in a temporary folder of their own and looks at what is left of them.
type clean struct{ m *testing.M }

// Run implements [testscript.TestingM].
func (c clean) Run() int {
	dir, err := os.MkdirTemp("", "e")
	if err != nil {
		fmt.Fprintln(os.Stderr, "a folder for the tests:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// These tests wait for other processes most of the time. -parallel on the command line still wins.
	if err := flag.Set("test.parallel", "3"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := c.m.Run()
	if left := leftIn(dir); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind by the tests:")
		for _, what := range left {
			fmt.Fprintln(os.Stderr, " ", what)
		}
		return 1
	}
	return code
}

// leftIn names the files in a temporary folder and the processes that use it, once they had a moment to end.
func leftIn(dir string) []string {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(5 * time.Second)
	defer deadline.Stop()
	for {
		left := append(filesIn(dir), processesOn(dir)...)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			return left
		}
	}
}

func filesIn(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []string{err.Error()}
	}
	var left []string
	for _, e := range entries {
		left = append(left, filepath.Join(dir, e.Name()))
	}
	return left
}

// processesOn names the other processes that have dir as their TMPDIR or name it on their command line.
func processesOn(dir string) []string {
	var left []string
	for pid, command := range processes(dir) {
		left = append(left, fmt.Sprintf("process %d: %.200q", pid, command))
	}
	return left
}

// processes finds the other processes that have dir, or a folder in it, as their TMPDIR or on their command line.
func processes(dir string) map[int]string {
	found := make(map[int]string)
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid == os.Getpid() {
			continue
		}
		command, err := os.ReadFile(filepath.Join(folder, "cmdline")) // a process may end at any moment
		if err != nil || len(command) == 0 {
			continue
		}
		environment, _ := os.ReadFile(filepath.Join(folder, "environ"))
		if bytes.Contains(command, []byte(dir)) || bytes.Contains(environment, []byte("TMPDIR="+dir)) {
			found[pid] = string(bytes.ReplaceAll(command, []byte{0}, []byte(" ")))
		}
	}
	return found
}
