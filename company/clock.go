package company

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

// longestTrip is how long an answer may have taken whose Date is still taken for the time.
const longestTrip = 5 * time.Second

// Clock is a comparison of this machine's clock with that of a server.
type Clock struct {
	Host  string        // of the server
	At    time.Time     // when they were compared, by this machine's clock
	Ahead time.Duration // by how much at least this machine's clock was ahead, negative when it was behind; 0 when both may have been the same
}

// Clock returns the newest comparison that the kept answers allow, by their Date (RFC 9110, section 6.6.1); false when there
// is none. It asks nobody.
func (c *Cache) Clock() (Clock, bool) {
	var newest Clock
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return newest, false
	}
	for _, f := range files {
		if e := c.read(f.Name()); e != nil {
			if found, ok := e.clock(); ok && found.At.After(newest.At) {
				newest = found
			}
		}
	}
	return newest, !newest.At.IsZero()
}

// read returns the entry in a file, or nil.
func (c *Cache) read(name string) *entry {
	if !strings.HasSuffix(name, entrySuffix) {
		return nil
	}
	f, err := durable.OpenFile(filepath.Join(c.dir, name), os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxEntryFile+1))
	var e entry
	if err != nil || strictjson.Decode(data, strictjson.Limits{Bytes: maxEntryFile}, &e) != nil || filepath.Base(c.path(e.URL)) != name {
		return nil
	}
	return &e
}

// clock compares the entry's Date with when it came, unless a cache on the way had kept it.
func (e *entry) clock() (Clock, bool) {
	date, err := http.ParseTime(e.Header.Get("Date"))
	from, urlErr := url.Parse(e.URL)
	trip := e.Received.Sub(e.Requested)
	if err != nil || urlErr != nil || e.Header.Get("Age") != "" || trip < 0 || trip > longestTrip {
		return Clock{}, false
	}
	found := Clock{Host: from.Hostname(), At: e.Received}
	// A Date is whole seconds, and was made at some moment of the trip.
	if least := e.Requested.Sub(date) - time.Second; least > 0 {
		found.Ahead = least
	} else if most := e.Received.Sub(date); most < 0 {
		found.Ahead = most
	}
	return found, true
}
