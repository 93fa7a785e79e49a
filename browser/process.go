package browser

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/papaver-agent/papaver/internal/randomid"
)

const (
	profilePrefix = "papaver-chromium-"
	removeTimeout = 5 * time.Second
	removePause   = 20 * time.Millisecond

	maxSocketPath = 103 // bytes, on the system where they may be fewest
)

var (
	// ErrNoChromium is returned when there is none to start.
	ErrNoChromium = errors.New("no Chromium was found; install it (Debian: apt-get install chromium)")
	// ErrSandboxAsRoot is returned instead of switching the sandbox off by ourselves.
	ErrSandboxAsRoot = errors.New("as root Chromium does not start with its sandbox on; run as an ordinary user, or give --sandbox=false")
)

// Find returns the Chromium to start: bin when it is given, else the first of the usual names in PATH. Debian's
// `chromium` is a shell script around the program, and the program itself is taken.
func Find(bin string) (string, error) {
	if bin != "" {
		path, err := exec.LookPath(bin)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrNoChromium, err)
		}
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		if program := "/usr/lib/chromium/chromium"; path == "/usr/bin/chromium" && executable(program) {
			return program, nil
		}
		return path, nil
	}
	return "", ErrNoChromium
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Flags are the switches that a Chromium of cfg is started with, beside those for its profile and for how it is spoken to: for
// a program that is measured beside one of ours. That one has a window as it starts; ours has none but those that we open.
func Flags(cfg Config) []Flag {
	return slices.DeleteFunc(flags(cfg), func(f Flag) bool { return f.Name == noWindow })
}

const noWindow = "no-startup-window"

// flags are the command line of every Chromium of ours. Site isolation and, but for NoSandbox, the sandbox stay on.
func flags(cfg Config) []Flag {
	list := []Flag{
		{Name: "no-first-run"},
		{Name: "no-default-browser-check"},
		{Name: "disable-background-networking"},
		{Name: "disable-component-update"},
		{Name: "disable-default-apps"},
		{Name: "disable-extensions"},
		{Name: "disable-sync"},
		{Name: "disable-breakpad"},
		{Name: "disable-client-side-phishing-detection"},
		{Name: "metrics-recording-only"},
		{Name: "password-store", Value: "basic"},
		{Name: "use-mock-keychain"},
		{Name: "force-color-profile", Value: "srgb"},
		// The tab we act in is not always the one in front, and must not be slowed down for that.
		{Name: "disable-background-timer-throttling"},
		{Name: "disable-backgrounding-occluded-windows"},
		{Name: "disable-renderer-backgrounding"},
		// What is pressed or typed right after a page has loaded, and before it was first drawn, is not dropped.
		{Name: "allow-pre-commit-input"},
		// Making a form POST again is asked for by us and by nobody else.
		{Name: "disable-prompt-on-repost"},
		// What shows a response that no request of now made, or makes requests that no act of ours made, blurs which
		// act a response belongs to. The last two are pages of the address bar's own, a process and two documents for each
		// window, though nobody types an address there [measured: half of the processes, a fourth of the memory].
		{Name: "disable-features", Value: "BackForwardCache,Prerender2,SpeculationRulesPrefetchProxy,Translate,MediaRouter,OptimizationHints,AutofillServerCommunication,WebUIOmniboxPopup,WebUIOmniboxAimPopup"},
		// Chromium keeps pages of public addresses off private ones, WebSockets and names that resolve there included. Of
		// WebRTC it does so only when asked [measured].
		{Name: "enable-features", Value: "LocalNetworkAccessChecksWebRTC"},
		{Name: "disable-quic"},
		{Name: "window-size", Value: "1280,900"},
	}
	if !cfg.Headful {
		list = append(list, Flag{Name: "headless"}, Flag{Name: noWindow}, Flag{Name: "hide-scrollbars"}, Flag{Name: "mute-audio"}, Flag{Name: "disable-gpu"})
	}
	if cfg.NoSandbox {
		list = append(list, Flag{Name: "no-sandbox"})
	}
	if rules := resolverRules(cfg.HostResolverRules, cfg.Allowed); rules != "" {
		list = append(list, Flag{Name: "host-resolver-rules", Value: rules})
	}
	if len(cfg.Allowed) > 0 {
		// What else could lead around the resolver: datagrams of WebRTC, and a proxy that resolves names itself.
		list = append(list, Flag{Name: "webrtc-ip-handling-policy", Value: "disable_non_proxied_udp"}, Flag{Name: "no-proxy-server"})
	}
	if len(cfg.LeafKeys) > 0 {
		list = append(list, Flag{Name: "ignore-certificate-errors-spki-list", Value: strings.Join(cfg.LeafKeys, ",")})
	}
	return list
}

// environment is what Chromium sees of ours: nothing that could hold a secret. Its temporary folder is in the profile's, where
// what a killed one leaves behind is found again, but for the names that are too long to open a socket there.
func environment(profile string) []string {
	env := []string{"HOME=" + profile}
	if len(profile)+len("/org.chromium.Chromium.XXXXXX/SingletonSocket") <= maxSocketPath {
		env = append(env, "TMPDIR="+profile)
	} else if dir, ok := os.LookupEnv("TMPDIR"); ok {
		env = append(env, "TMPDIR="+dir)
	}
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// newProfile makes a profile folder, once its name was told. The name is new: an existing folder is an error.
func newProfile(tell func(dir string) error) (string, error) {
	name, err := randomid.Short(rand.Reader)
	if err != nil {
		return "", fmt.Errorf("a name for chromium's profile folder: %w", err)
	}
	dir, err := filepath.Abs(filepath.Join(os.TempDir(), profilePrefix+name))
	if err == nil && tell != nil {
		err = tell(dir)
	}
	if err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("a profile folder for chromium: %w", err)
	}
	err = os.Mkdir(filepath.Join(dir, "Default"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "Default", "Preferences"), []byte(preferences), 0o600)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("a profile folder for chromium: %w", err), os.RemoveAll(dir))
	}
	return dir, nil
}

// preferences switch off what pages may have Chromium load ahead by speculation rules: such a response is shown to nobody,
// and becomes the page's when it is navigated to. No command line switch does it [measured].
const preferences = `{"net":{"network_prediction_options":2}}`

// removeProfile kills what still runs on the profile and removes it. A child of Chromium can outlive it for a moment
// and write into the folder after it was emptied, so both are tried until nothing is left.
func removeProfile(dir string) error {
	socket, _ := os.Readlink(filepath.Join(dir, "SingletonSocket")) // "" when there is none
	deadline := time.Now().Add(removeTimeout)
	for {
		left := killProcessesOn(dir, syscall.Kill)
		err := os.RemoveAll(dir)
		if err == nil && left == 0 {
			removeSocket(socket)
			return nil
		}
		if time.Now().After(deadline) {
			if err == nil {
				err = fmt.Errorf("%d processes on it do not end", left)
			}
			return fmt.Errorf("chromium's profile %s: %w", dir, err)
		}
		time.Sleep(removePause)
	}
}

// removeSocket removes the folder in which Chromium keeps a socket, and which it leaves behind when it is killed, when that
// is beside the profile. A folder that holds anything else stays.
func removeSocket(socket string) {
	folder, name := filepath.Split(socket)
	folder = filepath.Clean(folder)
	if name != "SingletonSocket" || filepath.Dir(folder) != filepath.Clean(os.TempDir()) {
		return
	}
	_ = os.Remove(socket)
	_ = os.Remove(filepath.Join(folder, "SingletonCookie"))
	_ = os.Remove(folder)
}

// killProcessesOn kills the processes that have dir as their user data folder and returns how many there were, those
// that could not be killed included. The folder's name is random, so none of somebody else's is met. A process that has
// ended and was not waited for has no command line any more, so it is not one of them.
func killProcessesOn(dir string, kill func(pid int, signal syscall.Signal) error) int {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return 0
	}
	n := 0
	for _, file := range commands {
		command, err := os.ReadFile(file)
		if err != nil || !runsOn(command, dir) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if err := kill(pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
			n++
		}
	}
	return n
}

// runsOn reports whether a process's command line, as /proc has it, names dir as its user data folder: all of the name,
// since a random one can begin another. Chromium's children have their arguments in one string, with spaces between.
func runsOn(command []byte, dir string) bool {
	flag := []byte("--user-data-dir=" + dir)
	for {
		_, after, found := bytes.Cut(command, flag)
		if !found {
			return false
		}
		if len(after) == 0 || after[0] == 0 || after[0] == ' ' {
			return true
		}
		command = after
	}
}
