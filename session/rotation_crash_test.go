package session_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/session"
)

var errDisk = errors.New("the disk is full")

// dying is a disk on which the nth write fails and none after it happens; with made, the nth one was still made.
func dying(n int, made bool) func(string, []byte) error {
	return func(path string, data []byte) error {
		n--
		if n > 0 || n == 0 && made {
			if err := durable.WriteFile(path, data); err != nil {
				return err
			}
		}
		if n <= 0 {
			return errDisk
		}
		return nil
	}
}

// After a crash at any write, whatever key the identity would ever sign with is in the key set, no key is lost, and
// the next command works.
func TestNothingSignsWithAnUnpublishedKeyWhereverAChangeIsCutOff(t *testing.T) {
	t.Parallel()
	now := noon.Add(2 * day)
	for name, change := range map[string]func(write func(string, []byte) error, dir string, all []string) error{
		"rotate": func(write func(string, []byte) error, dir string, _ []string) error {
			_, err := session.RotateBy(write, dir, 0, noon.Add(day), rand.Reader)
			return err
		},
		"rotate, and drop the old one": func(write func(string, []byte) error, dir string, _ []string) error {
			_, err := session.RotateBy(write, dir, day, now.Add(day), rand.Reader)
			return err
		},
		"revoke the previous": func(write func(string, []byte) error, dir string, all []string) error {
			_, _, err := session.RevokeBy(write, dir, all[0], now)
			return err
		},
	} {
		writes := 0
		for n := 1; ; n++ {
			for _, made := range []bool{false, true} {
				_, dir := newIdentity(t)
				all := kids(rotated(t, dir, day, noon))
				before := contents(t, dir)
				err := change(dying(n, made), dir, all)
				if err == nil {
					writes = n - 1
					break
				}
				if !errors.Is(err, errDisk) {
					t.Fatalf("%s, write %d: %v", name, n, err)
				}
				where := fmt.Sprintf("%s, write %d (made: %v)", name, n, made)
				id, err := session.Load(dir)
				if err != nil {
					t.Fatalf("%s: %v", where, err)
				}
				if n == 1 && !made && contents(t, dir) != before {
					t.Errorf("%s: something is on disk", where)
				}
				for _, kid := range kids(id) {
					if !slices.Contains(publishedKids(t, dir), kid) {
						t.Errorf("%s: %s may sign and is not published", where, kid)
					}
				}
				if !slices.Contains(kids(id), all[1]) {
					t.Errorf("%s: a key is lost", where)
				}
				if _, err := id.Mend(); err != nil {
					t.Errorf("%s: %v", where, err)
				}
				if got := publishedKids(t, dir); !slices.Equal(got, kids(id)) {
					t.Errorf("%s: after mending %q is published, and %q are the keys", where, got, kids(id))
				}
				if err := change(durable.WriteFile, dir, all); err != nil && !errors.Is(err, session.ErrUnknownKey) && !errors.Is(err, session.ErrKeyWaits) {
					t.Errorf("%s: again: %v", where, err)
				}
			}
			if writes > 0 {
				break
			}
		}
		if writes < 3 {
			t.Errorf("%s writes %d files", name, writes)
		}
	}
}

func TestMendWritesOnlyWhatIsNotTheIdentitys(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t)
	if wrote, err := id.Mend(); wrote || err != nil {
		t.Errorf("wrote %v, %v", wrote, err)
	}
	before := contents(t, dir)
	for name, damage := range map[string]func(string) error{
		"gone":     os.Remove,
		"edited":   func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
		"no files": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		for _, file := range []string{"agent.json", "jwks.json"} {
			if err := damage(filepath.Join(id.PublicDir(), file)); err != nil {
				t.Fatal(err)
			}
			if wrote, err := id.Mend(); !wrote || err != nil || contents(t, dir) != before {
				t.Errorf("%s %s: wrote %v, %v", file, name, wrote, err)
			}
		}
	}
}

// Whatever is done in whatever order, with a clock that goes where it likes: one key is current, the file can be read,
// and what may sign is published.
func TestWhateverIsDoneOneKeyIsCurrentAndAllArePublished(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		dir := filepath.Join(root, fmt.Sprint(runs))
		now := noon
		if _, err := session.Init(dir, session.Options{ClientID: clientID, Name: "A"}, now, rand.Reader); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(-int64(2*day), int64(4*day)).Draw(t, "time passes")))
			before, err := session.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			old := kids(before)
			if rapid.Bool().Draw(t, "rotate") {
				overlap := time.Duration(rapid.Int64Range(0, int64(3*day)).Draw(t, "overlap"))
				_, err = session.Rotate(dir, lock.Seals{}, overlap, now, rand.Reader)
			} else {
				_, _, err = session.Revoke(dir, rapid.SampledFrom(old).Draw(t, "key"), now)
			}
			if err != nil && !errors.Is(err, session.ErrKeyWaits) && !errors.Is(err, session.ErrLastKey) && !errors.Is(err, session.ErrTooManyKeys) {
				t.Fatal(err)
			}
			id, err := session.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(states(id, now), "current"); n != 1 {
				t.Fatalf("%d keys are current: %s", n, states(id, now))
			}
			data, err := os.ReadFile(filepath.Join(dir, "public", "jwks.json"))
			if err != nil {
				t.Fatal(err)
			}
			var set struct{ Keys []struct{ Kid string } }
			if err := json.Unmarshal(data, &set); err != nil {
				t.Fatal(err)
			}
			var published []string
			for _, k := range set.Keys {
				published = append(published, k.Kid)
			}
			if !slices.Equal(published, kids(id)) {
				t.Fatalf("published %q, keys %q", published, kids(id))
			}
		}
	})
}
