package ledger_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/ledger"
)

// Verify never panics, says damage in its own type, and accepts only bytes
// that its records make again.
func FuzzVerify(f *testing.F) {
	lines := sample(3)
	whole := strings.Join(lines, "")
	for _, seed := range []string{
		"", "\n", format, format + "\n", whole, whole[:len(whole)-1], whole[:len(whole)-40], whole + "\n",
		strings.Replace(whole, `"n":2`, `"n":3`, 1), lines[0] + lines[2],
		continued(2, 0, sum(format)), continued(2, 3, sum("x")) + seal(body(4, sum(strings.TrimSpace(continued(2, 3, sum("x")))))),
		lines[0] + seal(`{"seq":1`), lines[0] + "{}\n", lines[0] + "[]\n" + lines[1], lines[0] + "\x00\x00\n",
		lines[0] + seal(strings.Replace(body(1, sum(format)), `{"n":1}`, strings.Repeat(`{"a":`, 100)+"1"+strings.Repeat("}", 100), 1)),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		report, err := ledger.Verify(bytes.NewReader(input))
		var damage *ledger.DamageError
		if err != nil {
			if !errors.As(err, &damage) {
				t.Fatalf("not a DamageError: %v", err)
			}
			if n := bytes.Count(input, []byte("\n")) + 1; damage.Line < 1 || damage.Line > n {
				t.Fatalf("line %d of %d: %v", damage.Line, n, err)
			}
			return
		}
		if report.Files != 1 { // its older files are missing
			return
		}
		path := filepath.Join(t.TempDir(), ledger.FileName)
		if err := os.WriteFile(path, input, 0o600); err != nil {
			t.Fatal(err)
		}
		records, again, err := ledger.Read(path)
		if err != nil || again != report || uint64(len(records)) != report.Records {
			t.Fatalf("Verify: %+v; Read: %d records, %+v, %v", report, len(records), again, err)
		}
		made := format + "\n"
		for _, r := range records {
			made += ledger.Encode(r)
		}
		if tail, ok := bytes.CutPrefix(input, []byte(made)); !ok || report.Torn != (len(tail) > 0) || bytes.Contains(tail, []byte("\n")) {
			t.Fatalf("accepted, but not what its records make; torn: %v", report.Torn)
		}
	})
}
