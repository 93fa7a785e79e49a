package company

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

const (
	maxEntries   = 1000
	maxEntryFile = 512 << 10 // bytes: a document in base64, and its header
	entrySuffix  = ".json"
)

// Cache keeps documents as their HTTP headers allow (RFC 9111, as a private cache): a file for each URL in one folder,
// at most 1000 of them, none with more than a document's 256 KiB. It only saves requests: what can't be kept or read
// back is asked for again, without an error. A nil Cache keeps and uses nothing. Safe for concurrent use, also by
// several processes.
//
// What is kept was read over one way of reaching hosts. A cache must not be shared with a client that reaches them in
// another way: a document of a test host would stand for the real one's.
type Cache struct {
	dir  string
	now  func() time.Time
	anew bool
}

// OpenCache uses the folder dir, and makes it when it is missing. Its errors are those of [durable.MkdirAll].
func OpenCache(dir string, now func() time.Time) (*Cache, error) {
	if err := durable.MkdirAll(dir); err != nil {
		return nil, err
	}
	return &Cache{dir: dir, now: now}, nil
}

// Anew is the same cache for one who wants what is published now: nothing stored is used, everything is asked for, by
// every cache on the way too, and the answers are kept.
func (c *Cache) Anew() *Cache {
	if c == nil {
		return nil
	}
	return &Cache{dir: c.dir, now: c.now, anew: true}
}

// prepare puts on the request what the cache has to say to it.
func (c *Cache) prepare(req *http.Request, stored *entry) {
	if c != nil && c.anew {
		req.Header.Set("Cache-Control", "no-cache")
	}
	if stored == nil {
		return
	}
	if tag := stored.Header.Get("Etag"); tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	if modified := stored.Header.Get("Last-Modified"); modified != "" {
		req.Header.Set("If-Modified-Since", modified)
	}
}

// path is the file of a URL.
func (c *Cache) path(from string) string {
	sum := sha256.Sum256([]byte(from))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:])+entrySuffix)
}

// load returns the stored response, fresh or not, or nil.
func (c *Cache) load(from string) *entry {
	if c == nil || c.anew {
		return nil
	}
	f, err := durable.OpenFile(c.path(from), os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxEntryFile+1))
	if err != nil {
		return nil
	}
	return readEntry(data, from)
}

// readEntry is the entry of that URL in a file's bytes, or nil: what could not have been stored is not used.
func readEntry(data []byte, from string) *entry {
	var e entry
	if strictjson.Decode(data, strictjson.Limits{Bytes: maxEntryFile}, &e) != nil || e.URL != from || !e.storable() {
		return nil
	}
	return &e
}

// store keeps the response when that is allowed, else forgets an older one.
func (c *Cache) store(e *entry) {
	if c == nil {
		return
	}
	data, err := json.Marshal(e)
	if err != nil || len(data) > maxEntryFile || !e.storable() {
		c.forget(e.URL)
		return
	}
	path := c.path(e.URL)
	if _, err := os.Lstat(path); err != nil {
		c.makeRoom()
	}
	if durable.WriteFile(path, data) != nil {
		c.forget(e.URL) // the older one may be of another time than what was just read
	}
}

func (c *Cache) forget(from string) {
	if c != nil {
		_ = os.Remove(c.path(from)) // what stays is asked about when it is no longer fresh
	}
}

// makeRoom removes the entries that were written longest ago, so that one more is not too many.
func (c *Cache) makeRoom() {
	found, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	type file struct {
		name    string
		written time.Time
	}
	var files []file
	for _, f := range found {
		if info, err := f.Info(); err == nil && strings.HasSuffix(f.Name(), entrySuffix) {
			files = append(files, file{f.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Or(a.written.Compare(b.written), cmp.Compare(a.name, b.name)) })
	for len(files) >= maxEntries {
		_ = os.Remove(filepath.Join(c.dir, files[0].name))
		files = files[1:]
	}
}
