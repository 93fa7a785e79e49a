package agent_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/opsweb"
)

// fullDisk is a ledger's file that takes nothing more once it is full.
type fullDisk struct {
	ledger.File
	full *atomic.Bool
}

func (d fullDisk) Write(b []byte) (int, error) {
	if d.full.Load() {
		return 0, errors.New("no space left on device")
	}
	return d.File.Write(b)
}

// A reference that could not be written down is not used: the page gets its 403, the Company is asked for nothing, and the
// User is told.
//
// Clauses: OPS3-4.36
func TestAReferenceThatCouldNotBeWrittenDownIsNotUsed(t *testing.T) {
	w := newWorld(t)
	l := &log{}
	var full atomic.Bool
	a, err := agent.Start(t.Context(), agent.Config{
		Home: w.home, Driver: chromedpdriver.Driver{}, ConnectTo: w.site.ConnectTo(), CACerts: []string{w.cacert}, Events: l.add,
		NoSandbox: os.Getenv("PAPAVER_TEST_SANDBOX") == "off" || os.Geteuid() == 0,
		OpenLedger: func(path string) (ledger.File, error) {
			f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
			return fullDisk{f, &full}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close(a)
	v, err := a.Visit(t.Context(), w.site.Company())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	acts := exchange()
	for i, act := range acts {
		full.Store(i == len(acts)-1)
		if _, err = v.Do(ctx, agent.Step{Number: i, Act: act}); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), string(opsweb.NotWritten)) {
		t.Errorf("the step ended with %v", err)
	}
	if text, err := v.Text(ctx); err != nil || !strings.Contains(text, "approval") {
		t.Errorf("the page did not get its answer: %q, %v", text, err)
	}
	if r := w.site.Report(); r.References != 1 || r.LookUps != 0 || r.Recorded != 0 {
		t.Errorf("the Company counts %d references, %d look-ups and %d approvals", r.References, r.LookUps, r.Recorded)
	}
	var unused, told bool
	for _, e := range l.all() {
		if s, ok := e.Body.(opsweb.Sighting); ok {
			unused = unused || !s.Accepted && s.Why == opsweb.NotWritten
		}
		told = told || e.Name == "error"
	}
	if !unused || !told {
		t.Errorf("the User is told %v: unused %v", l.names(), unused)
	}
}

func (l *log) all() []agent.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]agent.Event(nil), l.events...)
}
