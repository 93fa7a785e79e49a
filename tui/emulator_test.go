package tui

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"golang.org/x/sys/unix"
)

// emulator is as much of a terminal as our screens need. What it doesn't know it keeps, so that a test can see it.
type emulator struct {
	w, h    int
	x, y    int
	cells   [][]rune
	main    [][]rune // the ordinary screen while the other one is on
	pending []byte
	modes   map[string]bool // private modes, and "cursor"
	unknown []string
	title   string
	bells   int
}

func newEmulator(w, h int) *emulator {
	e := &emulator{w: w, h: h, modes: map[string]bool{"25": true}}
	e.cells = e.blank()
	return e
}

func (e *emulator) blank() [][]rune {
	rows := make([][]rune, e.h)
	for i := range rows {
		rows[i] = []rune(strings.Repeat(" ", e.w))
	}
	return rows
}

func (e *emulator) resize(w, h int) {
	old := e.cells
	e.w, e.h = w, h
	e.cells = e.blank()
	for y := range min(h, len(old)) {
		copy(e.cells[y], old[y])
	}
	if e.main != nil {
		e.main = e.blank()
	}
	e.x, e.y = min(e.x, w-1), min(e.y, h-1)
}

func (e *emulator) text() string {
	out := make([]string, len(e.cells))
	for i, row := range e.cells {
		out[i] = strings.TrimRight(strings.ReplaceAll(string(row), "\x00", ""), " ") // the second cell of a wide one
	}
	return strings.Join(out, "\n")
}

func (e *emulator) write(b []byte) {
	e.pending = append(e.pending, b...)
	for len(e.pending) > 0 {
		n := e.step(e.pending)
		if n == 0 {
			return
		}
		e.pending = e.pending[n:]
	}
}

// step takes one character or sequence from b; zero when more bytes are needed.
func (e *emulator) step(b []byte) int {
	switch b[0] {
	case '\x1b':
		return e.sequence(b)
	case '\r':
		e.x = 0
		return 1
	case '\n':
		e.feed()
		return 1
	case '\a':
		e.bells++
		return 1
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	width := runewidth.RuneWidth(r)
	if width == 0 {
		return n // a mark is drawn over the cell before
	}
	if e.x+width > e.w {
		e.x = 0
		e.feed()
	}
	for i := range width {
		e.cells[e.y][e.x+i] = []rune{r, 0}[i]
	}
	e.x += width
	return n
}

func (e *emulator) feed() {
	if e.y < e.h-1 {
		e.y++
		return
	}
	e.cells = append(e.cells[1:], []rune(strings.Repeat(" ", e.w)))
}

func (e *emulator) sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] == ']' { // of these only the window's title is ours, which ends with a bell
		end := strings.IndexByte(string(b), '\a')
		if end < 0 {
			return 0
		}
		if title, ok := strings.CutPrefix(string(b[2:end]), "2;"); ok {
			e.title = title
		} else {
			e.unknown = append(e.unknown, string(b[:end+1]))
		}
		return end + 1
	}
	if b[1] != '[' {
		e.unknown = append(e.unknown, string(b[:2]))
		return 2
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e {
			e.control(string(b[2:i]), b[i])
			return i + 1
		}
	}
	return 0
}

func (e *emulator) control(args string, final byte) {
	first, _ := strconv.Atoi(strings.Split(args, ";")[0])
	switch {
	case final == 'm':
	case final == 'H':
		e.x, e.y = 0, max(min(first, e.h), 1)-1
		if _, column, ok := strings.Cut(args, ";"); ok {
			n, _ := strconv.Atoi(column)
			e.x = max(min(n, e.w), 1) - 1
		}
	case final == 'A':
		e.y = max(e.y-max(first, 1), 0)
	case final == 'K':
		from := e.x
		if first == 2 {
			from = 0
		}
		for x := from; x < e.w; x++ {
			e.cells[e.y][x] = ' '
		}
	case final == 'J':
		if first == 2 {
			e.cells = e.blank()
			return
		}
		for x := e.x; x < e.w; x++ {
			e.cells[e.y][x] = ' '
		}
		for y := e.y + 1; y < e.h; y++ {
			e.cells[y] = []rune(strings.Repeat(" ", e.w))
		}
	case strings.HasPrefix(args, "?") && (final == 'h' || final == 'l'):
		e.mode(args[1:], final == 'h')
	case args == "8" && (final == 'h' || final == 'l'):
		e.modes["explicit order"] = final == 'l'
	case final == 't' && (args == "22;2" || args == "23;2"):
	default:
		e.unknown = append(e.unknown, args+string(final))
	}
}

func (e *emulator) mode(name string, on bool) {
	e.modes[name] = on
	if name != "1049" {
		return
	}
	if on {
		e.main, e.cells = e.cells, e.blank()
	} else if e.main != nil {
		e.cells, e.main = e.main, nil
	}
}

// interruptible returns f as a file whose Close ends a Read that waits.
func interruptible(t testing.TB, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(unix.SetNonblock(fd, true), f.Close()); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "pseudo-terminal")
}

// setSize goes around File.Fd, which would make reads of the terminal block its Close.
func setSize(t testing.TB, master *os.File, w, h uint16) {
	t.Helper()
	conn, err := master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := conn.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: w, Row: h})
	}); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

// resize changes the size of the terminal, and tells the process as a terminal does. The pseudo-terminal is not the
// controlling terminal of this process, so the kernel tells nobody.
func (s *terminal) resize(w, h uint16) {
	s.t.Helper()
	s.mu.Lock()
	s.screen.resize(int(w), int(h))
	s.mu.Unlock()
	setSize(s.t, s.master, w, h)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGWINCH); err != nil {
		s.t.Fatal(err)
	}
}

// wantRestored asserts that the terminal is as it was: echo and lines, cursor, ordinary screen, no marks around pastes,
// no mouse.
func (s *terminal) wantRestored() {
	s.t.Helper()
	s.wait("the terminal restored", func(string) bool {
		for _, mode := range []string{"1049", "2004", "1000", "1002", "1003", "1006", "explicit order"} {
			if s.screen.modes[mode] {
				return false
			}
		}
		return s.screen.modes["25"]
	})
	state, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	if want := uint32(unix.ECHO | unix.ICANON | unix.ISIG); state.Lflag&want != want {
		s.t.Errorf("the terminal is still in raw mode: %b", state.Lflag)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.screen.unknown) > 0 {
		s.t.Errorf("sequences that our screens have no use for: %q", s.screen.unknown)
	}
}
