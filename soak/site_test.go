package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"

	"github.com/papaver-agent/papaver/testsite"
)

const (
	// siteOf in the environment makes the test's program the Company of that domain, which knows the agent of the folder
	// that siteAgent names: what a Company remembers must not count as the agent's memory.
	siteOf    = "SOAK_SITE"
	siteAgent = "SOAK_AGENT"

	requestTimeout = 10 * time.Second
	closeTimeout   = 10 * time.Second
)

// Ready is what a Company's process says when it listens.
type Ready struct {
	Company, Control string
	ConnectTo        []string
	Authority        []byte
}

// serve is that program. It ends with its standard input.
func serve(domain string) error {
	ctx := context.Background()
	site, err := testsite.Start(ctx, testsite.Config{Domain: domain, AgentDirs: []string{os.Getenv(siteAgent)}, Control: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	ready := Ready{Company: site.Company(), Control: site.Control(), ConnectTo: site.ConnectTo(), Authority: site.Authority()}
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	return site.Close(ctx)
}

// site is a Company in a process of its own.
type site struct {
	Ready
	pid    int
	client *http.Client
}

func startSite(t *testing.T, domain, agentDir string) *site {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), siteOf+"="+domain, siteAgent+"="+agentDir)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Errorf("%s: %v", domain, err)
		}
	})
	s := &site{pid: cmd.Process.Pid, client: &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true}}}
	if err := json.NewDecoder(out).Decode(&s.Ready); err != nil {
		t.Fatalf("%s: %v", domain, err)
	}
	return s
}

// ask asks the Company's control port.
func (s *site) ask(method, path string, into any) error {
	r, err := http.NewRequest(method, s.Control+path, nil)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s: status %d", s.Control, path, answer.StatusCode)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

func (s *site) report() (testsite.Report, error) {
	var r testsite.Report
	err := s.ask(http.MethodGet, "/report", &r)
	return r, err
}

// sent returns the references that the Company sent since the last call, as its own log has them.
func (s *site) sent() ([]reference, error) {
	var log struct {
		Exchanges []struct {
			Response struct {
				Headers [][2]string `json:"headers"`
			} `json:"response"`
		} `json:"exchanges"`
	}
	if err := s.ask(http.MethodPost, "/log?clear=true", &log); err != nil {
		return nil, err
	}
	var list []reference
	for _, e := range log.Exchanges {
		for _, h := range e.Response.Headers {
			if h[0] != "poppy-operation" {
				continue
			}
			r, err := parse(s.Company, h[1])
			if err != nil {
				return nil, err
			}
			list = append(list, r)
		}
	}
	return list, nil
}

// reference is one that a Company sent for a Session.
type reference struct{ company, sid, ref string }

func parse(company, header string) (reference, error) {
	d, err := httpsfv.UnmarshalDictionary([]string{header})
	if err != nil {
		return reference{}, err
	}
	text := func(name string) string {
		member, _ := d.Get(name)
		item, _ := member.(httpsfv.Item)
		s, _ := item.Value.(string)
		return s
	}
	return reference{company, text("sid"), text("ref")}, nil
}

// count compares what the Companies sent with what the agent sighted.
type count struct {
	mu       sync.Mutex
	sent     map[reference]bool // not sighted yet
	sighted  map[reference]bool // not known to be sent yet
	sessions map[string]string  // of each Session that was joined, the Company

	Sent, Sighted, Mixed, Refused int
	Why                           map[string]int // of the refused
}

func newCount() *count {
	return &count{sent: make(map[reference]bool), sighted: make(map[reference]bool), sessions: make(map[string]string), Why: make(map[string]int)}
}

// took notes a reference that a Company sent.
func (c *count) took(r reference) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Sent++
	if c.sighted[r] {
		delete(c.sighted, r)
		return
	}
	c.sent[r] = true
}

func (c *count) figures() (sent, sighted int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Sent, c.Sighted
}

// companyOf is the origin of an address.
func companyOf(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}
