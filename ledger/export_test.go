package ledger

import (
	"context"
	"io"
	"path/filepath"
	"strings"
)

// FollowAfter verifies what stands before a place once, and returns a function
// that verifies as often as it is called what may stand there. Testing every
// bit of a file from its start each time would take minutes.
func FollowAfter(before string) func(io.Reader) error {
	var c chain
	if before != "" {
		if _, _, err := c.follow(strings.NewReader(before), 0, nothing); err != nil {
			panic(err)
		}
	}
	return func(r io.Reader) error {
		at := c
		_, _, err := at.follow(r, 0, nothing)
		return err
	}
}

// Encode returns r's line with its line feed.
func Encode(r Record) string { return string(encode(&r)) }

func nothing(Record, int, spot) error { return nil }

// Records returns all records, read anew and verified, of what a Look sees.
func (l *Ledger) Records(ctx context.Context) ([]Record, error) {
	var all []Record
	err := l.Look(ctx, func(v View) error {
		all = nil
		take := func(r Record, _ int, _ spot) error { all = append(all, r); return nil }
		for _, s := range v.x.segments {
			c := s.begin
			var err error
			if s.file == v.from.file {
				_, _, err = c.follow(io.NewSectionReader(v.from.current, 0, s.size), 0, take)
			} else {
				err = archive(filepath.Join(v.x.dir, ArchiveName(s.file)), &c, take)
			}
			if err != nil {
				return err
			}
		}
		all = append(all, v.fresh...)
		return nil
	})
	return all, err
}

// Kept returns the names of what is kept beside the older files, of those whose postings are not in memory.
func (l *Ledger) Kept() []string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var names []string
	for _, s := range l.index.segments {
		if s.sealed != nil {
			names = append(names, indexName(s.file))
		}
	}
	return names
}
