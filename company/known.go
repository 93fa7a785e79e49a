package company

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/strictjson"
)

// Where the documents are at a Company's origin (PROTOCOL 1.0, section 3).
const (
	poppyPath    = "/.well-known/poppy.json"
	resourcePath = "/.well-known/oauth-protected-resource"
)

// Known is what a cache still has of a Company: what it published when it was last read.
type Known struct {
	Domain string // the host that was asked, with its port if it has one
	Name   string // what the Company calls itself; its own text, not sanitised
	Issuer string // empty where its document is not kept
	Read   time.Time
}

// Known lists the Companies whose poppy.json is kept, in no order. What can't be read is left out. A nil Cache knows
// none.
func (c *Cache) Known() []Known {
	if c == nil {
		return nil
	}
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return nil
	}
	var all []Known
	kept := &Cache{dir: c.dir, now: c.now}
	for _, f := range files {
		origin, isPoppy := kept.originOf(f.Name())
		e := kept.load(origin + poppyPath)
		if !isPoppy || e == nil {
			continue
		}
		var p poppyDocument
		if decodeDocument(e.Header, e.Body, &p) != nil {
			continue
		}
		k := Known{Domain: strings.TrimPrefix(origin, "https://"), Name: p.Organization.Name, Read: e.Received}
		if p.Auth != nil {
			k.Issuer = p.Auth.Issuer
		}
		if stored := kept.load(origin + resourcePath); stored != nil && k.Issuer == "" {
			var r resourceDocument
			if decodeDocument(stored.Header, stored.Body, &r) == nil && len(r.Servers) == 1 {
				k.Issuer = r.Servers[0]
			}
		}
		all = append(all, k)
	}
	return all
}

// originOf reads from an entry's file whose poppy.json it is.
func (c *Cache) originOf(name string) (origin string, isPoppy bool) {
	path := filepath.Join(c.dir, name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxEntryFile {
		return "", false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	var e struct {
		URL string `json:"url"`
	}
	if strictjson.Decode(data, strictjson.Limits{Bytes: maxEntryFile}, &e) != nil {
		return "", false
	}
	return strings.CutSuffix(e.URL, poppyPath)
}
