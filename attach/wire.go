package attach

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/lock"
)

// protocol is the version of the wire. A process of another one is left alone.
const protocol = 1

const (
	maxMessage = 8 << 20 // bytes of one message; a question holds at most 1 MiB of terms
	lockSuffix = ".lock"
	sockSuffix = ".sock"
)

// message is one line of the wire. Exactly one member is set.
type message struct {
	// From the running process.
	Hello    *hello             `json:"hello,omitempty"`
	Task     *Task              `json:"task,omitempty"`
	Question *Question          `json:"question,omitempty"`
	Gone     approval.RequestID `json:"gone,omitempty"` // the question is open no more
	Closed   *Closed            `json:"closed,omitempty"`
	Decided  *decided           `json:"decided,omitempty"`
	// From a terminal.
	Answer *answer `json:"answer,omitempty"`
}

type hello struct {
	Protocol int    `json:"protocol"`
	Run      string `json:"run"`
	PID      int    `json:"pid"`
}

// answer carries a User's answer: what was on the screen, and the key.
type answer struct {
	Number   int            `json:"number"`
	Approved bool           `json:"approved"`
	Shown    approval.Shown `json:"shown"`
	// Signature is that of the home's lock, when it has one.
	Signature lock.Signature `json:"signature,omitempty"`
}

type decided struct {
	Number   int               `json:"number"`
	Decision approval.Decision `json:"decision"`
	Refused  string            `json:"refused,omitempty"` // a code of refusals, or words
}

// refusals are the errors of a desk that a caller decides by, and their names on the wire.
var refusals = map[string]error{
	"answered":    approval.ErrAnswered,
	"unknown":     approval.ErrUnknownRequest,
	"other-terms": approval.ErrOtherTerms,
	"unsigned":    lock.ErrSignature,
}

func refusalOf(err error) string {
	if err == nil {
		return ""
	}
	for code, known := range refusals {
		if errors.Is(err, known) {
			return code
		}
	}
	return err.Error()
}

func errorOf(refused string) error {
	if refused == "" {
		return nil
	}
	if err, ok := refusals[refused]; ok {
		return err
	}
	return errors.New(refused)
}

func writeMessage(w io.Writer, m message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(data) >= maxMessage {
		return fmt.Errorf("a message of %d bytes is too long", len(data))
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

func newReader(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxMessage)
	return s
}

func readMessage(s *bufio.Scanner) (message, error) {
	if !s.Scan() {
		if err := s.Err(); err != nil {
			return message{}, err
		}
		return message{}, io.EOF
	}
	var m message
	if err := json.Unmarshal(s.Bytes(), &m); err != nil {
		return message{}, fmt.Errorf("a message cannot be read: %w", err)
	}
	return m, nil
}

// sameUser refuses a connection whose other end is another user's.
func sameUser(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if credErr != nil {
		return credErr
	}
	if int(cred.Uid) != os.Geteuid() {
		return fmt.Errorf("the peer is user %d", cred.Uid)
	}
	return nil
}

// folder is the run folder, opened. A socket's path has at most 108 bytes, and the name of the open folder is short
// whatever the home is called.
type folder struct{ f *os.File }

func openFolder(dir string) (folder, error) {
	f, err := os.Open(dir)
	if err != nil {
		return folder{}, err
	}
	return folder{f}, nil
}

func (d folder) path(name string) string {
	return filepath.Join("/proc/self/fd", fmt.Sprint(d.f.Fd()), name)
}

func (d folder) close() { _ = d.f.Close() }

// tryLock takes a lock file's lock without waiting; nil when another process holds it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, err
	}
	return f, nil
}
