package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMain fails when the tests left a file in their temporary folder: a profile, a socket, a home.
func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "a")
	if err != nil {
		fmt.Fprintln(os.Stderr, "a folder for the tests:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) > 0 {
		fmt.Fprintln(os.Stderr, "left behind by the tests:", left, err)
		return 1
	}
	return code
}
