package signin

import (
	"encoding/json"
	"io"
	"sync"
	"unicode/utf8"
)

// once is a request's body that is overwritten when the request is over. A transport may still read a body when it has
// the answer already; it then gets an error and not the zeros.
type once struct {
	mu   sync.Mutex
	body []byte
	gone bool
}

func newOnce(body []byte) *once { return &once{body: body} }

// wipe overwrites the body.
func (o *once) wipe() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.body)
	o.gone = true
}

func (o *once) reader() io.ReadCloser { return &onceReader{once: o} }

// again is a request's GetBody, for a repeat with a server's nonce.
func (o *once) again() (io.ReadCloser, error) { return o.reader(), nil }

type onceReader struct {
	once *once
	read int
}

// Read implements io.Reader.
func (r *onceReader) Read(p []byte) (int, error) {
	r.once.mu.Lock()
	defer r.once.mu.Unlock()
	if r.once.gone {
		return 0, io.ErrClosedPipe
	}
	if r.read >= len(r.once.body) {
		return 0, io.EOF
	}
	n := copy(p, r.once.body[r.read:])
	r.read += n
	return n, nil
}

// Close implements io.Closer.
func (r *onceReader) Close() error { return nil }

// quote is a JSON string of text that is no secret.
func quote(text string) string {
	data, _ := json.Marshal(text) // a string always has a form
	return string(data)
}

// appendQuoted appends a secret as a JSON string to b, without a copy of it anywhere else, and overwrites what append
// leaves behind. What is not UTF-8 stands as U+FFFD.
func appendQuoted(b, value []byte) []byte {
	const hex = "0123456789abcdef"
	longest := len(value)*6 + 64 // \u00XX for each byte, and what the caller puts behind it
	grown := append(make([]byte, 0, len(b)+longest), b...)
	clear(b)
	grown = append(grown, '"')
	for len(value) > 0 {
		r, n := utf8.DecodeRune(value)
		switch {
		case r == utf8.RuneError && n == 1:
			grown = append(grown, `\ufffd`...)
		case r == '"' || r == '\\':
			grown = append(grown, '\\', byte(r))
		case r < ' ':
			grown = append(grown, '\\', 'u', '0', '0', hex[r>>4], hex[r&0xf])
		default:
			grown = append(grown, value[:n]...)
		}
		value = value[n:]
	}
	return append(grown, '"')
}
