package attach

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// lookAgain is the pause before a socket is tried again that could not be joined; it doubles up to lookSeldom.
	lookAgain  = 250 * time.Millisecond
	lookSeldom = 8 * time.Second
)

// notices tell that the run folder may have a new socket. Where the kernel gives no notices of files (as when the User
// has too many watches) the folder is looked at every lookAgain.
type notices struct {
	files *fsnotify.Watcher // nil without the kernel's notices
	again time.Duration
}

// noticesOf begins before the folder is looked at for the first time, so that nothing is missed between.
func noticesOf(d folder) notices {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return notices{again: lookAgain}
	}
	if err := files.Add(d.path(".")); err != nil {
		_ = files.Close()
		return notices{again: lookAgain}
	}
	return notices{files, lookAgain}
}

func (n notices) close() {
	if n.files != nil {
		_ = n.files.Close() // nothing is written through it
	}
}

// wait returns when the folder is to be looked at: when a file of it changed, when a connection ended, of which ended
// tells, or after pause, if that is not zero. fresh says that a file changed. ok is false when ctx has ended.
func (n notices) wait(ctx context.Context, ended <-chan struct{}, pause time.Duration) (fresh, ok bool) {
	var events <-chan fsnotify.Event
	var errs <-chan error
	if n.files != nil {
		events, errs = n.files.Events, n.files.Errors
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	due := timer.C
	if pause == 0 {
		due = nil
	}
	for {
		select {
		case e, open := <-events:
			if !open {
				events = nil
			} else if strings.HasSuffix(filepath.Base(e.Name), sockSuffix) {
				return true, true
			}
		case _, open := <-errs: // too much happened at once, say
			if open {
				return true, true
			}
			errs = nil
		case <-ended:
			if due == nil { // it is not tried again at once: it may end at once again
				timer.Reset(n.again)
				due = timer.C
			}
		case <-due:
			return false, true
		case <-ctx.Done():
			return false, false
		}
	}
}

// pause is how long to wait before the folder is looked at without a notice; zero for as long as none comes. left says that
// it holds a socket that could not be joined, last is the pause before.
func (n notices) pause(left bool, last time.Duration) time.Duration {
	switch {
	case n.files == nil:
		return n.again
	case !left:
		return 0
	default:
		return max(n.again, min(2*last, lookSeldom))
	}
}
