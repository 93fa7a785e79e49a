package flow

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Hash names a flow by its file's bytes and the values of its ${name}, so that a ledger can say which one a run made without
// holding any of it: SHA-256, in hexadecimal. What is secret has no place in set: a short one could be found by trying.
func Hash(data []byte, set map[string]string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\n%s\n", len(data), data)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(sum, "%q=%q\n", name, set[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}
