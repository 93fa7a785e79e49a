package session_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/lock"
	"github.com/papaver-agent/papaver/session"
)

const day = 24 * time.Hour

func rotated(t testing.TB, dir string, overlap time.Duration, now time.Time) *session.Identity {
	t.Helper()
	id, err := session.Rotate(dir, lock.Seals{}, overlap, now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// states are what the keys are for at a time, oldest first.
func states(id *session.Identity, now time.Time) string {
	var all []string
	for _, k := range id.KeyStatuses(now) {
		all = append(all, string(k.State))
	}
	return strings.Join(all, " ")
}

// publishedKids are the kids in the key set to publish.
func publishedKids(t testing.TB, dir string) []string {
	t.Helper()
	var set struct{ Keys []map[string]any }
	readJSON(t, filepath.Join(dir, "public", "jwks.json"), &set)
	var kids []string
	for _, k := range set.Keys {
		if k["d"] != nil {
			t.Error("a private key is published")
		}
		kid, _ := k["kid"].(string)
		kids = append(kids, kid)
	}
	return kids
}

func kids(id *session.Identity) []string {
	var all []string
	for _, k := range id.Keys() {
		all = append(all, k.Thumbprint)
	}
	return all
}

// signs is the kid of the key that signs at a time, by what is on disk.
func signs(t testing.TB, id *session.Identity, now time.Time) string {
	t.Helper()
	s, err := session.SignerAt(id, now)
	if err != nil {
		t.Fatal(err)
	}
	return s.KeyID()
}

// Clauses: C10-4.02
func TestAKeyIsNextThenCurrentThenPreviousByTheClockAlone(t *testing.T) {
	t.Parallel()
	first, dir := newIdentity(t)
	old := first.Keys()[0].Thumbprint
	id := rotated(t, dir, day, noon.Add(time.Hour))
	if got := publishedKids(t, dir); !slices.Equal(got, kids(id)) || len(got) != 2 || got[0] != old {
		t.Fatalf("published %q, keys %q", got, kids(id))
	}
	begins := noon.Add(time.Hour + day)
	for _, tc := range []struct {
		at     time.Time
		states string
		signs  int
	}{
		{noon.Add(-day), "current next", 0}, // the clock was set back
		{noon.Add(time.Hour), "current next", 0},
		{begins.Add(-time.Second), "current next", 0},
		{begins, "previous current", 1},
		{begins.Add(1000 * day), "previous current", 1},
	} {
		if got := states(id, tc.at); got != tc.states {
			t.Errorf("at %v they are %s, want %s", tc.at, got, tc.states)
		}
		// first was loaded before the rotation, as by a task that runs on.
		for _, identity := range []*session.Identity{id, first} {
			if got := signs(t, identity, tc.at); got != id.Keys()[tc.signs].Thumbprint {
				t.Errorf("at %v %s signs, of %q", tc.at, got, kids(id))
			}
		}
	}
	status := id.KeyStatuses(noon.Add(2 * time.Hour))
	if r := status[0].Retired; r == nil || !r.Equal(begins) || status[0].Needed.Before(begins.Add(v1.DelegationLife)) {
		t.Errorf("the old key is %+v", status[0])
	}
	if !status[1].Activates.Equal(begins) || status[1].Retired != nil || status[1].Needed != nil {
		t.Errorf("the new key is %+v", status[1])
	}
}

// A Company that has the key set of the moment verifies every statement for as long as it is valid.
//
// Clauses: C10-4.02, C10-5.06
func TestARunningSessionIsDelegatedToByTheKeyOfTheMoment(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t)
	c := &clock{now: noon}
	s := newSession(t, id, c.Now)
	rotated(t, dir, 90*time.Minute, noon)
	seen := make(map[any]bool)
	for range 40 {
		_, delegation, err := verifyChain(header(t, s), published(t, id), "poppy-session+jwt", c.Now())
		if err != nil {
			t.Fatalf("at %v: %v", c.Now(), err)
		}
		kid := delegation.header["kid"]
		seen[kid] = true
		issued := delegation.seconds("iat")
		if want := signs(t, id, issued); kid != want {
			t.Errorf("the delegation of %v is signed by %v, and %s was current", issued, kid, want)
		}
		c.advance(5 * time.Minute)
	}
	if len(seen) != 2 {
		t.Errorf("delegated to by %v", seen)
	}
}

func TestAnotherIdentityInTheSameFolderSignsForNobodyElse(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t)
	if err := os.Remove(filepath.Join(dir, "identity.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := session.SignerAt(id, noon); !errors.Is(err, session.ErrNoIdentity) {
		t.Errorf("err = %v", err)
	}
	if _, err := session.Init(dir, session.Options{ClientID: "https://other.example/agent.json", Name: "B"}, noon, rand.Reader); err != nil {
		t.Fatal(err)
	}
	if _, err := session.SignerAt(id, noon); err == nil {
		t.Error("its key signs for the first")
	}
}

func TestANewKeyWaitsUntilTheOneBeforeItSigns(t *testing.T) {
	t.Parallel()
	_, dir := newIdentity(t)
	rotated(t, dir, day, noon)
	before := contents(t, dir)
	if _, err := session.Rotate(dir, lock.Seals{}, day, noon.Add(day-time.Second), rand.Reader); !errors.Is(err, session.ErrKeyWaits) {
		t.Errorf("err = %v", err)
	}
	for _, overlap := range []time.Duration{-1, session.MaxOverlap + 1} {
		if _, err := session.Rotate(dir, lock.Seals{}, overlap, noon.Add(2*day), rand.Reader); err == nil {
			t.Errorf("overlap %v is accepted", overlap)
		}
	}
	if contents(t, dir) != before {
		t.Error("a refused rotation changed a file")
	}
	rotated(t, dir, 0, noon.Add(day))
	if _, err := session.Rotate(t.TempDir(), lock.Seals{}, day, noon, rand.Reader); !errors.Is(err, session.ErrNoIdentity) {
		t.Errorf("err = %v", err)
	}
}

func TestAPreviousKeyStaysPublishedWhileAStatementOfItsMayBeAlive(t *testing.T) {
	t.Parallel()
	_, dir := newIdentity(t)
	second := rotated(t, dir, day, noon) // the first is retired a day later
	needed := *second.KeyStatuses(noon)[0].Needed
	if alive := noon.Add(day + v1.DelegationLife); !needed.After(alive) {
		t.Fatalf("needed until %v, and a delegation is alive until %v", needed, alive)
	}
	third := rotated(t, dir, day, needed)
	if got := publishedKids(t, dir); len(got) != 3 || !slices.Equal(got, kids(third)) {
		t.Errorf("published %q", got)
	}
	fourth := rotated(t, dir, day, needed.Add(day))
	if got := publishedKids(t, dir); len(got) != 3 || slices.Contains(got, second.Keys()[0].Thumbprint) || !slices.Equal(got, kids(fourth)) {
		t.Errorf("published %q", got)
	}
}

func TestTooManyKeysAtOnceAreRefused(t *testing.T) {
	t.Parallel()
	_, dir := newIdentity(t)
	for range 7 {
		rotated(t, dir, 0, noon)
	}
	before := contents(t, dir)
	if _, err := session.Rotate(dir, lock.Seals{}, 0, noon, rand.Reader); !errors.Is(err, session.ErrTooManyKeys) {
		t.Errorf("err = %v", err)
	}
	if contents(t, dir) != before {
		t.Error("a refused rotation changed a file")
	}
	rotated(t, dir, 0, noon.Add(day)) // by then most are not needed any more
	if got := publishedKids(t, dir); len(got) != 2 {
		t.Errorf("published %q", got)
	}
}

func TestARevokedKeyIsGoneAtOnce(t *testing.T) {
	t.Parallel()
	later := noon.Add(day + time.Hour)
	for name, tc := range map[string]struct {
		at     time.Time
		key    int
		was    session.KeyState
		states string
		signs  int // of the three keys
	}{
		"the previous":             {later, 0, session.Previous, "current next", 1},
		"the current, a next left": {later, 1, session.Current, "previous current", 2},
		"the next":                 {later, 2, session.Next, "previous current", 1},
		// The second was made and became current after this moment.
		"the current of a clock set back": {noon.Add(-day), 0, session.Current, "current next", 1},
		"the next of a clock set back":    {noon.Add(-day), 1, session.Next, "current next", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, dir := newIdentity(t)
			rotated(t, dir, day, noon)
			all := kids(rotated(t, dir, day, later))
			gone := privateParts(t, dir)[tc.key]
			// As a crash in the middle of an earlier change leaves it.
			if err := os.WriteFile(filepath.Join(dir, ".identity.json.tmp-1"), []byte(gone), 0o600); err != nil {
				t.Fatal(err)
			}
			id, status, err := session.Revoke(dir, all[tc.key], tc.at)
			if err != nil || status.State != tc.was || status.Thumbprint != all[tc.key] {
				t.Fatalf("it was %+v, %v", status, err)
			}
			if strings.Contains(contents(t, dir), gone) || slices.Contains(publishedKids(t, dir), all[tc.key]) {
				t.Error("it is still on disk")
			}
			if got := states(id, tc.at); got != tc.states {
				t.Errorf("the others are %s", got)
			}
			if got := signs(t, id, tc.at); got != all[tc.signs] {
				t.Errorf("%s signs, of %q", got, all)
			}
			if !slices.Equal(publishedKids(t, dir), kids(id)) {
				t.Errorf("published %q, keys %q", publishedKids(t, dir), kids(id))
			}
		})
	}
}

func TestTheLastKeyThatMaySignIsNotRevoked(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t)
	before := contents(t, dir)
	if _, _, err := session.Revoke(dir, kids(id)[0], noon); !errors.Is(err, session.ErrLastKey) {
		t.Errorf("err = %v", err)
	}
	if _, _, err := session.Revoke(dir, "another", noon); !errors.Is(err, session.ErrUnknownKey) {
		t.Errorf("err = %v", err)
	}
	if contents(t, dir) != before {
		t.Error("a refused revocation changed a file")
	}
	id = rotated(t, dir, time.Hour, noon)
	before = contents(t, dir)
	if _, _, err := session.Revoke(dir, kids(id)[1], noon.Add(day)); !errors.Is(err, session.ErrLastKey) {
		t.Errorf("only a previous one would be left: err = %v", err)
	}
	if contents(t, dir) != before {
		t.Error("a refused revocation changed a file")
	}
}

// TestAnIdentityOfFormat1IsReadAndRotated begins with a file as the first papaver wrote it.
func TestAnIdentityOfFormat1IsReadAndRotated(t *testing.T) {
	t.Parallel()
	id, dir := newIdentity(t)
	path := filepath.Join(dir, "identity.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	old := regexp.MustCompile(`"activates":"[^"]*",`).ReplaceAllString(strings.Replace(string(data), `"format":2`, `"format":1`, 1), "")
	if err := os.WriteFile(path, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := session.Load(dir)
	if err != nil || loaded.Keys()[0] != id.Keys()[0] || states(loaded, noon) != "current" {
		t.Fatalf("read as %+v, %v; want %+v", loaded, err, id.Keys())
	}
	rotated(t, dir, day, noon.Add(day))
	var file struct{ Format int }
	readJSON(t, path, &file)
	again, err := session.Load(dir)
	if err != nil || file.Format != 2 || again.Keys()[0] != id.Keys()[0] || states(again, noon.Add(day)) != "current next" {
		t.Errorf("format %d, %+v, %v", file.Format, again, err)
	}
}
