package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/session"
)

const (
	passphrase = "alpine start 4am"
	quickWork  = 2 // of scrypt, for tests alone
)

// opened is a home's folders.
func (b *bench) opened() home.Home {
	b.t.Helper()
	h, err := home.Open(b.home)
	if err != nil {
		b.t.Fatal(err)
	}
	return h
}

// locked gives the home a lock as papaver lock set does, but quickly.
func (b *bench) locked() *lock.Key {
	b.t.Helper()
	h := b.opened()
	key, err := lock.Make(h.Answers(), secret.New(passphrase), quickWork, time.Now(), rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	note, err := key.Note(lock.KindSet)
	if err != nil {
		b.t.Fatal(err)
	}
	appendTo(b.t, h.Ledger(), ledger.Entry{Kind: lock.KindSet, Data: note})
	if err := session.Reseal(h.Identity(), lock.Seals{}, lock.SealsOf(h.Answers(), key)); err != nil {
		b.t.Fatal(err)
	}
	return key
}

// appendTo adds lines to a ledger, chained as they should be: whoever can write the file can do that.
func appendTo(t *testing.T, dir string, entries ...ledger.Entry) {
	t.Helper()
	l, err := ledger.Open(context.Background(), ledger.Config{Dir: dir, Owner: "somebody", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := l.Append(context.Background(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// copied is a bench whose home is a copy of this one, without what runs there.
func (b *bench) copied() *bench {
	b.t.Helper()
	c := emptyBench(b.t)
	if err := os.CopyFS(c.home, os.DirFS(b.home)); err != nil && !strings.Contains(err.Error(), ".sock") {
		b.t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(c.home, "run")); err != nil {
		b.t.Fatal(err)
	}
	private(b.t, c.home)
	c.ready = b.ready
	return c
}

// private gives a copied home the rights that a home has.
func private(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// peer is somebody who speaks to a run's socket without being a terminal UI.
type peer struct {
	t       *testing.T
	conn    net.Conn
	lines   *bufio.Scanner
	request approval.Request // what is open
	number  int
}

// reach connects to the one run of the home and reads what it asks.
func (b *bench) reach(t *testing.T) *peer {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(b.home, "run", "*.sock"))
	if err != nil || len(sockets) != 1 {
		t.Fatalf("sockets: %q, %v", sockets, err)
	}
	conn, err := net.Dial("unix", sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, conn: conn, lines: bufio.NewScanner(conn)}
	p.lines.Buffer(nil, 1<<20)
	for p.request.ID == "" {
		var m struct {
			Question struct {
				Request approval.Request `json:"request"`
			} `json:"question"`
		}
		p.read(&m)
		p.request = m.Question.Request
	}
	return p
}

func (p *peer) read(into any) {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatalf("the run hung up: %v", p.lines.Err())
	}
	if err := json.Unmarshal(p.lines.Bytes(), into); err != nil {
		p.t.Fatal(err)
	}
}

// answers sends an answer and returns why it was refused; nothing when it was taken.
func (p *peer) answers(approved bool, shown approval.Shown, sig lock.Signature) string {
	p.t.Helper()
	p.number++
	data, err := json.Marshal(map[string]any{"answer": map[string]any{"number": p.number, "approved": approved, "shown": shown, "signature": sig}})
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.conn.Write(append(data, '\n')); err != nil {
		p.t.Fatal(err)
	}
	for {
		var m struct {
			Decided *struct {
				Refused string `json:"refused"`
			} `json:"decided"`
		}
		p.read(&m)
		if m.Decided != nil {
			return m.Decided.Refused
		}
	}
}
