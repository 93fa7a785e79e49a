package ledger

import (
	"io"
	"strings"
)

// FollowAfter verifies what stands before a place once, and returns a function
// that verifies as often as it is called what may stand there. Testing every
// bit of a file from its start each time would take minutes.
func FollowAfter(before string) func(io.Reader) error {
	var c chain
	if before != "" {
		if _, _, err := c.follow(strings.NewReader(before), func(Record) {}); err != nil {
			panic(err)
		}
	}
	return func(r io.Reader) error {
		at := c
		_, _, err := at.follow(r, func(Record) {})
		return err
	}
}

// Encode returns r's line with its line feed.
func Encode(r Record) string { return string(encode(&r)) }
