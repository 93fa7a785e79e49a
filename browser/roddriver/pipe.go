package roddriver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/go-rod/rod/lib/cdp"
)

// maxMessage is the most bytes of one message of Chromium's. What we ask for is a page's text at most.
const maxMessage = 256 << 20

// errLost is what every call returns when the pipe has ended: Chromium has, or said what is no message of CDP.
var errLost = errors.New("the pipe to chromium has ended")

// pipe is the transport of rod's client: messages over the two pipes of --remote-debugging-pipe, each ended by a zero
// byte. No port is opened, so no other process can find or use it. It implements [cdp.WebSocketable].
//
// rod's client panics on a message that it cannot decode, on a goroutine of its own. So Read looks at each one first,
// and one that would do that ends the pipe.
type pipe struct {
	in   *os.File // Chromium's commands
	out  *os.File // what it says
	read *bufio.Reader
	gone chan struct{} // closed by the reader, before rod's client learns that the pipe has ended

	mu     sync.Mutex
	filled *sync.Cond // of mu: there is something to write, or nothing ever again
	queue  [][]byte
	closed bool
}

var _ cdp.WebSocketable = (*pipe)(nil)

func newPipe(in, out *os.File) *pipe {
	p := &pipe{in: in, out: out, read: bufio.NewReader(out), gone: make(chan struct{})}
	p.filled = sync.NewCond(&p.mu)
	return p
}

// Send queues a message, so that a Chromium that doesn't read holds up nobody who sends.
func (p *pipe) Send(message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errLost
	}
	p.queue = append(p.queue, append(message, 0))
	p.filled.Signal()
	return nil
}

// write writes what is queued until the pipe ends.
func (p *pipe) write() {
	defer p.close()
	for {
		p.mu.Lock()
		for len(p.queue) == 0 && !p.closed {
			p.filled.Wait()
		}
		queue, closed := p.queue, p.closed
		p.queue = nil
		p.mu.Unlock()
		if closed {
			return
		}
		for _, message := range queue {
			if _, err := p.in.Write(message); err != nil {
				return // the reader is told by the end of its own pipe
			}
		}
	}
}

// close ends the pipe; a Chromium that still runs ends with it. It may be called more than once.
func (p *pipe) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.filled.Broadcast()
	_ = p.in.Close() // nothing can be done about either
	_ = p.out.Close()
}

// Read returns the next message. rod's client calls it, on one goroutine, until it returns an error.
func (p *pipe) Read() ([]byte, error) {
	message, err := readMessage(p.read, maxMessage)
	if err == nil {
		err = decodable(message)
	}
	if err != nil {
		close(p.gone)
		p.close()
		return nil, fmt.Errorf("%w: %w", errLost, err)
	}
	return message, nil
}

// readMessage reads up to a zero byte, at most limit bytes.
func readMessage(r *bufio.Reader, limit int) ([]byte, error) {
	var message []byte
	for {
		part, err := r.ReadSlice(0)
		if len(message)+len(part) > limit+1 {
			return nil, fmt.Errorf("a message is longer than %d bytes", limit)
		}
		message = append(message, part...)
		switch {
		case err == nil:
			return message[:len(message)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// decodable says why rod's client could not decode a message, if so.
func decodable(message []byte) error {
	var m struct {
		ID        int             `json:"id"`
		SessionID string          `json:"sessionId"`
		Method    string          `json:"method"`
		Params    json.RawMessage `json:"params"`
		Result    json.RawMessage `json:"result"`
		Error     *cdp.Error      `json:"error"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return fmt.Errorf("a message is none of CDP: %w", err)
	}
	return nil
}
