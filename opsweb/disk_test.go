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

// disk is the ledger's file, as all that opened it have it. What counts as on disk is what was synced, and each line is noted at that moment; the
// real file is not synced, which is slow. It can fail at one write.
type disk struct {
	world *world

	mu     sync.Mutex
	synced []byte
	writes int
	failAt int  // the number of the write that fails, from 1; 0: none
	dead   bool // every write after that one fails too
	kind   string
	then   func() // called when a line of that kind is on disk
}

var errDiskFull = errors.New("no space left on device")

func (d *disk) open(path string) (ledger.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &opened{File: f, disk: d}, nil
}

// opened is the file as one ledger has it open.
type opened struct {
	ledger.File
	disk    *disk
	pending []byte
}

func (o *opened) Write(b []byte) (int, error) {
	d := o.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	if d.failAt > 0 && (d.writes == d.failAt || d.dead && d.writes > d.failAt) {
		return 0, errDiskFull
	}
	o.pending = append(o.pending, b...)
	return o.File.Write(b)
}

func (o *opened) Sync() error {
	d := o.disk
	d.mu.Lock()
	lines := o.pending
	d.synced, o.pending = append(d.synced, lines...), nil
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
