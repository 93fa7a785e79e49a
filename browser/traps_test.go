package browser_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/browser"
)

// commandLine are the arguments of the one Chromium that runs on that profile.
func commandLine(t *testing.T, profile string) (pid int, arguments []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		arguments := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		if err != nil || !slices.Contains(arguments, "--user-data-dir="+profile) || strings.Contains(string(text), "--type=") {
			continue
		}
		if pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file))); err != nil {
			t.Fatal(err)
		}
		return pid, arguments
	}
	t.Fatal("no Chromium runs")
	return 0, nil
}

// listening are the inodes of the sockets of this machine that wait for connections over TCP.
func listening(t *testing.T) map[string]bool {
	t.Helper()
	inodes := make(map[string]bool)
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			if f := strings.Fields(lines.Text()); len(f) > 9 && f[3] == "0A" {
				inodes["socket:["+f[9]+"]"] = true
			}
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return inodes
}

// TestChromiumGetsOurFlagsAndOpensNoPort looks at the process itself: a driver may add the pipe and the profile, and
// nothing that weakens it; whoever reached a debugging port could forge what we receive.
func TestChromiumGetsOurFlagsAndOpensNoPort(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		p := process(t)
		e := startEngine(t, driver, p)
		newTab(t, e) // it is up in all its parts
		pid, arguments := commandLine(t, p.ProfileDir)
		want := []string{"--remote-debugging-pipe", "--user-data-dir=" + p.ProfileDir, "about:blank"}
		for _, f := range p.Flags {
			want = append(want, strings.TrimSuffix("--"+f.Name+"="+f.Value, "="))
		}
		got := slices.Clone(arguments[1:])
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("Chromium's arguments are\n%q, want\n%q", got, want)
		}
		if _, err := os.Stat(filepath.Join(p.ProfileDir, "DevToolsActivePort")); err == nil {
			t.Error("a debugging port is written into the profile")
		}
		waits := listening(t)
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		if err != nil || len(files) == 0 {
			t.Fatalf("Chromium's files: %v, %v", files, err)
		}
		for _, file := range files {
			if to, err := os.Readlink(file); err == nil && waits[to] {
				t.Errorf("Chromium listens: %s", to)
			}
		}
	})
}

// TestAFrameOfAnotherSiteHasAProcessOfItsOwn is site isolation, which a driver's library may switch off.
func TestAFrameOfAnotherSiteHasAProcessOfItsOwn(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			_, _ = fmt.Fprint(w, `<!doctype html><link rel=icon href="data:,"><iframe src="http://other.test/frame"></iframe>`)
		}
	}))
	t.Cleanup(server.Close)
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		p := process(t)
		p.Flags = append(p.Flags, browser.Flag{Name: "host-resolver-rules", Value: "MAP *.test:80 " + server.Listener.Addr().String()})
		e := startEngine(t, driver, p)
		tab := newTab(t, e)
		if err := tab.Navigate(t.Context(), "http://one.test/"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		isFrame := func(target browser.Target) bool { return target.Type == "iframe" }
		for !slices.ContainsFunc(targets(t, e), isFrame) {
			if ctx.Err() != nil {
				t.Fatalf("the frame is in its page's process: %v", targets(t, e))
			}
		}
		if frames, err := e.FramesIn(t.Context(), tab.ID()); err != nil || len(frames) != 1 {
			t.Errorf("frames of the page's process: %v, %v", frames, err)
		}
	})
}

// TestATabInTheBackIsClicked presses a control in a tab that another one covers: a driver must not wait for it to draw.
func TestATabInTheBackIsClicked(t *testing.T) {
	clicked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/clicked" {
			clicked <- struct{}{}
			return
		}
		_, _ = fmt.Fprint(w, `<!doctype html><link rel=icon href="data:,"><style>button { position: fixed; inset: 0 }</style><button onclick="fetch('/clicked')">Go</button>`)
	}))
	t.Cleanup(server.Close)
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		e := startEngine(t, driver, process(t))
		id, err := e.NewContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		back, err := e.NewTab(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if err := back.Navigate(t.Context(), server.URL); err != nil {
			t.Fatal(err)
		}
		front, err := e.NewTab(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for n, changed := back.Activity(); n > 0; n, changed = back.Activity() {
			<-changed
		}
		if err := front.Front(ctx); err != nil {
			t.Fatal(err)
		}
		var state string
		if err := back.Call(ctx, `() => document.visibilityState`, &state); err != nil || state != "visible" {
			t.Errorf("the tab in the back is %s, %v: its input waits for a frame that it does not draw", state, err)
		}
		for _, action := range []browser.MouseAction{browser.Moved, browser.Pressed, browser.Released} {
			if err := back.Mouse(ctx, browser.MouseEvent{Action: action, X: 20, Y: 20, Button: browser.Primary, Count: 1}); err != nil {
				t.Fatal(err)
			}
		}
		select {
		case <-clicked:
		case <-ctx.Done():
			t.Error("nothing was clicked")
		}
	})
}

// TestNothingOfADriverRunsAfterClose looks for goroutines of its library.
func TestNothingOfADriverRunsAfterClose(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		e, err := driver.Start(t.Context(), process(t), func(browser.Paused) {})
		if err != nil {
			t.Fatal(err)
		}
		newTab(t, e)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Fatal(err)
		}
		stacks := make([]byte, 1<<20)
		for {
			text := string(stacks[:runtime.Stack(stacks, true)])
			var left []string
			for _, stack := range strings.Split(text, "\n\n") {
				if strings.Contains(stack, "go-rod") || strings.Contains(stack, "chromedp") || strings.Contains(stack, "roddriver") {
					left = append(left, stack)
				}
			}
			if len(left) == 0 {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("still there:\n%s", strings.Join(left, "\n\n"))
			}
			runtime.Gosched() // what has nothing left to do is seen until it has ended
		}
	})
}
