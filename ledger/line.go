package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	stdjson "encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	formatPrefix = `{"format":"papaver ledger","version":`
	formatLine   = formatPrefix + `1}`

	// maxLine bounds a line with its line feed, in bytes. The largest thing
	// written is an operation as the Company sent it, at most 1 MiB, which
	// JSON escapes can lengthen.
	maxLine = 4 << 20

	// maxName bounds an owner, kind or round, in bytes.
	maxName = 256

	prevMember = `,"prev":"`
	hashMember = `,"hash":"`
	lineEnd    = `"}`
	hashDigits = 2 * sha256.Size

	// hashTail is how many bytes stand at the end of a line from the comma
	// before "hash" on, without the line feed.
	hashTail = len(hashMember) + hashDigits + len(lineEnd)

	// prevTail is how many bytes before that the member "prev" has.
	prevTail = len(prevMember) + hashDigits + len(`"`)
)

// Record is one line of the ledger, verified.
type Record struct {
	Seq   uint64    `json:"seq"`   // counts from 1
	Time  time.Time `json:"time"`  // UTC, by the writer's clock
	Owner string    `json:"owner"` // who wrote it: one run of one process
	Kind  string    `json:"kind"`
	Round string    `json:"round"` // empty for what belongs to no round

	// Data is one JSON object in the bytes that were written. It is shared
	// with the Ledger and must not be changed.
	Data stdjson.RawMessage `json:"data"`

	Prev string `json:"prev"` // hash of the line before
	Hash string `json:"hash"` // hash of this line
}

// encode returns r's line with its line feed, and sets r.Hash. It is the one
// definition of the format; decode accepts exactly what it makes.
func encode(r *Record) []byte {
	b := make([]byte, 0, 256+len(r.Data)+hashTail)
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, r.Seq, 10)
	b = append(b, `,"time":"`...)
	b = r.Time.AppendFormat(b, time.RFC3339Nano)
	for _, m := range [...]struct{ name, value string }{{"owner", r.Owner}, {"kind", r.Kind}, {"round", r.Round}} {
		b = append(b, `","`+m.name+`":"`...)
		b = append(b, m.value...) // a name needs no escapes, see checkName
	}
	b = append(b, `","data":`...)
	b = append(b, r.Data...)
	b = append(b, prevMember...)
	b = append(b, r.Prev...)
	b = append(b, '"')
	r.Hash = hashOf(b)
	b = append(b, hashMember...)
	b = append(b, r.Hash...)
	return append(b, lineEnd+"\n"...)
}

// decode reads one line without its line feed. It returns a reason, in words
// that hold nothing of the line, when the line is not what encode makes.
func decode(line []byte) (r Record, reason string) {
	if r, ok := decodeOwn(line); ok {
		return r, ""
	}
	return decodeAny(line)
}

// decodeOwn reads a line that is exactly what encode makes, which nearly every
// line is, at the speed that a ledger of ten thousand rounds needs. Of any other
// line it says nothing but that.
func decodeOwn(line []byte) (r Record, ok bool) {
	if len(line) < hashTail+prevTail {
		return Record{}, false
	}
	signed := line[:len(line)-hashTail]
	head, tail := signed[:len(signed)-prevTail], string(line[len(signed)-prevTail:])
	names := [...]string{`{"seq":`, `,"time":"`, `","owner":"`, `","kind":"`, `","round":"`, `","data":`}
	var values [len(names) - 1]string
	rest, found := bytes.CutPrefix(head, []byte(names[0]))
	for i := range values {
		if !found {
			return Record{}, false
		}
		var value []byte
		value, rest, found = bytes.Cut(rest, []byte(names[i+1]))
		values[i] = string(value)
	}
	seq, err := strconv.ParseUint(values[0], 10, 64)
	t, timeErr := time.Parse(time.RFC3339Nano, values[1])
	switch {
	case !found || err != nil || timeErr != nil:
		return Record{}, false
	case strconv.FormatUint(seq, 10) != values[0] || t.Location() != time.UTC || t.Format(time.RFC3339Nano) != values[1]:
		return Record{}, false
	case checkName(values[2]) != nil || checkName(values[3]) != nil || values[4] != "" && checkName(values[4]) != nil:
		return Record{}, false
	case len(rest) < 2 || rest[0] != '{' || rest[len(rest)-1] != '}' || !jsontext.Value(rest).IsValid():
		return Record{}, false
	case tail[:len(prevMember)] != prevMember || tail[prevTail-1] != '"' || tail[prevTail:prevTail+len(hashMember)] != hashMember || tail[prevTail+hashTail-len(lineEnd):] != lineEnd:
		return Record{}, false
	}
	r = Record{
		Seq: seq, Time: t, Owner: values[2], Kind: values[3], Round: values[4], Data: stdjson.RawMessage(rest),
		Prev: tail[len(prevMember) : len(prevMember)+hashDigits], Hash: tail[prevTail+len(hashMember) : prevTail+len(hashMember)+hashDigits],
	}
	return r, r.Hash == hashOf(signed) && isHash(r.Prev)
}

func isHash(s string) bool {
	return len(s) == hashDigits && strings.Trim(s, "0123456789abcdef") == ""
}

// decodeAny is decode for every line.
func decodeAny(line []byte) (r Record, reason string) {
	if len(line) < hashTail {
		return Record{}, "is not a record"
	}
	var w struct {
		Seq   uint64         `json:"seq"`
		Time  string         `json:"time"`
		Owner string         `json:"owner"`
		Kind  string         `json:"kind"`
		Round string         `json:"round"`
		Data  jsontext.Value `json:"data"`
		Prev  string         `json:"prev"`
		Hash  string         `json:"hash"`
	}
	// This decoder refuses duplicate members, invalid UTF-8 and what follows
	// the object, and knows members by their exact case.
	if err := json.Unmarshal(line, &w, json.RejectUnknownMembers(true)); err != nil {
		return Record{}, "is not one JSON object with a record's members"
	}
	t, err := time.Parse(time.RFC3339Nano, w.Time)
	if err != nil || t.Location() != time.UTC {
		return Record{}, "its time is not RFC 3339 in UTC"
	}
	for _, name := range []string{w.Owner, w.Kind} {
		if checkName(name) != nil {
			return Record{}, "its owner or kind is not a name"
		}
	}
	if w.Round != "" && checkName(w.Round) != nil {
		return Record{}, "its round is not a name"
	}
	if w.Data.Kind() != '{' {
		return Record{}, "its data is not an object"
	}
	r = Record{
		Seq: w.Seq, Time: t, Owner: w.Owner, Kind: w.Kind, Round: w.Round,
		Data: stdjson.RawMessage(w.Data), Prev: w.Prev,
	}
	if written := encode(&r); r.Hash != w.Hash {
		return Record{}, "its hash is not that of its bytes"
	} else if !bytes.Equal(line, written[:len(written)-1]) {
		return Record{}, "is not in the ledger's own form"
	}
	return r, ""
}

// marshal returns data as one JSON object on one line, as [encoding/json]
// writes it but with '<', '>' and '&' as they are.
func marshal(data any) (stdjson.RawMessage, error) {
	if data == nil {
		return stdjson.RawMessage("{}"), nil
	}
	var b bytes.Buffer
	enc := stdjson.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(data); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// checkName refuses a name that is empty, long, or has other characters than
// printable ASCII without space, quotation mark and backslash.
func checkName(s string) error {
	if s == "" || len(s) > maxName {
		return fmt.Errorf("a name has 1 to %d characters, not %d", maxName, len(s))
	}
	if i := strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }); i >= 0 {
		return fmt.Errorf("character %d of a name is not printable ASCII, or a quotation mark or backslash", i+1)
	}
	return nil
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
