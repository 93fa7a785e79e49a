package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/trace"
)

const (
	// FileName and LockName are the names of the two files in a ledger's folder.
	FileName = "ledger.jsonl"
	LockName = "ledger.lock"

	// DefaultLockWait is how long an append waits for others. One append
	// holds the lock for a few milliseconds, a slow disk for perhaps a second.
	DefaultLockWait = 10 * time.Second

	// DefaultCoarse is that of the coarsest local file systems in use.
	DefaultCoarse = 2 * time.Second
)

// Config says which ledger is opened, and for whom.
type Config struct {
	Dir   string // the ledger's folder; made when it is missing
	Owner string // who appends: a name that no other run of any process ever has

	Now      func() time.Time // nil: time.Now
	LockWait time.Duration    // longest wait for other appends; 0: DefaultLockWait
	MaxFile  int64            // bytes from which the ledger goes on in a new file; 0: DefaultMaxFile

	// Index says what of the ledger can be found again. Every process that has this
	// ledger open has the same.
	Index Index
	// Coarse is how coarse the file system's times may be: what is known of a file is
	// kept only once its last change is longer ago. 0: DefaultCoarse.
	Coarse time.Duration

	// OpenFile opens the ledger's file. nil: the function OpenFile.
	OpenFile func(path string) (File, error)
}

// Entry is what a caller wants written.
type Entry struct {
	Kind  string // 1 to 256 printable ASCII characters without space, '"' and '\'
	Round string // the same, or empty for what belongs to no round

	// Data is marshalled by encoding/json to one JSON object; nil is the empty
	// object. What refuses to be marshalled, as a secret does, stops the append.
	Data any

	// Claim names the owner that the round is taken over from. The caller must
	// know that it can't go on: its process's lock is free, its Chromium is
	// dead. When the round has another owner by now, which may well live, the
	// append is refused with ErrNotOwner. Empty: no claim.
	Claim string

	// Unless, when there is one, is asked under the ledger's lock, after what
	// others appended was read and before anything is written. It must not call
	// the Ledger. Its error is the append's: nothing was written.
	Unless func(View) error
}

// Ledger is an open ledger. It is safe for concurrent use; appends of
// several goroutines and processes take their turns.
type Ledger struct {
	cfg  Config
	path string

	// turn holds one token, which the goroutine that works on the file takes.
	// It guards lockFile and the file's end. It is taken before mu.
	turn     chan struct{}
	lockFile *os.File

	mu      sync.RWMutex // guards all below; only who has the turn changes file, at, end and index, and it may read them without
	file    File         // the newest that was met
	at      chain        // the place after the last verified line
	end     int64        // that place in bytes
	index   *index
	notices []string
	broken  error // why no append is possible any more; wraps ErrBroken
	closed  bool
}

// Open opens the ledger in cfg.Dir, making folder and file when they are
// missing, and verifies all of it that was not verified before and untouched since. A torn last line is repaired, see
// [Ledger.Notices]. Errors match [ErrDamaged], [ErrLocked], [ErrEntry] (the
// owner is no name), [durable.ErrLoose], the file system's own, or are ctx's.
// The caller closes the Ledger.
func Open(ctx context.Context, cfg Config) (_ *Ledger, err error) {
	if err := checkName(cfg.Owner); err != nil {
		return nil, fmt.Errorf("%w: owner: %w", ErrEntry, err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.LockWait <= 0 {
		cfg.LockWait = DefaultLockWait
	}
	if cfg.MaxFile <= 0 {
		cfg.MaxFile = DefaultMaxFile
	}
	if cfg.Coarse <= 0 {
		cfg.Coarse = DefaultCoarse
	}
	if cfg.OpenFile == nil {
		cfg.OpenFile = OpenFile
	}
	l := &Ledger{
		cfg:   cfg,
		path:  filepath.Join(cfg.Dir, FileName),
		turn:  make(chan struct{}, 1),
		index: newIndex(cfg.Index, cfg.Dir, cfg.Coarse),
	}
	l.turn <- struct{}{}
	if err := durable.MkdirAll(cfg.Dir); err != nil {
		return nil, fmt.Errorf("ledger's folder: %w", err)
	}
	l.lockFile, err = durable.OpenFile(filepath.Join(cfg.Dir, LockName), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("ledger's lock: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	done, err := l.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := l.first(); err != nil {
		return nil, err
	}
	// A writer may have died between its write and its sync.
	if err := l.file.Sync(); err != nil {
		return nil, fmt.Errorf("ledger %s: what was read may not be on disk: %w", l.path, err)
	}
	return l, nil
}

// first makes the file when there is none, and reads all files.
func (l *Ledger) first() error {
	if err := l.tidy(); err != nil {
		return fmt.Errorf("ledger's folder: %w", err)
	}
	if _, err := os.Lstat(l.path); errors.Is(err, fs.ErrNotExist) {
		if err := onlyOlder(l.path, err); errors.Is(err, ErrDamaged) {
			return err
		}
		// The format line comes with the file, so that no ledger lacks it.
		if err := durable.WriteNew(l.path, []byte(formatLine+"\n")); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("ledger not made: %w", err)
		}
	}
	var err error
	l.file, err = l.cfg.OpenFile(l.path)
	if err != nil {
		return fmt.Errorf("ledger not opened: %w", err)
	}
	number, err := numberOf(l.file)
	if err != nil {
		return fmt.Errorf("ledger %s: %w", l.path, err)
	}
	l.at, err = l.index.archives(number, true)
	if err != nil {
		return err
	}
	return l.catchUp()
}

// Append writes e as the next line and returns when that line is on disk. On
// an error that matches [ErrBroken] the line may be on disk or not, and this
// Ledger refuses all that follows. On every other error nothing was written:
// [ErrNotOwner], [ErrEntry], [ErrLocked], [ErrDamaged], [ErrClosed], that of
// [Entry.Unless], the file system's (a full disk; the next append may work), or ctx's own, which is looked at until the
// write begins. Waiting for other appends ends after [Config.LockWait]; the
// kernel's write and sync themselves can't be given a deadline.
func (l *Ledger) Append(ctx context.Context, e Entry) (_ Record, err error) {
	ctx, span := trace.Begin(ctx, trace.Ledger, trace.Word("line", e.Kind))
	defer func() { span.End(trace.Failed(err)) }()
	r, err := l.draft(e)
	if err != nil {
		return Record{}, err
	}
	done, err := l.begin(ctx)
	if err != nil {
		return Record{}, err
	}
	defer done()
	if err := l.usable(); err != nil {
		return Record{}, err
	}
	if err := l.catchUp(); err != nil {
		return Record{}, err
	}
	at, end := l.at, l.end
	owner := ""
	if e.Round != "" {
		if owner, err = l.index.owner(l.viewLocked().from, e.Round); err != nil {
			return Record{}, fmt.Errorf("ledger: owner of round %s not known: %w", e.Round, err)
		}
	}
	if e.Round != "" && owner != "" && owner != l.cfg.Owner && owner != e.Claim {
		return Record{}, fmt.Errorf("round %s, owner %s: %w", e.Round, owner, ErrNotOwner)
	}
	if e.Unless != nil {
		if err := e.Unless(l.viewLocked()); err != nil {
			return Record{}, fmt.Errorf("ledger: kind %s of round %s not written: %w", e.Kind, e.Round, err)
		}
	}
	if end >= l.cfg.MaxFile && at.lines > 1 {
		if err := l.rotate(at); err != nil {
			return Record{}, err
		}
		at, end = l.at, l.end
	}
	r.Seq, r.Prev = at.seq+1, at.hash
	// UTC and no monotonic part: the record is what is read back.
	r.Time = l.cfg.Now().UTC().Round(0)
	line := encode(&r)
	if len(line) > maxLine {
		return Record{}, fmt.Errorf("%w: kind %s: the line has %d bytes of at most %d", ErrEntry, e.Kind, len(line), maxLine)
	}
	// What can't be read back would damage the ledger for ever.
	r, err = at.next(line[:len(line)-1])
	if err != nil {
		return Record{}, fmt.Errorf("%w: kind %s: %s", ErrEntry, e.Kind, reasonOf(err))
	}
	if err := ctx.Err(); err != nil {
		return Record{}, fmt.Errorf("ledger: line not written: %w", err)
	}
	if err := l.write(line, end, at.lines); err != nil {
		return Record{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at, l.end = at, end+int64(len(line))
	if err := l.acceptLocked(taken{r, at.file, at.spotOf(r, end, len(line)-1)}); err != nil {
		return Record{}, err
	}
	return r, nil
}

// draft makes the part of a record that needs no look at the ledger.
func (l *Ledger) draft(e Entry) (Record, error) {
	if err := checkName(e.Kind); err != nil {
		return Record{}, fmt.Errorf("%w: kind: %w", ErrEntry, err)
	}
	if e.Round != "" {
		if err := checkName(e.Round); err != nil {
			return Record{}, fmt.Errorf("%w: kind %s: round: %w", ErrEntry, e.Kind, err)
		}
	}
	data, err := marshal(e.Data)
	if err != nil {
		return Record{}, fmt.Errorf("%w: kind %s: data: %w", ErrEntry, e.Kind, err)
	}
	return Record{Owner: l.cfg.Owner, Kind: e.Kind, Round: e.Round, Data: data}, nil
}

// write puts one line at the file's end and on disk. When it returns an error
// it has cut off what it wrote, or the ledger is broken.
func (l *Ledger) write(line []byte, end int64, number int) error {
	n, err := l.file.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err != nil {
		if cut := l.file.Truncate(end); cut != nil {
			return l.breakOff(number, fmt.Errorf("%w; its part of %d bytes not cut off: %w", err, n, cut))
		}
		return fmt.Errorf("ledger %s: line %d not written: %w", l.path, number, err)
	}
	if err := l.file.Sync(); err != nil {
		// Nobody may build on this line. Cutting it off is only a try: after a
		// failed sync the kernel's view of the file proves nothing.
		return l.breakOff(number, errors.Join(fmt.Errorf("not synced: %w", err), l.file.Truncate(end)))
	}
	return nil
}

// breakOff makes the ledger refuse every further append.
func (l *Ledger) breakOff(number int, cause error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = fmt.Errorf("ledger %s: line %d may or may not be on disk: %w; look at the disk and its free space, then run `papaver ledger verify` and start again: %w",
		l.path, number, cause, ErrBroken)
	return l.broken
}

func (l *Ledger) usable() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	return l.broken
}

// Head returns the sequence number and hash of the last record that this
// Ledger wrote or met when it last opened or appended. Before the first record
// they are 0 and the hash of the format line.
func (l *Ledger) Head() (seq uint64, hash string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at.seq, l.at.hash
}

// Notices returns, in words for the User, what was repaired since Open began.
func (l *Ledger) Notices() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.notices)
}

// Close waits for an append under way and closes the files. All that was
// appended is on disk already. A second Close does nothing.
func (l *Ledger) Close() error {
	<-l.turn
	defer func() { l.turn <- struct{}{} }()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	err := l.lockFile.Close()
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
	}
	return err
}

func closeAll(files []File) error {
	var err error
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

func reasonOf(err error) string {
	var damage *DamageError
	if errors.As(err, &damage) {
		return damage.Reason
	}
	return err.Error()
}
