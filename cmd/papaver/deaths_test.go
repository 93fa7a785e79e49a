package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"

	"github.com/papaver-agent/papaver/ledger"
)

// dieEnv tells this test binary, when it is run as papaver, where to die. The program itself knows nothing of it.
const dieEnv = "PAPAVER_TEST_DIE"

// A place to die is written WHAT:WHEN:NUMBER, such as "sending:before:1" or "request:after:2": the ledger line of that
// kind, or a request of ours to the operations endpoint, the one of that number.
type death struct {
	what, when string
	number     int

	mu   sync.Mutex
	seen int
}

// deaths are the faults that have the process killed at a place; none when it is empty.
func deaths(place string) faults {
	if place == "" {
		return faults{}
	}
	parts := strings.Split(place, ":")
	d := &death{what: parts[0], when: parts[1]}
	if _, err := fmt.Sscan(parts[2], &d.number); err != nil {
		panic(err)
	}
	return faults{
		openLedger: func(path string) (ledger.File, error) {
			f, err := ledger.OpenFile(path)
			return &mortalFile{f, d}, err
		},
		wrap: func(t http.RoundTripper) http.RoundTripper { return &mortalTransport{t, d} },
	}
}

// reached counts a place, and reports whether it is the one.
func (d *death) reached(what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if what == d.what {
		d.seen++
	}
	return what == d.what && d.seen == d.number
}

// die is a death that no code of ours can do anything about.
func die() {
	_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
	select {}
}

// mortalFile is the ledger's file of a process that dies before a line is written, in the middle of it, or once it is on
// disk.
type mortalFile struct {
	ledger.File
	death *death
}

// Write implements [ledger.File].
func (f *mortalFile) Write(p []byte) (int, error) {
	var line struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(p, &line)
	here := f.death.reached(line.Kind)
	if here && f.death.when == "before" {
		die()
	}
	if here && f.death.when == "torn" {
		_, _ = f.File.Write(p[:len(p)/2])
		die()
	}
	n, err := f.File.Write(p)
	if here && f.death.when == "after" {
		_ = f.File.Sync()
		die()
	}
	return n, err
}

// mortalTransport is that of a process that dies before a request to the operations endpoint leaves, or when its answer
// is there.
type mortalTransport struct {
	http.RoundTripper
	death *death
}

// RoundTrip implements [http.RoundTripper].
func (t *mortalTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	here := strings.HasSuffix(r.URL.Path, "/operations") && t.death.reached("request")
	if here && t.death.when == "before" {
		die()
	}
	res, err := t.RoundTripper.RoundTrip(r)
	if here {
		die()
	}
	return res, err
}
