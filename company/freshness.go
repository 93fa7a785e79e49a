package company

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestFresh bounds how long a copy is used without asking, whatever its Company says: a mistake there must not
// last for ever here.
const longestFresh = 24 * time.Hour

// entry is a stored response to a GET (RFC 9111).
type entry struct {
	URL       string      `json:"url"`
	Requested time.Time   `json:"requested"` // when the request was sent
	Received  time.Time   `json:"received"`  // when its answer came
	Header    http.Header `json:"header"`    // only the fields that keptFields names
	Body      []byte      `json:"body"`
}

// keptFields are the header fields that a stored response needs.
func keptFields() []string {
	return []string{"Age", "Cache-Control", "Content-Type", "Date", "Etag", "Expires", "Last-Modified", "Vary"}
}

func newEntry(from string, header http.Header, body []byte, requested, received time.Time) *entry {
	e := &entry{URL: from, Requested: requested, Received: received, Header: make(http.Header), Body: body}
	for _, name := range keptFields() {
		if values := header.Values(name); len(values) > 0 {
			e.Header[name] = values
		}
	}
	return e
}

// renewed is e after a 304 with that header (RFC 9111, section 4.3.4), and false when the answer is about another
// version of the document.
func (e *entry) renewed(header http.Header, requested, received time.Time) (*entry, bool) {
	if tag := header.Get("Etag"); tag != "" && strings.TrimPrefix(tag, "W/") != strings.TrimPrefix(e.Header.Get("Etag"), "W/") {
		return nil, false
	}
	merged := e.Header.Clone()
	// These are about one answer, and an older one's would age this one.
	merged.Del("Age")
	merged.Del("Date")
	for _, name := range keptFields() {
		if values := header.Values(name); len(values) > 0 && name != "Content-Type" {
			merged[name] = values
		}
	}
	return newEntry(e.URL, merged, e.Body, requested, received), true
}

// storable reports whether the response may be kept, and is worth it.
func (e *entry) storable() bool {
	d := directives(e.Header)
	if _, forbidden := d["no-store"]; forbidden || e.varies() || !isHTTPS(e.URL) || len(e.Body) > maxDocument {
		return false
	}
	return e.lifetime() > 0 || e.Header.Get("Etag") != "" || e.Header.Get("Last-Modified") != ""
}

// varies reports whether another request of ours might get another document (RFC 9111, section 4.1). We ask for each
// document with the same Accept, without an encoding and as nobody's origin, so those don't count; what else was sent we
// don't remember.
func (e *entry) varies() bool {
	for _, name := range splitList(strings.Join(e.Header.Values("Vary"), ",")) {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "", "accept", "accept-encoding", "origin":
		default:
			return true
		}
	}
	return false
}

// fresh reports whether the copy may be used without asking (RFC 9111, section 4.2).
func (e *entry) fresh(now time.Time) bool {
	if now.Before(e.Received) {
		return false // the clock was set back, and no age can be told
	}
	return e.age(now) < e.lifetime()
}

// lifetime is for how long the response says it is fresh (section 4.2.1). Without a word about it that is no time: no
// heuristic is used.
func (e *entry) lifetime() time.Duration {
	d := directives(e.Header)
	if _, always := d["no-cache"]; always {
		return 0
	}
	if value, ok := d["max-age"]; ok {
		return min(seconds(value), longestFresh)
	}
	expires, err := http.ParseTime(e.Header.Get("Expires"))
	if err != nil {
		return 0
	}
	return min(max(expires.Sub(e.date()), 0), longestFresh)
}

// age is section 4.2.3's current_age.
func (e *entry) age(now time.Time) time.Duration {
	apparent := max(e.Received.Sub(e.date()), 0)
	corrected := seconds(e.Header.Get("Age")) + max(e.Received.Sub(e.Requested), 0)
	return max(apparent, corrected) + now.Sub(e.Received)
}

// date is when the response was made; without a word, when it came.
func (e *entry) date() time.Time {
	if date, err := http.ParseTime(e.Header.Get("Date")); err == nil {
		return date
	}
	return e.Received
}

// maxSeconds stands for every longer time, so that no sum overflows.
const maxSeconds = 1 << 31

// seconds reads delta-seconds (section 1.2.2); what is none is no time.
func seconds(s string) time.Duration {
	for _, r := range s {
		if r < '0' || r > '9' {
			return 0
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	switch {
	case s == "":
		return 0
	case err != nil || n > maxSeconds:
		n = maxSeconds
	}
	return time.Duration(n) * time.Second
}

// directives reads Cache-Control into names in lower case. One that is there twice with two values means nothing
// certain and gets none, so that a max-age of that kind is no time (section 4.2.1).
func directives(header http.Header) map[string]string {
	found := make(map[string]string)
	for _, item := range splitList(strings.Join(header.Values("Cache-Control"), ",")) {
		name, value, _ := strings.Cut(item, "=")
		name, value = strings.ToLower(strings.TrimSpace(name)), strings.Trim(strings.TrimSpace(value), `"`)
		if before, twice := found[name]; twice && before != value {
			value = ""
		}
		if name != "" {
			found[name] = value
		}
	}
	return found
}

// splitList splits at the commas that are in no quoted string.
func splitList(s string) []string {
	var items []string
	start, inside := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case inside && s[i] == '\\':
			i++
		case s[i] == '"':
			inside = !inside
		case s[i] == ',' && !inside:
			items = append(items, s[start:i])
			start = i + 1
		}
	}
	return append(items, s[start:])
}
