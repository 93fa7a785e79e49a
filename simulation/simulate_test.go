package simulation

import (
	"cmp"
	"crypto/rand"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/ledger"
	"github.com/papaver-agent/papaver/session"
)

var (
	seeds   = flag.Int("seeds", 300, "how many seeds are simulated")
	first   = flag.Uint64("from", 1, "the first seed")
	stop    = flag.Int("stop", 20, "after so many seeds that violate a promise no more are simulated")
	workers = flag.Int("workers", 2, "how many are simulated at once")
)

// bubbleBegins is when the time of every bubble begins.
var bubbleBegins = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// stage is what all seeds share: an identity, which costs time to make, and a ledger without records.
type stage struct {
	dir      string
	identity *session.Identity
	empty    []byte
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{dir: t.TempDir()}
	var err error
	s.identity, err = session.Init(filepath.Join(s.dir, "identity"), session.Options{ClientID: "https://agent.test/agent.json", Name: "Test"}, bubbleBegins, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(s.dir, "empty")
	l, err := ledger.Open(t.Context(), ledger.Config{Dir: folder, Owner: "run_0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.empty, err = os.ReadFile(filepath.Join(folder, ledger.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play plays one seed in a bubble of its own.
func (s *stage) play(t *testing.T, seed uint64) *world {
	t.Helper()
	dir := filepath.Join(s.dir, fmt.Sprint(seed))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var w *world
	synctest.Test(t, func(*testing.T) {
		w = newWorld(seed, dir, s.identity)
		w.play()
	})
	return w
}

// Whatever the network, the Company, Chromium, the disk, the clock and the User do, and whenever the process dies: an
// operation is performed at most once and only when the User approved exactly its terms, nothing is sent after a decline,
// nobody is asked about an operation while it is not known what became of an earlier approval, no round ends as
// something else than what the Company did, and every run ends.
//
// Clauses: OPS3-5.03, OPS3-5.05, OPS3-5.24, OPS3-6.02, OPS3-6.37, OPS3-6.88, OPS3-7.06, OPS3-7.12, OPS3-7.13, OPS3-7.14, OPS3-7.15, OPS3-7.19, OPS3-7.20, OPS3-7.21, OPS3-7.22
func TestNothingHappensTwiceOrWithoutAYesWhateverDiesAndWhenever(t *testing.T) {
	if one := os.Getenv("SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		w := newStage(t).play(t, seed)
		t.Log(strings.Join(w.told, "\n"))
		for _, problem := range w.problems {
			t.Error(problem)
		}
		return
	}
	s := newStage(t)
	var mu sync.Mutex
	met := make(map[fault]int)
	failed := make(map[uint64][]string)
	next := *first
	began := time.Now()
	t.Run("seeds", func(t *testing.T) {
		for range *workers {
			t.Run("worker", func(t *testing.T) {
				t.Parallel()
				for {
					mu.Lock()
					seed := next
					next++
					over := seed >= *first+uint64(*seeds) || len(failed) >= *stop
					mu.Unlock()
					if over {
						return
					}
					w := s.play(t, seed)
					mu.Lock()
					for f, n := range w.chance.met {
						met[f] += n
					}
					if len(w.problems) > 0 {
						failed[seed] = w.problems
					}
					mu.Unlock()
				}
			})
		}
	})
	kinds := slices.SortedFunc(maps.Keys(met), func(a, b fault) int { return cmp.Compare(a, b) })
	for _, f := range kinds {
		t.Logf("%9d  %s", met[f], f)
	}
	t.Logf("%d seeds in %v, %d violate a promise", next-*first-uint64(*workers), time.Since(began).Round(time.Second), len(failed))
	for _, seed := range slices.Sorted(maps.Keys(failed)) {
		t.Errorf("SEED=%d: %s", seed, strings.Join(failed[seed], "; "))
	}
}
