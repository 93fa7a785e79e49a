package main

// skips are the peer's cases that it may skip at our site, for each draft by their id. docs/interop.md gives the reason of
// each; a skip that is not here is a failure.
var skips = map[need][]string{}

// known says whether a case may be skipped.
func known(draft need, id string) bool {
	for _, k := range skips[draft] {
		if k == id {
			return true
		}
	}
	return false
}
