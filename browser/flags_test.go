package browser

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func flag(list []Flag, name string) (string, bool) {
	i := slices.IndexFunc(list, func(f Flag) bool { return f.Name == name })
	if i < 0 {
		return "", false
	}
	return list[i].Value, true
}

func TestNoFlagWeakensChromiumUnlessAskedFor(t *testing.T) {
	t.Parallel()
	for _, headful := range []bool{false, true} {
		for _, noSandbox := range []bool{false, true} {
			list := flags(Config{Headful: headful, NoSandbox: noSandbox, HostResolverRules: "MAP a.test:443 127.0.0.1:1", LeafKeys: []string{"k1=", "k2="}})
			for _, name := range []string{
				"remote-debugging-port", "remote-debugging-address", "remote-allow-origins", "disable-web-security", "disable-site-isolation-trials",
				"disable-site-isolation-for-policy", "single-process", "no-zygote", "ignore-certificate-errors", "allow-running-insecure-content",
				"allow-file-access-from-files", "disable-setuid-sandbox", "disable-seccomp-filter-sandbox", "load-extension", "user-data-dir",
			} {
				if _, there := flag(list, name); there {
					t.Errorf("--%s is given", name)
				}
			}
			features, _ := flag(list, "disable-features")
			for _, feature := range []string{"IsolateOrigins", "site-per-process", "SitePerProcess", "LocalNetworkAccess", "PrivateNetworkAccess"} {
				if strings.Contains(features, feature) {
					t.Errorf("the feature %s is off", feature)
				}
			}
			if _, off := flag(list, "no-sandbox"); off != noSandbox {
				t.Errorf("NoSandbox %v: --no-sandbox %v", noSandbox, off)
			}
			if _, headless := flag(list, "headless"); headless == headful {
				t.Errorf("Headful %v: --headless %v", headful, headless)
			}
			if rules, _ := flag(list, "host-resolver-rules"); rules != "MAP a.test:443 127.0.0.1:1" {
				t.Errorf("rules %q", rules)
			}
			if keys, _ := flag(list, "ignore-certificate-errors-spki-list"); keys != "k1=,k2=" {
				t.Errorf("keys %q", keys)
			}
		}
	}
	for _, name := range []string{"host-resolver-rules", "ignore-certificate-errors-spki-list", "no-sandbox"} {
		if _, there := flag(flags(Config{}), name); there {
			t.Errorf("--%s is given without a reason", name)
		}
	}
}

func TestAsRootTheSandboxIsNotSwitchedOffByItself(t *testing.T) {
	t.Parallel()
	d := &fakeDriver{engine: &fakeEngine{gone: make(chan struct{})}}
	cfg := fakeConfig(t, d, nobodyHolds)
	cfg.NoSandbox = false
	b, err := Start(t.Context(), cfg)
	if os.Geteuid() == 0 {
		if !errors.Is(err, ErrSandboxAsRoot) || d.process.Bin != "" {
			t.Errorf("err = %v, started %q", err, d.process.Bin)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, off := flag(d.process.Flags, "no-sandbox"); off {
		t.Error("the sandbox is off")
	}
	mustClose(t, b)
}

// TestChromiumSeesNoSecretOfOurs sets the process's environment, so nothing runs beside it.
func TestChromiumSeesNoSecretOfOurs(t *testing.T) {
	for _, name := range []string{"PAPAVER_X", "PAPAVER_HOME", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "HTTPS_PROXY", "SSLKEYLOGFILE", "LD_PRELOAD", "CHROME_FLAGS"} {
		t.Setenv(name, "s3cret")
	}
	t.Setenv("HOME", "/home/person")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("TMPDIR", t.TempDir())
	b, d := startFake(t, nobodyHolds)
	defer mustClose(t, b)
	for _, entry := range d.process.Env {
		if strings.Contains(entry, "s3cret") || strings.Contains(entry, "/home/person") {
			t.Errorf("Chromium sees %s", entry)
		}
	}
	for _, want := range []string{"LANG=C.UTF-8", "HOME=" + d.process.ProfileDir} {
		if !slices.Contains(d.process.Env, want) {
			t.Errorf("Chromium does not see %s", want)
		}
	}
	for dir, want := range map[string]string{"/tmp/papaver-chromium-1": "/tmp/papaver-chromium-1", strings.Repeat("/long", 20): os.Getenv("TMPDIR")} {
		if !slices.Contains(environment(dir), "TMPDIR="+want) {
			t.Errorf("with its profile in %s Chromium's temporary folder is not %s", dir, want)
		}
	}
	info, err := os.Stat(d.process.ProfileDir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the profile: %v, %v", info, err)
	}
}

// shell starts a shell that waits for a line, with an argument as Chromium's would be. It ends with its input.
func shell(t *testing.T, argument string) (*exec.Cmd, func() error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "read line", "sh", argument)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, func() error { _, err := stdin.Write([]byte("line\n")); return errors.Join(err, cmd.Wait()) }
}

func TestWhatIsLeftOfAChromiumIsEndedAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "papaver-chromium-12")
	for _, d := range []string{dir, dir + "3", filepath.Join(dir, "Default")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "Default", "Cookies"), []byte("x"), 0o400); err != nil {
		t.Fatal(err)
	}
	left, _ := shell(t, "--user-data-dir="+dir)
	spaced, _ := shell(t, "--type=renderer --user-data-dir="+dir+" --lang=en")
	_, neighbour := shell(t, "--user-data-dir="+dir+"3")
	ended := make(chan error, 2)
	for _, cmd := range []*exec.Cmd{left, spaced} {
		go func() { ended <- cmd.Wait() }()
	}
	if err := removeProfile(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a process of the profile ended by itself")
		}
	}
	if err := neighbour(); err != nil {
		t.Errorf("the neighbour: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the profile: %v", err)
	}
	if _, err := os.Stat(dir + "3"); err != nil {
		t.Errorf("the neighbour's profile: %v", err)
	}
}

func TestAProcessThatCannotBeKilledIsLeft(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "papaver-chromium-34")
	cmd, end := shell(t, "--user-data-dir="+dir)
	for _, tc := range []struct {
		err  error
		left int
	}{{nil, 1}, {syscall.EPERM, 1}, {syscall.ESRCH, 0}} {
		var killed []int
		kill := func(pid int, _ syscall.Signal) error { killed = append(killed, pid); return tc.err }
		if left := killProcessesOn(dir, kill); left != tc.left || !slices.Equal(killed, []int{cmd.Process.Pid}) {
			t.Errorf("%v: %d are left of %v", tc.err, left, killed)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
