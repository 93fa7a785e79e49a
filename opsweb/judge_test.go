package opsweb

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

func bareHeld() browser.Held { return browser.Held{} }

// goodCandidate is a sighting that is a reference.
func goodCandidate(lines ...string) candidate {
	return candidate{
		status: http.StatusForbidden, method: http.MethodPost, resource: "Document", header: readHeader(lines),
		known: true, joined: true, sid: "ses_1", endpoint: true,
	}
}

// judgeFields judges the header's lines alone, in a context that is joined to ses_1.
func judgeFields(lines []string) (ref string, why Refusal) {
	c := goodCandidate(lines...)
	if why = judge(c, judgement[:]); why != "" {
		return "", why
	}
	return c.reference(), ""
}

// badField is a header that is ignored, whatever else is right.
type badField struct {
	lines []string
	why   Refusal
}

func badFields() map[string]badField {
	return map[string]badField{
		"empty":                {[]string{``}, NoSid},
		"no line":              {nil, NoSid},
		"sid only":             {[]string{`sid="ses_1"`}, NoRef},
		"ref only":             {[]string{`ref="r1"`}, NoSid},
		"ref a Token":          {[]string{`sid="ses_1", ref=r1`}, NoRef},
		"sid a Token":          {[]string{`sid=ses_1, ref="r1"`}, NoSid},
		"ref a number":         {[]string{`sid="ses_1", ref=1`}, NoRef},
		"ref a Byte Sequence":  {[]string{`sid="ses_1", ref=:cjE=:`}, NoRef},
		"ref a Display String": {[]string{`sid="ses_1", ref=%"r1"`}, NoRef},
		"ref a Date":           {[]string{`sid="ses_1", ref=@1`}, NoRef},
		"ref true":             {[]string{`sid="ses_1", ref`}, NoRef},
		"sid true":             {[]string{`sid, ref="r1"`}, NoSid},
		"ref an inner list":    {[]string{`sid="ses_1", ref=("r1")`}, NoRef},
		"sid an inner list":    {[]string{`sid=("ses_1"), ref="r1"`}, NoSid},
		"unterminated":         {[]string{`sid="ses_1", ref="r1`}, Malformed},
		"trailing comma":       {[]string{`sid="ses_1", ref="r1",`}, Malformed},
		"semicolons":           {[]string{`sid="ses_1"; ref="r1"`}, NoRef},
		"no comma":             {[]string{`sid="ses_1" ref="r1"`}, Malformed},
		"upper-case keys":      {[]string{`SID="ses_1", REF="r1"`}, Malformed},
		"a quote in it":        {[]string{`sid="ses_1", ref="r"1"`}, Malformed},
		"not ASCII":            {[]string{`sid="ses_1", ref="ré"`}, Malformed},
		"a Latin-1 byte":       {[]string{"sid=\"ses_1\", ref=\"r\xe9\""}, Malformed},
		"a later line is none": {[]string{`sid="ses_1", ref="r1"`, `!`}, Malformed},
		"a String over lines":  {[]string{`sid="ses_1", ref="r`, `1"`}, BadRef},
		"a later ref a Token":  {[]string{`sid="ses_1", ref="r1"`, `ref=r2`}, NoRef},
		"a later sid a Token":  {[]string{`sid="ses_1", ref="r1"`, `sid=ses_1`}, NoSid},
		"a list":               {[]string{`"ses_1", "r1"`}, Malformed},
		"JSON":                 {[]string{`{"sid":"ses_1","ref":"r1"}`}, Malformed},
	}
}

// Clauses: OPS3-4.19, OPS3-4.41
func TestAHeaderThatIsNoDictionaryOfTwoStringsIsIgnored(t *testing.T) {
	for name, tc := range badFields() {
		if ref, why := judgeFields(tc.lines); ref != "" || why != tc.why {
			t.Errorf("%s: %q, %q; want %q", name, ref, why, tc.why)
		}
	}
}

// Clauses: OPS3-4.18, OPS3-4.20, OPS3-4.24
func TestAWellFormedHeaderIsReadAsOneDictionary(t *testing.T) {
	for name, tc := range map[string]struct {
		lines []string
		ref   string
	}{
		"as in the specification":      {[]string{`sid="ses_1", ref="exc_5Rt2.1791487200.k3Jd9Qx2mW8v"`}, "exc_5Rt2.1791487200.k3Jd9Qx2mW8v"},
		"the other order":              {[]string{`ref="r1", sid="ses_1"`}, "r1"},
		"spaces":                       {[]string{"  sid=\"ses_1\"  ,\t ref=\"r1\"  "}, "r1"},
		"members nobody knows":         {[]string{`v=3, sid="ses_1", x=(1 2), ref="r1", y`}, "r1"},
		"parameters":                   {[]string{`sid="ses_1";a;b=1, ref="r1";ref="other"`}, "r1"},
		"two lines":                    {[]string{`sid="ses_1"`, `ref="r1"`}, "r1"},
		"two lines, the last ref":      {[]string{`sid="ses_1", ref="r1"`, `ref="r2"`}, "r2"},
		"two lines, the last sid":      {[]string{`sid="ses_2", ref="r1"`, `sid="ses_1"`}, "r1"},
		"one line, the last ref":       {[]string{`sid="ses_1", ref="r1", ref="r2"`}, "r2"},
		"every character of a ref":     {[]string{`sid="ses_1", ref="AZaz09-_."`}, "AZaz09-_."},
		"as long as a ref may be":      {[]string{`sid="ses_1", ref="` + strings.Repeat("r", 2048) + `"`}, strings.Repeat("r", 2048)},
		"dots that look like a folder": {[]string{`sid="ses_1", ref=".."`}, ".."},
	} {
		if ref, why := judgeFields(tc.lines); ref != tc.ref || why != "" {
			t.Errorf("%s: %.60q, %q", name, ref, why)
		}
	}
}

// Clauses: OPS3-4.22, OPS3-4.23, OPS3-4.39
func TestAReferenceOutsideItsAlphabetOrUnderAnotherSidIsIgnored(t *testing.T) {
	for _, ref := range []string{"", "a/b", "a b", "a%20", "a+b", "a~", "a=", `a\"b`, "a:b", "r\\\\", strings.Repeat("r", 2049)} {
		if got, why := judgeFields([]string{`sid="ses_1", ref="` + ref + `"`}); got != "" || why != BadRef {
			t.Errorf("%.40q: %.40q, %q", ref, got, why)
		}
	}
	for _, sid := range []string{"", "ses_2", "SES_1", "ses_1 ", "ses_11"} {
		if got, why := judgeFields([]string{`sid="` + sid + `", ref="r1"`}); got != "" || why != OtherSid {
			t.Errorf("%q: %q, %q", sid, got, why)
		}
	}
}

// Whatever a response says, what comes out is a reference of ours to use or nothing.
//
// Clauses: OPS3-4.19, OPS3-4.22, OPS3-4.23, OPS3-4.39
func FuzzJudge(f *testing.F) {
	for _, tc := range badFields() {
		f.Add(http.StatusForbidden, "POST", "Document", strings.Join(tc.lines, "\n"))
	}
	f.Add(http.StatusForbidden, "POST", "Document", `sid="ses_1", ref="r1"`)
	f.Add(http.StatusForbidden, "GET", "Fetch", "sid=\"ses_1\"\nref=\"r2\"")
	f.Add(http.StatusForbidden, "OPTIONS", "Preflight", `sid="ses_1", ref="r1"`)
	f.Add(http.StatusOK, "GET", "Image", `sid="ses_1", ref="r1"`)
	f.Fuzz(func(t *testing.T, status int, method, resource, text string) {
		c := goodCandidate(strings.Split(text, "\n")...)
		c.status, c.method, c.resource = status, method, resource
		if judge(c, judgement[:]) != "" {
			return
		}
		if status != 403 || method == "OPTIONS" || resource == "Preflight" {
			t.Fatalf("a reference came of %s %s, %d", method, resource, status)
		}
		ref := c.reference()
		if ref == "" || len(ref) > 2048 || strings.Trim(ref, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") != "" ||
			!strings.Contains(text, `"`+ref+`"`) || !strings.Contains(text, `"ses_1"`) {
			t.Fatalf("%q was taken for a reference of %q", ref, text)
		}
	})
}

// A cache that repeats a response repeats its reference.
func TestAReferenceIsTakenOnceInAContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.script = []answer{terms("v1")}
		w.chrome.script = []page{refused("r1"), refused("r1")}
		stop := w.answers(no)
		w.press(w.tab)
		w.must(w.settle())
		w.press(w.tab)
		synctest.Wait()
		stop()
		if s := bodies[Sighting](w); len(s) != 2 || s[1].Why != SeenBefore {
			t.Errorf("sightings: %+v", s)
		}
	})
}

// Whatever a page makes the Company return, at most 20 rounds are open and at most 30 begin in a minute. What an act of
// ours was made for comes through all the same.
func TestAPageOpensOnlySoManyRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = func(p post) answer { return termsOf("exc_"+p.ref, "v1", time.Hour) }
		for n := range maxOpen + 1 {
			w.byItself(refusedScript(fmt.Sprint("r", n)))
		}
		s := bodies[Sighting](w)
		if last := s[len(s)-1]; len(s) != maxOpen+1 || last.Why != TooMany || w.ops.Open() != maxOpen {
			t.Errorf("%d sightings, the last %q; %d rounds are open", len(s), last.Why, w.ops.Open())
		}
		w.chrome.script = []page{refusedScript("ours"), refusedScript("ours_too")}
		w.press(w.tab)
		w.soon(refusedScript("more"))
		w.press(w.tab)
		for n, accepted := range []bool{true, false, true} {
			if got := bodies[Sighting](w)[maxOpen+1+n]; got.Accepted != accepted {
				t.Errorf("sighting %d of ours: accepted %v, %q", n, got.Accepted, got.Why)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = func(post) answer { return answer{status: 401} } // the rounds end at once
		accepted := func() int {
			return len(slices.DeleteFunc(bodies[Sighting](w), func(s Sighting) bool { return !s.Accepted }))
		}
		w.chrome.script = []page{done}
		w.press(w.tab)
		for n := range rateCount + 2 { // the first is what the act was made for
			w.soon(refusedScript(fmt.Sprint("r", n)))
			w.must(w.settle())
		}
		if got := accepted(); got != rateCount+1 {
			t.Errorf("%d rounds began, want %d", got, rateCount+1)
		}
		w.skip(time.Second)
		w.byItself(refusedScript("later"))
		if got := accepted(); got != rateCount+2 {
			t.Errorf("%d rounds began a minute later, want %d", got, rateCount+2)
		}
	})
}

// A flood of refused sightings does not fill the disk.
func TestRefusedSightingsAreWrittenDownOnlySoOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for range maxRefusals + 50 {
			w.ops.Held(t.Context(), bareHeld())
		}
		if n := len(w.disk.records()); n != maxRefusals+1 {
			t.Errorf("%d lines, want %d", n, maxRefusals+1)
		}
	})
}
