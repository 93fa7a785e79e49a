package testsite

import (
	"errors"
	"go/parser"
	"go/token"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

var testNow = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

// Clauses: OPS3-6.05, OPS3-6.09, OPS3-6.18, OPS3-6.19, OPS3-6.23, OPS3-6.26, OPS3-8.1.05
func TestAnApprovalIsReadWhateverItsOrderSpacingAndUnknownMembers(t *testing.T) {
	full := approval{operationID: "exc_1", revision: "r-1", approver: "user", approvedAt: 1791487260, inputType: "tap", reference: "apr_1"}
	least := approval{operationID: "exc_1", revision: "r-1", approver: "agent"}
	now := time.Unix(1791487300, 0)
	for name, c := range map[string]struct {
		lines []string
		want  approval
		rules string
	}{
		"as in the example":   {[]string{`operation_id="exc_1", revision="r-1", approver="user", approved_at=1791487260, input_type="tap", reference="apr_1"`}, full, ""},
		"another order":       {[]string{`reference="apr_1",approver="user",input_type="tap",   approved_at=1791487260,revision="r-1",operation_id="exc_1"`}, full, ""},
		"two lines":           {[]string{`operation_id="exc_1", revision="r-1"`, `approver="user", approved_at=1791487260, input_type="tap", reference="apr_1"`}, full, ""},
		"unknown members":     {[]string{`v4-signature=:AAAA:, operation_id="exc_1";x=1, revision="r-1", approver="agent", list=("a" "b")`}, least, ""},
		"required ones alone": {[]string{`operation_id="exc_1", revision="r-1", approver="agent"`}, least, ""},
		"the last one holds":  {[]string{`operation_id="exc_2", revision="r-1", approver="agent", operation_id="exc_1"`}, least, ""},
		"input_type of agent": {[]string{`operation_id="exc_1", revision="r-1", approver="agent", input_type="tap"`}, least, ruleInputTypeAgent},
		"unknown input_type": {[]string{`operation_id="exc_1", revision="r-1", approver="user", approved_at=1791487260, input_type="gaze"`},
			approval{operationID: "exc_1", revision: "r-1", approver: "user", approvedAt: 1791487260, inputType: "gaze"}, ""},
		"optional ones missing": {[]string{`operation_id="exc_1", revision="r-1", approver="user"`},
			approval{operationID: "exc_1", revision: "r-1", approver: "user"}, ruleApprovedAtMissing + " " + ruleInputTypeMissing},
	} {
		t.Run(name, func(t *testing.T) {
			got, findings, err := parseApproval(c.lines, now)
			if err != nil || got != c.want {
				t.Errorf("%+v, %v", got, err)
			}
			var rules []string
			for _, f := range findings {
				rules = append(rules, f.rule)
			}
			if strings.Join(rules, " ") != c.rules {
				t.Errorf("findings %v, want %q", findings, c.rules)
			}
		})
	}
}

func TestWhatIsNoApprovalApprovesNothing(t *testing.T) {
	for _, line := range []string{
		``, `operation_id`, `operation_id="exc_1", revision="r-1"`, `operation_id=exc_1, revision="r-1", approver="user"`,
		`operation_id="exc 1", revision="r-1", approver="user"`, `operation_id="exc_1", revision=1, approver="user"`,
		`operation_id="exc_1", revision="r-1", approver=user`, `operation_id="exc_1", revision="r-1", approver="model"`,
		`operation_id="exc_1", revision="r-1", approver="user",`, `operation_id="exc_1", revision=("r-1"), approver="user"`,
		`operation_id="exc_1", revision="r-1", approver="user", x="` + strings.Repeat("a", maxApproval) + `"`,
	} {
		if a, findings, err := parseApproval([]string{line}, testNow); !errors.Is(err, errNoApproval) || len(findings) == 0 || a != (approval{}) {
			t.Errorf("%.60q: %+v %v %v", line, a, findings, err)
		}
	}
}

// Clauses: OPS3-2.11, OPS3-2.20
func TestAnExtensionIsDeclaredByItsNameAndVersion(t *testing.T) {
	for line, want := range map[string][2]bool{
		`"operations";v="3"`:                      {true, true},
		`"gift";v="1", "operations";v="3";x`:      {true, true},
		`"operations";v="2"`:                      {false, true},
		`"operations";v=3`:                        {false, true},
		`"operations"`:                            {false, true},
		`"other";v="3"`:                           {false, true},
		`operations;v="3"`:                        {false, false},
		`("operations");v="3"`:                    {false, false},
		`"operations";v="3",`:                     {false, false},
		`"operations";v="2", "operations";v="3"`:  {true, true},
		`"operations";v="3", "operations";v="10"`: {true, true},
	} {
		declared, ok := declaresOperations([]string{line})
		if declared != want[0] || ok != want[1] {
			t.Errorf("%s: declared %v, readable %v", line, declared, ok)
		}
	}
	if declared, ok := declaresOperations(nil); declared || !ok {
		t.Error("no line at all declares something or isn't readable")
	}
}

// Clauses: OPS3-4.22, OPS3-4.23
func TestABodyIsReadStrictlyAndUnknownMembersAreIgnored(t *testing.T) {
	longest := strings.Repeat("a", maxRef)
	for body, want := range map[string]string{
		`{"ref":"exc_1.2-3"}`:                    "exc_1.2-3",
		` { "x": [1, {"y": null}], "ref":"a" } `: "a",
		`{"ref":"` + longest + `"}`:              longest,
	} {
		if ref, err := parseReference([]byte(body)); err != nil || ref != want {
			t.Errorf("%.40q: %q %v", body, ref, err)
		}
	}
	for _, body := range []string{
		``, `null`, `[]`, `"a"`, `{}`, `{"Ref":"a"}`, `{"ref":1}`, `{"ref":null}`, `{"ref":""}`, `{"ref":"a b"}`, `{"ref":"a/b"}`, `{"ref":"ä"}`,
		`{"ref":"a","ref":"a"}`, `{"ref":"a","x":{"y":1,"y":2}}`, `{"ref":"a"}x`, `{"ref":"a"}{}`, "{\"ref\":\"\xff\"}", `{"ref":"` + longest + `a"}`,
		`{"ref":"a","x":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`,
	} {
		if ref, err := parseReference([]byte(body)); err == nil {
			t.Errorf("%.40q was read as %q", body, ref)
		}
	}
}

func TestAnAgentThatDiesWhileItSendsBreaksNoRule(t *testing.T) {
	for name, tc := range map[string]struct {
		body  io.Reader
		rules int
	}{
		"it died":      {io.MultiReader(strings.NewReader(`{"ref":`), iotest.ErrReader(io.ErrUnexpectedEOF)), 0},
		"it is a lot":  {strings.NewReader(`{"ref":"` + strings.Repeat("a", maxEndpointBody) + `"}`), 1},
		"it is a half": {strings.NewReader(`{"ref":`), 1},
	} {
		s := &Site{record: record{now: time.Now, log: slog.New(slog.DiscardHandler)}}
		r := httptest.NewRequest(http.MethodPost, "/", tc.body)
		r.Header.Set("Content-Type", "application/json")
		if ref, ok := s.readReference(httptest.NewRecorder(), r); ok || ref != "" || len(s.record.snapshot().Broken) != tc.rules {
			t.Errorf("%s: %q, %v, and broken are %+v", name, ref, ok, s.record.snapshot().Broken)
		}
	}
}

func TestOnlyURLsOnTheShopsDomainAreReturnedTo(t *testing.T) {
	for address, want := range map[string]bool{
		"https://stormline.test/orders": true, "https://STORMLINE.test": true, "https://shop.stormline.test/": true,
		"http://stormline.test/": false, "https://stormline.test:444/": false, "https://evilstormline.test/": false, "https://stormline.test.evil/": false,
		"https://stormline.test@evil/": false, "https://user@stormline.test/": false, "//stormline.test/": false, "/orders": false, "": false,
		"https:stormline.test": false, "javascript:alert(1)": false, "https://stormline.test\\@evil/": false,
	} {
		if (names{defaultDomain}).onOurDomain(address) != want {
			t.Errorf("%q: %v", address, !want)
		}
	}
}

func TestTheRulesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range ruleTable {
		if seen[r.id] || r.says == "" || r.severity == "" || strings.ToLower(r.id) != r.id {
			t.Errorf("rule %+v", r)
		}
		seen[r.id] = true
	}
}

// The bundled Company is a second reading of the protocol: it shares no code with the agent.
func TestNothingElseOfTheModuleIsImported(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		checked++
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range file.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			own := strings.HasPrefix(path, "github.com/papaver-agent/papaver")
			if own && !strings.HasPrefix(path, "github.com/papaver-agent/papaver/testsite") {
				t.Errorf("%s imports %s", e.Name(), path)
			}
			if strings.Contains(path, ".") && !own && path != "github.com/dunglas/httpsfv" {
				t.Errorf("%s imports %s", e.Name(), path)
			}
		}
	}
	if checked < 10 {
		t.Errorf("only %d files were checked", checked)
	}
}
