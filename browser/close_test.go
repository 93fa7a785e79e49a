package browser

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestCloseEndsWhatIsHeldAndWaitsForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := false
		b, d := startFake(t, func(ctx context.Context, _ Held) {
			<-ctx.Done()
			<-time.NewTimer(time.Second).C // it needs a moment to stop
			ended = true
		})
		d.engine.paused(refusal("r", "worker"))
		synctest.Wait()
		mustClose(t, b)
		if !ended {
			t.Error("OnHeld still runs")
		}
		if n := len(d.engine.of("r")); n != 1 {
			t.Errorf("let go %d times", n)
		}
		if _, err := os.Stat(d.process.ProfileDir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the profile: %v", err)
		}
		d.engine.paused(refusal("late", "worker")) // Chromium's last words
		synctest.Wait()
		if n := len(d.engine.of("late")); n != 0 {
			t.Error("a response was handled after Close")
		}
	})
}

func TestASecondCloseWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, d := startFake(t, nobodyHolds)
		d.engine.onClose = func() { <-time.NewTimer(3 * time.Second).C }
		began := time.Now()
		first := make(chan error, 1)
		go func() { first <- b.Close(context.Background()) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := b.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("in its own time: %v", err)
		}
		mustClose(t, b)
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("returned after %v", waited)
		}
		if err := <-first; err != nil || d.engine.closed != 1 {
			t.Errorf("closed %d times, %v", d.engine.closed, err)
		}
	})
}

func TestCloseDoesNotWaitForEverForAnOnHeldThatDoesNotStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		b, d := startFake(t, func(context.Context, Held) { <-release })
		d.engine.paused(refusal("r", "worker"))
		synctest.Wait()
		began := time.Now()
		err := b.Close(context.Background())
		if err == nil || !strings.Contains(err.Error(), "held response") || time.Since(began) != closeTimeout {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestABrowserThatDoesNotStartLeavesNothing(t *testing.T) {
	t.Parallel()
	d := &fakeDriver{engine: &fakeEngine{gone: make(chan struct{})}, err: errFake}
	_, err := Start(t.Context(), fakeConfig(t, d, nobodyHolds))
	if !errors.Is(err, errFake) {
		t.Errorf("err = %v", err)
	}
	if d.process.ProfileDir == "" {
		t.Fatal("no profile was made")
	}
	if _, err := os.Stat(d.process.ProfileDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the profile: %v", err)
	}
}

func TestABrowserNeedsADriverAHeaderAndSomebodyToTell(t *testing.T) {
	t.Parallel()
	d := &fakeDriver{engine: &fakeEngine{gone: make(chan struct{})}}
	for name, spoil := range map[string]func(*Config){
		"no driver":   func(c *Config) { c.Driver = nil },
		"no header":   func(c *Config) { c.Watch = "" },
		"no OnHeld":   func(c *Config) { c.OnHeld = nil },
		"no Chromium": func(c *Config) { c.Bin = "/nowhere/chromium" },
	} {
		cfg := fakeConfig(t, d, nobodyHolds)
		spoil(&cfg)
		if _, err := Start(t.Context(), cfg); err == nil || errors.Is(err, ErrNoChromium) != (name == "no Chromium") {
			t.Errorf("%s: err = %v", name, err)
		}
	}
	if d.process.ProfileDir != "" {
		t.Error("a Chromium was started")
	}
}
