package opsweb

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

var verdictsFile = flag.String("verdicts", "", "write each field of the corpus with our verdict into this file, one JSON object a line")

// verdict is one field of the corpus and what we make of it.
type verdict struct {
	Lines []string `json:"lines"`
	Sid   string   `json:"sid"`
	Ref   string   `json:"ref"`
	Why   Refusal  `json:"why"`
}

// corpusSize is how many made-up fields are judged beside the written ones.
const corpusSize = 6000

// corpus makes fields of Poppy-Operation, always the same ones: right ones, and right ones with one to three small changes.
func corpus() [][]string {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	members := []string{
		`sid="ses_1"`, `sid="ses_1"`, `sid="ses_1"`, `sid="ses_2"`, `sid=ses_1`, `sid="ses\"1"`, `sid="ses_1";a=1;b`, `sid`, `sid=:c2VzXzE=:`, `sid=%"ses_1"`,
		`ref="r1"`, `ref="r1"`, `ref="r.2-_"`, `ref="a/b"`, `ref=""`, `ref="r1";x="y"`, `ref=("r1")`, `ref=1`, `ref=?1`, `ref=@1796001774`, `ref=1.5`, `ref="r\\1"`,
		`v=3`, `x=(1 "a";q)`, `y`, `*a=*/:`, `z=?0`, `w=-12.345`, `u=%"f%c3%bc"`, `long=999999999999999`, `SID="ses_1"`, `_r="r1"`,
	}
	separators := []string{", ", ",", " ,\t", "  ,  ", "; ", ",,", " "}
	bytes := []string{`"`, `\`, `,`, `;`, `=`, ` `, "\t", `(`, `)`, `:`, `?`, `@`, `%`, `*`, `-`, `.`, `_`, `0`, `9`, `a`, `Z`, `é`, "\x7f", "\x01", `~`, `/`}
	all := slices.Collect(func(yield func([]string) bool) {
		for _, tc := range badFields() {
			if !yield(tc.lines) {
				return
			}
		}
	})
	slices.SortFunc(all, slices.Compare) // a map has no order
	for range corpusSize {
		var lines []string
		for range 1 + random.IntN(8)/7 {
			parts := []string{pick(members[:4]), pick(members[10:15])}
			for range random.IntN(3) {
				parts = slices.Insert(parts, random.IntN(len(parts)+1), pick(members))
			}
			separator := separators[0]
			if random.IntN(4) == 0 {
				separator = pick(separators)
			}
			line := strings.Join(parts, separator)
			for range random.IntN(4) - 1 {
				at := random.IntN(len(line) + 1)
				switch random.IntN(3) {
				case 0:
					line = line[:at] + pick(bytes) + line[at:]
				case 1:
					line = line[:at] + line[min(at+1, len(line)):]
				default:
					line = line[:at] + pick(bytes) + line[min(at+1, len(line)):]
				}
			}
			lines = append(lines, line)
		}
		all = append(all, lines)
	}
	return all
}

// Another library reads the same corpus in `make interop` and must come to the same verdicts. Here it is only seen that
// the corpus is worth reading: every verdict occurs often.
//
// Clauses: OPS3-4.19, OPS3-4.39
func TestTheCorpusOfFieldsMeetsEveryVerdict(t *testing.T) {
	counts, kinds := make(map[Refusal]int), make(map[string]int)
	var written strings.Builder
	for _, lines := range corpus() {
		if field := strings.Join(lines, ","); len(lines) > 1 {
			kinds["several lines"]++
		} else {
			for kind, mark := range map[string]string{"parameters": `";`, "a Token": "=ses_1", "an inner list": "=(", "a Byte Sequence": "=:", "a Display String": `=%"`} {
				if strings.Contains(field, mark) {
					kinds[kind]++
				}
			}
		}
		ref, why := judgeFields(lines)
		counts[why]++
		if (ref == "") != (why != "") {
			t.Fatalf("%q: %q beside %q", lines, ref, why)
		}
		line, err := json.Marshal(verdict{Lines: lines, Sid: "ses_1", Ref: ref, Why: why})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&written, "%s\n", line)
	}
	for _, why := range []Refusal{"", Malformed, NoSid, NoRef, OtherSid, BadRef} {
		if counts[why] < corpusSize/50 {
			t.Errorf("the verdict %q was met %d times in %d fields", why, counts[why], corpusSize)
		}
	}
	for _, kind := range []string{"several lines", "parameters", "a Token", "an inner list", "a Byte Sequence", "a Display String"} {
		if kinds[kind] < corpusSize/50 {
			t.Errorf("%s was met %d times in %d fields", kind, kinds[kind], corpusSize)
		}
	}
	if *verdictsFile != "" {
		if err := os.WriteFile(*verdictsFile, []byte(written.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
