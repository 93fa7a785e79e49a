package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/ledger"
)

const format = `{"format":"papaver ledger","version":1}`

// sum is the test's own reading of the hash.
func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// seal makes a line with a right hash from what comes before the hash member.
func seal(body string) string { return body + `,"hash":"` + sum(body) + `"}` + "\n" }

// body is a good line's part before the hash, written without the package.
func body(seq int, prev string) string {
	return fmt.Sprintf(`{"seq":%d,"time":"2026-01-02T15:04:05.000000678Z","owner":"o","kind":"k","round":"r","data":{"n":%d},"prev":"%s"`, seq, seq, prev)
}

// sample is a good ledger of n records, as lines with their line feeds.
func sample(n int) []string {
	lines := []string{format + "\n"}
	prev := sum(format)
	for i := range n {
		b := body(i+1, prev)
		lines = append(lines, seal(b))
		prev = sum(b)
	}
	return lines
}

// put writes a ledger file with this content and returns its folder.
func put(t *testing.T, content string) string {
	t.Helper()
	dir := folder(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file(dir), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestVerifyReportsAGoodLedger(t *testing.T) {
	lines := sample(3)
	got, err := ledger.Verify(strings.NewReader(strings.Join(lines, "")))
	if err != nil {
		t.Fatal(err)
	}
	want := ledger.Report{Records: 3, Head: lines[3][len(lines[3])-67 : len(lines[3])-3], Files: 1}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	empty, err := ledger.Verify(strings.NewReader(lines[0]))
	if want := (ledger.Report{Head: sum(format), Files: 1}); err != nil || empty != want {
		t.Errorf("no records: %+v, %v", empty, err)
	}
}

func TestDamageIsNamedByItsFirstLine(t *testing.T) {
	good := sample(4)
	first := sum(format)
	// changed returns the ledger with one part of the first record's line
	// replaced, under a hash that fits.
	changed := func(old, new string) string {
		b := strings.Replace(body(1, first), old, new, 1)
		if b == body(1, first) {
			panic("nothing replaced: " + old)
		}
		return good[0] + seal(b)
	}
	for name, c := range map[string]struct {
		content string
		line    int
	}{
		"empty file":               {"", 1},
		"half a format line":       {format[:20], 1},
		"format line without end":  {format, 1},
		"other version":            {strings.Replace(format, "1", "2", 1) + "\n", 1},
		"other format":             {`{"format":"diary","version":1}` + "\n", 1},
		"no format line":           {strings.Join(good[1:], ""), 1},
		"format line twice":        {good[0] + good[0], 2},
		"line missing":             {good[0] + good[1] + good[3], 3},
		"lines swapped":            {good[0] + good[1] + good[3] + good[2] + good[4], 3},
		"line twice":               {good[0] + good[1] + good[2] + good[2], 4},
		"blank line at the end":    {strings.Join(good, "") + "\n", 6},
		"blank line inside":        {good[0] + good[1] + "\n" + good[2], 3},
		"CR LF":                    {good[0] + strings.Replace(good[1], "\n", "\r\n", 1), 2},
		"last line end changed":    {strings.TrimSuffix(strings.Join(good, ""), "\n") + "\v", 5},
		"zeros before a line feed": {good[0] + strings.Repeat("\x00", 200) + "\n", 2},
		"too long":                 {good[0] + good[1] + strings.Repeat("x", 4<<20+1), 3},
		"too long, ended":          {good[0] + strings.Repeat("x", 4<<20) + "\n", 2},
		"other chain":              {good[0] + seal(body(1, first)) + seal(body(2, first)), 3},
		"wrong first prev":         {good[0] + seal(body(1, sum(""))), 2},
		"hash in capitals":         {good[0] + body(1, first) + `,"hash":"` + strings.ToUpper(sum(body(1, first))) + "\"}\n", 2},
		"hash changed":             {good[0] + body(1, first) + `,"hash":"` + first + "\"}\n", 2},
		"data changed":             {good[0] + strings.Replace(good[1], `"n":1`, `"n":2`, 1) + good[2], 2},
		"unknown member":           {changed(`"prev"`, `"more":1,"prev"`), 2},
		"duplicate member":         {changed(`"kind":"k"`, `"kind":"k","kind":"k"`), 2},
		"duplicate member in data": {changed(`"n":1`, `"n":1,"n":1`), 2},
		"missing member":           {changed(`"round":"r",`, ``), 2},
		"other case":               {changed(`"owner"`, `"Owner"`), 2},
		"other order":              {changed(`"kind":"k","round":"r"`, `"round":"r","kind":"k"`), 2},
		"space":                    {changed(`"kind":`, `"kind": `), 2},
		"escape in a name":         {changed(`"kind":"k"`, `"kind":"\u006b"`), 2},
		"line feed in a name":      {changed(`"kind":"k"`, `"kind":"k\n"`), 2},
		"empty owner":              {changed(`"owner":"o"`, `"owner":""`), 2},
		"null round":               {changed(`"round":"r"`, `"round":null`), 2},
		"data is an array":         {changed(`{"n":1}`, `[1]`), 2},
		"data is null":             {changed(`{"n":1}`, `null`), 2},
		"invalid UTF-8 in data":    {changed(`"n"`, "\"\xff\""), 2},
		"time with an offset":      {changed(`05.000000678Z`, `05.000000678+01:00`), 2},
		"time with zero offset":    {changed(`05.000000678Z`, `05.000000678+00:00`), 2},
		"time with a comma":        {changed(`05.000000678Z`, `05,000000678Z`), 2},
		"time without a zone":      {changed(`05.000000678Z`, `05.000000678`), 2},
		"sequence from zero":       {changed(`"seq":1`, `"seq":0`), 2},
		"sequence as a fraction":   {changed(`"seq":1`, `"seq":1.0`), 2},
		"sequence below zero":      {changed(`"seq":1`, `"seq":-1`), 2},
		"sequence out of range":    {changed(`"seq":1`, `"seq":99999999999999999999`), 2},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ledger.Verify(strings.NewReader(c.content))
			var damage *ledger.DamageError
			if !errors.As(err, &damage) || !errors.Is(err, ledger.ErrDamaged) {
				t.Fatalf("Verify: %v", err)
			}
			if damage.Line != c.line {
				t.Errorf("%v; want line %d", err, c.line)
			}
			dir := put(t, c.content)
			if _, err := ledger.Open(t.Context(), ledger.Config{Dir: dir, Owner: "o"}); !errors.Is(err, ledger.ErrDamaged) {
				t.Errorf("Open: %v", err)
			}
			if content(t, dir) != c.content {
				t.Error("Open changed a damaged ledger")
			}
		})
	}
}

func TestEverySingleFlippedBitIsNoticedAtItsLine(t *testing.T) {
	lines := sample(50)
	if _, err := ledger.Verify(strings.NewReader(strings.Join(lines, ""))); err != nil {
		t.Fatal(err)
	}
	for i := range lines {
		// What follows the damaged line is never reached, but one line is
		// kept: a flipped line feed joins two.
		text := []byte(strings.Join(lines[i:min(i+2, len(lines))], ""))
		follow := ledger.FollowAfter(strings.Join(lines[:i], ""))
		for bit := range 8 * len(lines[i]) {
			text[bit/8] ^= 1 << (bit % 8)
			var damage *ledger.DamageError
			if err := follow(bytes.NewReader(text)); !errors.As(err, &damage) || damage.Line != i+1 {
				t.Fatalf("line %d, bit %d: %v", i+1, bit, err)
			}
			text[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// A cut at a line's end leaves a whole, shorter chain: only a remembered head tells.
func TestATailCutOffAnywhereIsRecovered(t *testing.T) {
	lines := sample(2)
	whole := strings.Join(lines, "")
	for cut := len(lines[0]); cut <= len(whole); cut++ {
		complete, ended := 0, len(lines[0]) // records before the cut, and where they end
		for _, line := range lines[1:] {
			if ended+len(line) > cut {
				break
			}
			complete, ended = complete+1, ended+len(line)
		}
		dir := put(t, whole[:cut])
		before, report, err := ledger.Read(file(dir))
		if err != nil || len(before) != complete || report.Torn != (cut > ended) {
			t.Fatalf("cut at %d: Read: %d records, %+v, %v", cut, len(before), report, err)
		}
		if content(t, dir) != whole[:cut] {
			t.Fatalf("cut at %d: Read changed the file", cut)
		}
		// Without the syncs, which only cost time here.
		l := open(t, dir, "o", over(&faultFile{sync: func(ledger.File) error { return nil }}))
		kept, notices := complete, 0
		if report.Torn {
			notices = 1
		}
		if complete < 2 && cut == ended+len(lines[complete+1])-1 {
			kept++ // all but the line feed
		}
		records, err := l.Records(t.Context())
		if err != nil || len(records) != kept || len(l.Notices()) != notices {
			t.Fatalf("cut at %d: %d records, want %d; notices %q; %v", cut, len(records), kept, l.Notices(), err)
		}
		if want := strings.Join(lines[:kept+1], ""); content(t, dir) != want {
			t.Fatalf("cut at %d: the file is not what was whole before the cut", cut)
		}
		wantRecords(t, dir, append(records, add(t, l, ledger.Entry{Kind: "k"})))
	}
}

func TestATornLineOfADeadWriterIsCutOffByTheNextAppend(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, "o")
	want := []ledger.Record{add(t, l, ledger.Entry{Kind: "k"})}
	for _, tail := range []string{`{"seq":2,"ti`, strings.Repeat("\x00", 4096)} {
		f, err := os.OpenFile(file(dir), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(tail); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := l.Records(t.Context()); err != nil || cmp.Diff(want, got) != "" {
			t.Errorf("Records beside a torn line: %v %s", err, cmp.Diff(want, got))
		}
		want = append(want, add(t, l, ledger.Entry{Kind: "k"}))
		wantRecords(t, dir, want)
	}
	if n := l.Notices(); len(n) != 2 || !strings.Contains(n[0], "line 3 ") || !strings.Contains(n[1], "line 4 ") {
		t.Errorf("notices: %q", n)
	}
}

func TestNothingIsAppendedAfterTheFileChangedUnderneath(t *testing.T) {
	lines := sample(3)
	for name, change := range map[string]func(path string) error{
		"cut off":              func(p string) error { return os.WriteFile(p, []byte(lines[0]+lines[1]), 0o600) },
		"rewritten, as long":   func(p string) error { return rewrite(p, lines[3], strings.ToUpper(lines[3])) },
		"replaced by a rename": func(p string) error { return replace(p, strings.Join(lines, "")) },
		"removed":              os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			dir := put(t, strings.Join(lines, ""))
			l := open(t, dir, "o")
			if err := change(file(dir)); err != nil {
				t.Fatal(err)
			}
			if _, err := l.Append(t.Context(), ledger.Entry{Kind: "k"}); !errors.Is(err, ledger.ErrDamaged) {
				t.Errorf("Append: %v", err)
			}
			if _, err := l.Records(t.Context()); !errors.Is(err, ledger.ErrDamaged) {
				t.Errorf("Records: %v", err)
			}
		})
	}
}

func rewrite(path, old, new string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Replace(string(b), old, new, 1)), 0o600)
}

func replace(path, content string) error {
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

type brokenReader struct{ error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.error }

func TestAnErrorOfTheReaderIsNotDamage(t *testing.T) {
	ioErr := errors.New("input/output error")
	if _, err := ledger.Verify(brokenReader{ioErr}); !errors.Is(err, ioErr) || errors.Is(err, ledger.ErrDamaged) {
		t.Error(err)
	}
	if _, _, err := ledger.Read(folder(t)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
