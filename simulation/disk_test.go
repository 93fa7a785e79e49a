package simulation

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"sync"

	"github.com/papaver-agent/papaver/ledger"
)

var (
	errDead     = errors.New("the process is dead")
	errDiskFull = errors.New("no space left on device")
	errDiskRead = errors.New("input/output error")
)

// disk is the ledger's file as one process has it. What was synced survives a crash; of what was written and not synced
// some bytes do, by chance. The file is a real one, since the ledger looks at it by its path too.
type disk struct {
	*os.File
	p *process

	mu      sync.Mutex
	durable int64  // so many bytes are on disk
	pending []byte // written after them
}

// disks are all that one process has opened: the ledger goes on in new files.
type disks struct {
	mu   sync.Mutex
	list []*disk
}

func (d *disks) add(one *disk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, one)
}

func (d *disks) die() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.list {
		one.dies()
	}
}

func (p *process) openDisk(path string) (ledger.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	d := &disk{File: f, p: p, durable: info.Size()}
	p.disks.add(d)
	return d, nil
}

func (d *disk) Write(b []byte) (int, error) {
	c := d.p.world.chance
	if d.p.crashes(crashBeforeWrite) || d.p.isDead() {
		return 0, errDead
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if info, err := d.Stat(); err == nil && len(d.pending) == 0 {
		d.durable = info.Size() // with what others appended
	}
	if c.meetsAt(diskFull, 0.2) {
		n, err := d.File.Write(b[:c.number("disk", len(b))])
		d.pending = append(d.pending, b[:n]...)
		d.p.story("the disk is full after %d of %d bytes of %s", n, len(b), kindOf(b))
		return n, errors.Join(errDiskFull, err)
	}
	n, err := d.File.Write(b)
	d.pending = append(d.pending, b[:n]...)
	return n, err
}

func (d *disk) Sync() error {
	c := d.p.world.chance
	if d.p.crashes(crashBeforeSync) || d.p.isDead() {
		return errDead
	}
	if c.meetsAt(syncFails, 0.1) {
		d.p.story("a sync fails")
		return errDiskRead
	}
	d.mu.Lock()
	lines := d.pending
	d.durable += int64(len(lines))
	d.pending = nil
	d.mu.Unlock()
	for _, rec := range decode(lines) {
		if d.p.world.misses(rec) {
			d.p.world.recount()
		}
		d.p.story("  ledger: %s %s %s", rec.Kind, rec.Round, short(rec.Data))
		d.p.world.judge.line(d.p, rec)
	}
	if d.p.crashes(crashAfterSync) {
		return errDead
	}
	return nil
}

func (d *disk) Truncate(size int64) error {
	if d.p.isDead() {
		return errDead
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending = d.pending[:max(0, min(int64(len(d.pending)), size-d.durable))]
	d.durable = min(d.durable, size)
	return d.File.Truncate(size)
}

// dies leaves what a crash leaves.
func (d *disk) dies() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) == 0 {
		return
	}
	kept := d.p.world.chance.number("disk", len(d.pending)+1)
	if kept > 0 && kept < len(d.pending) {
		d.p.world.chance.count(tornLine)
	}
	d.p.story("of %d bytes that were not synced, %d are on disk", len(d.pending), kept)
	d.p.world.must(d.File.Truncate(d.durable + int64(kept)))
}

// decode reads whole lines that the ledger wrote; its first line, the format's, and a torn one are none.
func decode(lines []byte) []ledger.Record {
	var list []ledger.Record
	for line := range bytes.Lines(lines) {
		var rec ledger.Record
		if json.Unmarshal(line, &rec) == nil && rec.Kind != "" {
			list = append(list, rec)
		}
	}
	return list
}

func kindOf(line []byte) string {
	for _, rec := range decode(line) {
		return rec.Kind
	}
	return "a line"
}

func short(data []byte) string {
	if len(data) > 200 {
		return string(data[:200]) + "…"
	}
	return string(data)
}
