package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/papaver-agent/papaver/browser"
)

// fakeChromium in the environment makes the test's program a Chromium that fails as the value says.
const fakeChromium = "FAKE_CHROMIUM"

const (
	noDownloadBehavior = "no download behavior" // Browser.setDownloadBehavior fails
	orphans            = "orphans"              // a process outlives it for a moment
	lateTab            = "late tab"             // Target.createTarget of a context is answered when targets are asked for
	gibberish          = "gibberish"            // Target.createBrowserContext is answered with what is no message
	silence            = "silence"              // Target.createBrowserContext is not answered
	deafness           = "deafness"             // nothing is read after Browser.setDownloadBehavior
	refusesToStart     = "refuses to start"     // it says why, and ends
)

func TestMain(m *testing.M) {
	if fault := os.Getenv(fakeChromium); fault != "" {
		speak(fault)
		os.Exit(0)
	}
	if name := os.Getenv(ownerOf); name != "" {
		own(name)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// fake starts a fake Chromium.
func fake(t *testing.T, driver browser.Driver, fault string) browser.Engine {
	t.Helper()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startEngine(t, driver, browser.Process{Bin: bin, ProfileDir: t.TempDir(), Env: []string{fakeChromium + "=" + fault}})
}

type message struct {
	ID      int             `json:"id"`
	Method  string          `json:"method"`
	Session string          `json:"sessionId,omitempty"`
	Params  json.RawMessage `json:"params"`
}

// speak is a Chromium's side of the pipe, as far as the driver goes: it has targets and contexts, and no pages in them.
func speak(fault string) {
	in, out := bufio.NewReader(os.NewFile(3, "in")), os.NewFile(4, "out")
	send := func(m map[string]any) {
		text, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		_, _ = out.Write(append(text, 0))
	}
	answer := func(m message, result map[string]any) {
		reply := map[string]any{"id": m.ID, "result": result}
		if m.Session != "" {
			reply["sessionId"] = m.Session
		}
		send(reply)
	}
	refuse := func(m message) {
		send(map[string]any{"id": m.ID, "error": map[string]any{"code": -32000, "message": "the fake was told to"}})
	}
	info := func(id, kind, context string) map[string]any {
		return map[string]any{"targetId": id, "type": kind, "title": "", "url": "about:blank", "attached": false, "canAccessOpener": false, "browserContextId": context}
	}
	switch fault {
	case orphans:
		orphan()
	case refusesToStart:
		fmt.Fprintln(os.Stderr, "there is no display")
		return
	}
	var targets []map[string]any
	var late *message
	remove := func(key, id string) {
		targets = slices.DeleteFunc(targets, func(t map[string]any) bool { return t[key] == id })
	}
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		var p struct{ TargetID, BrowserContextID string }
		if json.Unmarshal(text[:len(text)-1], &m) != nil || len(m.Params) > 0 && json.Unmarshal(m.Params, &p) != nil {
			return
		}
		switch m.Method {
		case "Target.setDiscoverTargets":
			answer(m, map[string]any{})
			send(map[string]any{"method": "Target.targetCreated", "params": map[string]any{"targetInfo": info("first", "page", "")}})
		case "Target.createBrowserContext":
			switch fault {
			case gibberish:
				_, _ = out.Write([]byte(`{"id": "one", "method": 1}` + "\x00"))
				continue
			case silence:
				continue
			}
			targets = append(targets, info("context", "context", "C"))
			answer(m, map[string]any{"browserContextId": "C"})
		case "Target.disposeBrowserContext":
			remove("browserContextId", p.BrowserContextID)
			answer(m, map[string]any{})
		case "Browser.setDownloadBehavior":
			if fault == noDownloadBehavior {
				refuse(m)
				continue
			}
			answer(m, map[string]any{})
			if fault == deafness {
				<-make(chan struct{}) // until it is killed
			}
		case "Target.createTarget":
			if fault == lateTab {
				late = &m
				continue
			}
			answer(m, map[string]any{"targetId": "second"})
		case "Target.closeTarget":
			remove("targetId", p.TargetID)
			answer(m, map[string]any{"success": true})
		case "Target.getTargets":
			if late != nil {
				targets = append(targets, info("late", "page", "C"))
				answer(*late, map[string]any{"targetId": "late"})
				late = nil
			}
			answer(m, map[string]any{"targetInfos": targets})
		case "Target.attachToTarget":
			answer(m, map[string]any{"sessionId": "session-" + p.TargetID})
		case "Page.getFrameTree":
			id := strings.TrimPrefix(m.Session, "session-")
			answer(m, map[string]any{"frameTree": map[string]any{"frame": map[string]any{"id": id, "loaderId": "l", "url": "about:blank", "mimeType": "text/html"}}})
		case "DOM.getDocument":
			answer(m, map[string]any{"root": map[string]any{"nodeId": 1, "backendNodeId": 1, "nodeType": 9, "nodeName": "#document"}})
		case "Runtime.evaluate":
			answer(m, map[string]any{"result": map[string]any{"type": "object", "className": "Window"}})
		case "Browser.getVersion":
			answer(m, map[string]any{"product": "Fake/1"})
		case "Browser.close":
			answer(m, map[string]any{})
			return
		default:
			answer(m, map[string]any{})
		}
	}
}

// orphan starts a process that ends when this one has.
func orphan() {
	cmd := exec.Command("/bin/sh", "-c", "read line")
	if _, err := cmd.StdinPipe(); err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

func targets(t *testing.T, e browser.Engine) []browser.Target {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	list, err := e.Targets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAContextWhoseDownloadsCannotBeRefusedIsDisposed(t *testing.T) {
	eachDriver(t, testAContextWhoseDownloadsCannotBeRefusedIsDisposed)
}

func testAContextWhoseDownloadsCannotBeRefusedIsDisposed(t *testing.T, driver browser.Driver) {
	e := fake(t, driver, noDownloadBehavior)
	if id, err := e.NewContext(t.Context()); err == nil || id != "" || !strings.Contains(err.Error(), "told to") {
		t.Errorf("NewContext = %q, %v", id, err)
	}
	if left := targets(t, e); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestATabThatComesTooLateIsClosed(t *testing.T) {
	eachDriver(t, testATabThatComesTooLateIsClosed)
}

func testATabThatComesTooLateIsClosed(t *testing.T, driver browser.Driver) {
	e := fake(t, driver, lateTab)
	id, err := e.NewContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.NewTab(ctx, id); !errors.Is(err, context.Canceled) {
		t.Fatalf("NewTab: %v", err)
	}
	isLate := func(target browser.Target) bool { return target.ID == "late" }
	for !slices.ContainsFunc(targets(t, e), isLate) { // asking lets it come, when it is asked for
	}
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	for slices.ContainsFunc(targets(t, e), isLate) {
		if ctx.Err() != nil {
			t.Fatal("it is open for ever")
		}
	}
}

// TestWhatOutlivesChromiumIsWaitedFor makes the test's process what a container's first one is: where orphans go.
func TestWhatOutlivesChromiumIsWaitedFor(t *testing.T) {
	eachDriver(t, testWhatOutlivesChromiumIsWaitedFor)
}

func testWhatOutlivesChromiumIsWaitedFor(t *testing.T, driver browser.Driver) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e, err := driver.Start(t.Context(), browser.Process{Bin: bin, ProfileDir: t.TempDir(), Env: []string{fakeChromium + "=" + orphans}}, func(browser.Paused) {})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("process %d is left to be waited for: %v", pid, err)
	}
}

// TestWhatIsNoMessageEndsTheDriverAndNotTheProgram has Chromium send what a driver's library may panic on.
func TestWhatIsNoMessageEndsTheDriverAndNotTheProgram(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		e := fake(t, driver, gibberish)
		if id, err := e.NewContext(t.Context()); err == nil {
			t.Errorf("NewContext = %q", id)
		}
		<-e.Gone()
	})
}

func TestACallThatIsNotAnsweredEndsWithItsContext(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		e := fake(t, driver, silence)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if id, err := e.NewContext(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("NewContext = %q, %v", id, err)
		}
	})
}

func TestAChromiumThatDoesNotReadHoldsUpNobody(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		e := fake(t, driver, deafness)
		if _, err := e.NewContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := e.Release(ctx, browser.PausedID(strings.Repeat("x", 1<<20))); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Release: %v", err)
			}
			cancel()
		}
	})
}

func TestAChromiumThatDoesNotStartSaysWhy(t *testing.T) {
	eachDriver(t, func(t *testing.T, driver browser.Driver) {
		bin, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		p := browser.Process{Bin: bin, ProfileDir: t.TempDir(), Env: []string{fakeChromium + "=" + refusesToStart}}
		if _, err := driver.Start(t.Context(), p, func(browser.Paused) {}); err == nil || !strings.Contains(err.Error(), "there is no display") {
			t.Errorf("err = %v", err)
		}
	})
}
