package attach

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/papaver-agent/papaver/internal/durable"
)

// ErrRuns is returned for a run whose process lives.
var ErrRuns = errors.New("its process still runs")

// Left names the runs that have a lock file in dir: those whose processes run, and those that were killed.
func Left(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // nothing has run there
	}
	var runs []string
	for _, e := range entries {
		if run, ok := strings.CutSuffix(e.Name(), lockSuffix); ok {
			runs = append(runs, run)
		}
	}
	return runs
}

// Take takes the lock of a run whose process has ended, so that nobody else takes over what it left. done gives the lock
// back and clears away what a killed process leaves in dir. It is ErrRuns when the process, or another one that takes it
// over, has the lock.
func Take(dir, run string) (done func(), err error) {
	if run == "" || filepath.Base(run) != run {
		return nil, fmt.Errorf("%q is no name of a run", run)
	}
	if err := durable.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("the run folder: %w", err)
	}
	d, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	lock, err := tryLock(d.path(run + lockSuffix))
	if err == nil && lock == nil {
		err = ErrRuns
	}
	if err != nil {
		d.close()
		return nil, fmt.Errorf("run %s: %w", run, err)
	}
	return func() {
		_ = os.Remove(d.path(run + sockSuffix))
		_ = os.Remove(d.path(run + lockSuffix))
		_ = lock.Close()
		d.close()
	}, nil
}
