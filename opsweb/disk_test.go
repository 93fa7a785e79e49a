package opsweb

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/papaver-agent/papaver/ledger"
)

// disk is the ledger's file. What counts as on disk is what was synced, and each line is noted at that moment; the
// real file is not synced, which is slow. It can fail at one write.
type disk struct {
	world *world
	ledger.File

	mu      sync.Mutex
	pending []byte
	synced  []byte
	writes  int
	failAt  int  // the number of the write that fails, from 1; 0: none
	dead    bool // every write after that one fails too
	kind    string
	then    func() // called when a line of that kind is on disk
}

var errDiskFull = errors.New("no space left on device")

func (d *disk) open(path string) (ledger.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	d.File = f
	return d, nil
}

func (d *disk) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	if d.failAt > 0 && (d.writes == d.failAt || d.dead && d.writes > d.failAt) {
		return 0, errDiskFull
	}
	d.pending = append(d.pending, b...)
	return d.File.Write(b)
}

func (d *disk) Sync() error {
	d.mu.Lock()
	lines := d.pending
	d.synced, d.pending = append(d.synced, lines...), nil
	kind, then := d.kind, d.then
	d.mu.Unlock()
	for _, rec := range decode(lines) {
		d.world.note("%s", rec.Kind)
		if rec.Kind == kind {
			then()
		}
	}
	return nil
}

// onLine has then called when a line of the kind is on disk, before Append returns.
func (d *disk) onLine(kind string, then func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kind, d.then = kind, then
}

// records are the lines on disk.
func (d *disk) records() []ledger.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	return decode(d.synced)
}

func (d *disk) has(kind string) bool {
	return slices.ContainsFunc(d.records(), func(r ledger.Record) bool { return r.Kind == kind })
}

func decode(lines []byte) []ledger.Record {
	var list []ledger.Record
	for line := range bytes.Lines(lines) {
		var rec ledger.Record
		if err := json.Unmarshal(line, &rec); err != nil {
			panic(err)
		}
		list = append(list, rec)
	}
	return list
}

func (d *disk) mayFail() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failAt > 0
}

func entryOf(kind, round string, data any) ledger.Entry {
	return ledger.Entry{Kind: kind, Round: round, Data: data}
}
