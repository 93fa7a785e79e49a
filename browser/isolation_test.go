package browser_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// TestEveryProcessOfAChromiumOfOursIsKeptToItself looks at the processes as the machine has them: none waits for connections,
// none has a switch that weakens it, they are a group of their own, and nobody else reads the profile.
func TestEveryProcessOfAChromiumOfOursIsKeptToItself(t *testing.T) {
	eachDriver(t, testEveryProcessOfAChromiumOfOursIsKeptToItself)
}

func testEveryProcessOfAChromiumOfOursIsKeptToItself(t *testing.T, driver browser.Driver) {
	newContext(t, start(t, driver, func(context.Context, browser.Held) {}))
	leader := chromium(t)
	if group, err := syscall.Getpgid(leader); err != nil || group != leader || group == syscall.Getpgrp() {
		t.Errorf("its group is %d, %v", group, err)
	}
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	waits := listening(t)
	processes := 0
	for _, folder := range folders {
		if !descends(folder, leader) {
			continue
		}
		processes++
		command, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil {
			continue // it has ended
		}
		for _, weak := range []string{
			"--disable-web-security", "--disable-site-isolation", "--remote-debugging-port", "--remote-debugging-address", "--single-process", "--ignore-certificate-errors ",
			"--allow-running-insecure-content", "--load-extension", "IsolateOrigins", "site-per-process",
		} {
			if strings.Contains(strings.ReplaceAll(string(command), "\x00", " ")+" ", weak) {
				t.Errorf("%s has %s", folder, weak)
			}
		}
		files, err := filepath.Glob(filepath.Join(folder, "fd", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if to, err := os.Readlink(file); err == nil && waits[to] {
				t.Errorf("%s listens: %s", folder, to)
			}
		}
	}
	if processes < 3 {
		t.Errorf("%d processes were looked at", processes)
	}
	profiles, err := filepath.Glob(filepath.Join(os.TempDir(), "papaver-chromium-*"))
	if err != nil || len(profiles) != 1 {
		t.Fatalf("profiles: %q, %v", profiles, err)
	}
	if beside, err := filepath.Glob(filepath.Join(os.TempDir(), "*chromium.*")); err != nil || len(beside) > 0 {
		t.Errorf("beside its profile Chromium made %q, %v", beside, err)
	}
	if info, err := os.Stat(profiles[0]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the profile: %v, %v", info, err)
	}
}
