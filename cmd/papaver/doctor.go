package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/skew"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/session"
	"github.com/papaver-agent/papaver/tui"
)

const (
	leastSpace = 100 << 20 // bytes free in the home
	oldKey     = 365 * 24 * time.Hour
)

// check is one thing the doctor looks at. It returns what it found; an error is a failure, with its cure.
type check struct {
	name string
	run  func(ctx context.Context, p patient) (found string, err error)
}

// patient is what is looked at.
type patient struct {
	env     env
	dir     string
	sandbox bool
}

// sick is a failed check and what to do about it.
type sick struct {
	what string
	cure string
}

func (s sick) Error() string { return s.what }

// examined is a check's line with --json.
type examined struct {
	Check string `json:"check"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	Cure  string `json:"cure,omitempty"`
}

func runDoctor(ctx context.Context, e env, args []string) error {
	f := newFlags("doctor")
	p := patient{env: e}
	f.BoolVar(&p.sandbox, "sandbox", true, "Chromium's sandbox; as root Chromium needs --sandbox=false")
	if _, err := f.parse(e, args, 0, 0); err != nil {
		return err
	}
	var err error
	if p.dir, err = f.homeDir(e); err != nil {
		return err
	}
	out := lines{w: e.stdout}
	failed := 0
	for _, c := range checks() {
		found, err := c.run(ctx, p)
		result := examined{Check: c.name, OK: err == nil, Found: found}
		if err != nil {
			failed++
			result.Found = err.Error()
			if s, ok := errors.AsType[sick](err); ok {
				result.Cure = s.cure
			}
		}
		if f.json {
			out.write(result)
			continue
		}
		mark := "ok   "
		if !result.OK {
			mark = "FAIL "
		}
		fmt.Fprintf(e.stdout, "%s%-10s %s\n", mark, result.Check, plaintext.Whole(result.Found))
		if result.Cure != "" {
			fmt.Fprintf(e.stdout, "     %-10s cure: %s\n", "", result.Cure)
		}
	}
	if failed > 0 {
		return exitCode(exitError)
	}
	return out.failed()
}

func checks() []check {
	return []check{
		{"home", checkHome},
		{"disk", checkDisk},
		{"keys", checkKeys},
		{"lock", checkLock},
		{"ledger", checkLedger},
		{"clock", checkClock},
		{"terminal", checkTerminal},
		{"chromium", checkChromium},
	}
}

func checkHome(_ context.Context, p patient) (string, error) {
	h, err := home.Open(p.dir)
	if err != nil {
		return "", sick{err.Error(), "chmod 700 the folder, or name another with --home"}
	}
	return h.Dir(), nil
}

func checkDisk(_ context.Context, p patient) (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(p.dir, &st); err != nil {
		return "", sick{"the home's file system: " + err.Error(), "name a home on another disk with --home"}
	}
	free := int64(st.Bavail) * int64(st.Bsize)
	if free < leastSpace {
		return "", sick{fmt.Sprintf("%d MiB are free", free>>20), "free some space: nothing is done that can't be written down"}
	}
	probe, err := os.CreateTemp(p.dir, ".doctor-*")
	if err != nil {
		return "", sick{"nothing can be written: " + err.Error(), "check the folder's rights and the disk"}
	}
	defer func() { _ = os.Remove(probe.Name()) }()
	err = errors.Join(probe.Sync(), probe.Close())
	if err != nil {
		return "", sick{"writing does not reach the disk: " + err.Error(), "check the disk"}
	}
	return fmt.Sprintf("%d MiB are free, and writing reaches the disk", free>>20), nil
}

func checkKeys(_ context.Context, p patient) (string, error) {
	id, err := session.Load(filepath.Join(p.dir, "identity"))
	if errors.Is(err, session.ErrNoIdentity) {
		return "", sick{err.Error(), "papaver identity init --client-id URL --name NAME"}
	}
	if err != nil {
		return "", sick{err.Error(), "put a good copy of the identity back"}
	}
	now := p.env.now()
	for _, k := range id.KeyStatuses(now) {
		if k.Created.After(now.Add(time.Hour)) {
			return "", sick{fmt.Sprintf("key %s was made %s, which is not yet", k.Thumbprint, k.Created.Format(time.DateOnly)), "set the clock"}
		}
		// Where a next key waits, the rotation is under way already.
		if k.State == session.Current && k.Retired == nil && now.Sub(k.Created) > oldKey {
			return "", sick{fmt.Sprintf("the key that signs was made %s, more than a year ago", k.Created.Format(time.DateOnly)), "papaver identity rotate, and publish jwks.json"}
		}
	}
	return describeKeys(id, now), nil
}

// describeKeys says which key signs, and which will.
func describeKeys(id *session.Identity, now time.Time) string {
	said := id.ClientID()
	for _, k := range id.KeyStatuses(now) {
		switch k.State {
		case session.Current:
			said += fmt.Sprintf(", key %s (%d days old)", k.Thumbprint, int(now.Sub(k.Created).Hours()/24))
		case session.Next:
			said += fmt.Sprintf(", followed by %s at %s", k.Thumbprint, moment(k.Activates))
		}
	}
	return said
}

func checkLedger(_ context.Context, p patient) (string, error) {
	path := filepath.Join(p.dir, "ledger", ledger.FileName)
	report, err := ledger.Scan(path, func(ledger.Record) error { return nil })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "none yet", nil
	case err != nil:
		return "", sick{err.Error(), "keep the file as it is, and put a good copy back"}
	}
	return fmt.Sprintf("intact, %d records", report.Records), nil
}

// checkClock asks nothing over the network: it has what Companies last said, and else finds a clock that is far off.
func checkClock(_ context.Context, p patient) (string, error) {
	now := p.env.now()
	info, err := os.Stat(p.env.self)
	if err == nil && now.Before(info.ModTime().Add(-24*time.Hour)) {
		return "", sick{"it says " + now.Format(time.RFC3339) + ", which is before this program was built", "set the clock"}
	}
	h, err := home.Open(p.dir)
	if err != nil {
		return "", sick{err.Error(), "chmod 700 the folder, or name another with --home"}
	}
	kept, err := company.OpenCache(h.Companies(), p.env.now)
	if err != nil {
		return "", sick{err.Error(), "check the folder's rights"}
	}
	other, compared := kept.Clock()
	switch {
	case !compared:
		return now.Format(time.RFC3339) + " (compared with no other clock)", nil
	case other.Ahead.Abs() >= skew.Notable:
		way := "ahead of"
		if other.Ahead < 0 {
			way = "behind"
		}
		return "", sick{fmt.Sprintf("at %s it was %v %s that of %s", other.At.Format(time.RFC3339), other.Ahead.Abs().Round(time.Second), way, other.Host), "set the clock, and run papaver discover to compare it again"}
	default:
		return fmt.Sprintf("%s (at %s the same as that of %s)", now.Format(time.RFC3339), other.At.Format(time.RFC3339), other.Host), nil
	}
}

func checkTerminal(_ context.Context, p patient) (string, error) {
	terminal, err := tui.OpenTerminal()
	if err != nil {
		return "", sick{err.Error(), "run papaver in a terminal: questions are answered there and nowhere else"}
	}
	defer func() { _ = terminal.Close() }()
	color, unicode, _ := tui.Capabilities(p.env.getenv)
	return fmt.Sprintf("there is one (color %v, unicode %v)", color, unicode), nil
}

func checkChromium(ctx context.Context, p patient) (string, error) {
	bin, err := browser.Find("")
	if err != nil {
		return "", sick{"there is none", "install it: apt-get install chromium"}
	}
	var version string
	for _, d := range drivers {
		version, err = browser.SelfCheck(ctx, browser.Config{Driver: d.driver, Bin: bin, NoSandbox: !p.sandbox, Now: p.env.now})
		switch {
		case errors.Is(err, browser.ErrSandboxAsRoot):
			return "", sick{err.Error(), "run as an ordinary user, or give --sandbox=false"}
		case errors.Is(err, browser.ErrNotHeld):
			return "", sick{version + " with " + d.name + ": " + err.Error(), "use another version of Chromium; no Session may be joined with this one"}
		case err != nil && strings.Contains(err.Error(), "sandbox"):
			return "", sick{err.Error(), "allow unprivileged user namespaces, or give --sandbox=false"}
		case err != nil:
			return "", sick{"with " + d.name + ": " + err.Error(), "reinstall Chromium"}
		}
	}
	return fmt.Sprintf("%s at %s holds responses for both drivers, chromedp and rod, each over a pipe: no debugging port", version, bin), nil
}
