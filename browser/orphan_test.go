package browser_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/browser/roddriver"
)

// ownerOf in the environment makes the test's program one that starts a Chromium with the driver of that name, on the
// profile and the program of the others, and waits.
const (
	ownerOf      = "OWNER_OF_CHROMIUM"
	ownerProfile = "OWNER_PROFILE"
	ownerBin     = "OWNER_BIN"
)

// own is that program. It says when Chromium is up.
func own(name string) {
	drivers := map[string]browser.Driver{"chromedp": chromedpdriver.Driver{}, "rod": roddriver.Driver{}}
	p := browser.Process{Bin: os.Getenv(ownerBin), ProfileDir: os.Getenv(ownerProfile), Env: []string{"PATH=" + os.Getenv("PATH")},
		Flags: []browser.Flag{{Name: "headless"}, {Name: "no-sandbox"}}} // it loads no page
	if _, err := drivers[name].Start(context.Background(), p, func(browser.Paused) {}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("up")
	<-make(chan struct{}) // until it is killed
}

// runsOn reports whether a process has that folder as its profile.
func runsOn(t *testing.T, profile string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if command, err := os.ReadFile(file); err == nil && bytes.Contains(command, []byte("--user-data-dir="+profile)) {
			return true
		}
	}
	return false
}

func TestChromiumEndsWithItsOwnerHoweverThatEnds(t *testing.T) {
	eachDriver(t, func(t *testing.T, _ browser.Driver) {
		bin, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		p := process(t)
		cmd := exec.CommandContext(t.Context(), bin)
		cmd.Env = []string{ownerOf + "=" + path.Base(t.Name()), ownerProfile + "=" + p.ProfileDir, ownerBin + "=" + p.Bin, "PATH=" + os.Getenv("PATH")}
		said, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(said).ReadString('\n'); line != "up\n" {
			t.Errorf("the owner says %q, %v", line, err)
		}
		if !runsOn(t, p.ProfileDir) {
			t.Error("no Chromium runs")
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil {
			t.Error("the owner ended by itself")
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for runsOn(t, p.ProfileDir) {
			if ctx.Err() != nil {
				t.Fatal("Chromium outlives its owner")
			}
		}
	})
}
