package opsweb

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

func bareHeld() browser.Held { return browser.Held{} }

// fieldsThatCarryNoReference are header lines that are ignored, whatever else is right.
func fieldsThatCarryNoReference() map[string][]string {
	return map[string][]string{
		"empty":                {""},
		"sid only":             {`sid="ses_1"`},
		"ref only":             {`ref="r1"`},
		"ref a Token":          {`sid="ses_1", ref=r1`},
		"sid a Token":          {`sid=ses_1, ref="r1"`},
		"ref a number":         {`sid="ses_1", ref=1`},
		"ref a Byte Sequence":  {`sid="ses_1", ref=:cjE=:`},
		"ref true":             {`sid="ses_1", ref`},
		"ref an inner list":    {`sid="ses_1", ref=("r1")`},
		"unterminated":         {`sid="ses_1", ref="r1`},
		"trailing comma":       {`sid="ses_1", ref="r1",`},
		"semicolons":           {`sid="ses_1"; ref="r1"`},
		"no comma":             {`sid="ses_1" ref="r1"`},
		"upper-case keys":      {`SID="ses_1", REF="r1"`},
		"a quote in it":        {`sid="ses_1", ref="r"1"`},
		"not ASCII":            {`sid="ses_1", ref="ré"`},
		"a later line is none": {`sid="ses_1", ref="r1"`, `!`},
		"a later ref a Token":  {`sid="ses_1", ref="r1"`, `ref=r2`},
		"a list":               {`"ses_1", "r1"`},
		"JSON":                 {`{"sid":"ses_1","ref":"r1"}`},
	}
}

// Clauses: OPS3-4.19, OPS3-4.41
func TestAHeaderThatIsNoDictionaryOfTwoStringsIsIgnored(t *testing.T) {
	for name, lines := range fieldsThatCarryNoReference() {
		if ref, why := judgeFields(lines, "ses_1"); ref != "" || why != Malformed {
			t.Errorf("%s: %q, %q", name, ref, why)
		}
	}
	if ref, why := judgeFields(nil, "ses_1"); ref != "" || why != Malformed {
		t.Errorf("no line: %q, %q", ref, why)
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
		if ref, why := judgeFields(tc.lines, "ses_1"); ref != tc.ref || why != "" {
			t.Errorf("%s: %.60q, %q", name, ref, why)
		}
	}
}

// Clauses: OPS3-4.22, OPS3-4.23, OPS3-4.39
func TestAReferenceOutsideItsAlphabetOrUnderAnotherSidIsIgnored(t *testing.T) {
	for _, ref := range []string{"", "a/b", "a b", "a%20", "a+b", "a~", "a=", `a\"b`, "a:b", "r\\\\", strings.Repeat("r", 2049)} {
		if got, why := judgeFields([]string{`sid="ses_1", ref="` + ref + `"`}, "ses_1"); got != "" || why != BadRef {
			t.Errorf("%.40q: %.40q, %q", ref, got, why)
		}
	}
	for _, sid := range []string{"", "ses_2", "SES_1", "ses_1 ", "ses_11"} {
		if got, why := judgeFields([]string{`sid="` + sid + `", ref="r1"`}, "ses_1"); got != "" || why != OtherSid {
			t.Errorf("%q: %q, %q", sid, got, why)
		}
	}
}

// Whatever the lines hold, what comes out is a reference of ours to use or nothing.
//
// Clauses: OPS3-4.19, OPS3-4.22, OPS3-4.23, OPS3-4.39
func FuzzJudgeFields(f *testing.F) {
	for _, lines := range fieldsThatCarryNoReference() {
		f.Add(strings.Join(lines, "\n"))
	}
	f.Add(`sid="ses_1", ref="r1"`)
	f.Add("sid=\"ses_1\"\nref=\"r2\"")
	f.Fuzz(func(t *testing.T, text string) {
		ref, why := judgeFields(strings.Split(text, "\n"), "ses_1")
		if (ref == "") != (why != "") {
			t.Fatalf("%q beside %q", ref, why)
		}
		if why == "" && (len(ref) > 2048 || strings.Trim(ref, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || !strings.Contains(text, `"`+ref+`"`) || !strings.Contains(text, `"ses_1"`)) {
			t.Fatalf("%q was taken for a reference of %q", ref, text)
		}
	})
}

// Each sighting that is no reference is written down with its reason, and no request, question or replay follows.
//
// Clauses: OPS3-4.19, OPS3-4.39, OPS3-4.40, OPS3-4.41
func TestARefusedSightingIsWrittenDownAndLeadsToNothing(t *testing.T) {
	good := refused("r1")
	with := func(change func(*page)) page { p := good; change(&p); return p }
	for name, tc := range map[string]struct {
		page  page
		where func(*world) *joined
		why   Refusal
	}{
		"status 200":          {page: with(func(p *page) { p.status = http.StatusOK }), why: NotA403},
		"status 401":          {page: with(func(p *page) { p.status = http.StatusUnauthorized }), why: NotA403},
		"a preflight":         {page: with(func(p *page) { p.method = http.MethodOptions }), why: Preflight},
		"malformed":           {page: with(func(p *page) { p.fields = []string{`sid=%SID, ref="r1"`} }), why: Malformed},
		"an invented Session": {page: with(func(p *page) { p.fields = []string{`sid="ses_x", ref="r1"`} }), why: OtherSid},
		"a slash in ref":      {page: with(func(p *page) { p.fields = []string{`sid="%SID", ref="../r1"`} }), why: BadRef},
		"a Session of ours, of another context": {page: good, why: OtherSid,
			where: func(w *world) *joined { return w.join(newSession(w.t, w.site()), w.site()) }},
		"a context that is joined to none": {page: good, why: NotJoined,
			where: func(w *world) *joined {
				tab := w.join(newSession(w.t, w.site()), w.site())
				w.ops.Left(tab)
				return tab
			}},
		"a Company without an endpoint": {page: good, why: NoEndpoint,
			where: func(w *world) *joined {
				c := w.site()
				c.OperationsEndpoint = ""
				return w.join(w.session, c)
			}},
		"no random bytes for a name": {page: good, why: NotNamed,
			where: func(w *world) *joined {
				w.ops.mu.Lock()
				w.ops.cfg.Rand = iotest.ErrReader(errDiskFull)
				w.ops.mu.Unlock()
				return w.tab
			}},
		"the run is ending": {page: good, why: ShuttingOff,
			where: func(w *world) *joined {
				w.ops.mu.Lock()
				w.ops.ending = true
				w.ops.mu.Unlock()
				return w.tab
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				tab := w.tab
				if tc.where != nil {
					tab = tc.where(w)
				}
				w.chrome.script = []page{tc.page}
				w.press(tab)
				synctest.Wait()
				if got := w.trace(); got != "ACT sighting" {
					t.Errorf("what happened: %s", got)
				}
				if s := bodies[Sighting](w); len(s) != 1 || s[0].Accepted || s[0].Why != tc.why {
					t.Errorf("sightings: %+v, want %q", s, tc.why)
				}
				if rec := w.disk.records()[0]; rec.Round != "" || !strings.Contains(string(rec.Data), string(tc.why)) {
					t.Errorf("the line is %s of round %q", rec.Data, rec.Round)
				}
			})
		})
	}
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
