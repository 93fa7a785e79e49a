//go:build !race

// The race detector has goroutines that are ready at the same moment take their turns in random order, and with it the
// draws of one seed.

package simulation

import "testing"

// A seed that violates a promise can be looked at: it tells the same story each time.
func TestASeedTellsTheSameStoryEachTime(t *testing.T) {
	s := newStage(t)
	for seed := uint64(1); seed <= 60; seed++ {
		first, again := s.play(t, seed), s.play(t, seed)
		for i := range max(len(first.told), len(again.told)) {
			if a, b := lineOf(first.told, i), lineOf(again.told, i); a != b {
				t.Errorf("seed %d, line %d:\n%s\n%s", seed, i, a, b)
				break
			}
		}
	}
}

func lineOf(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing more)"
}
