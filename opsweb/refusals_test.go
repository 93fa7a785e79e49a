package opsweb

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/browser"
)

// refusedSighting is a sighting that is a reference but for one thing.
type refusedSighting struct {
	page  page
	where func(*world) *joined // of what context it is; nil for the world's own, and none for one that no act caused
	held  *browser.Held        // in place of a press
	why   Refusal
}

func refusedSightings() map[string]refusedSighting {
	good := refused("r1")
	with := func(change func(*page)) page { p := good; change(&p); return p }
	lines := func(lines ...string) page { return with(func(p *page) { p.fields = lines }) }
	own := func(change func(*world, *site)) func(*world) *joined {
		return func(w *world) *joined {
			w.ops.mu.Lock()
			defer w.ops.mu.Unlock()
			change(w, w.ops.sites[w.tab.ID()])
			return w.tab
		}
	}
	return map[string]refusedSighting{
		"a frame that nobody knows":  {held: &browser.Held{}, why: NoContext},
		"status 200":                 {page: with(func(p *page) { p.status = http.StatusOK }), why: NotA403},
		"status 401":                 {page: with(func(p *page) { p.status = http.StatusUnauthorized }), why: NotA403},
		"a preflight":                {page: with(func(p *page) { p.method = http.MethodOptions }), why: Preflight},
		"what Chromium calls one":    {page: with(func(p *page) { p.resource = "Preflight" }), why: Preflight},
		"malformed":                  {page: lines(`sid="%SID", ref="r1",`), why: Malformed},
		"sid a Token":                {page: lines(`sid=%SID, ref="r1"`), why: NoSid},
		"no sid":                     {page: lines(`ref="r1"`), why: NoSid},
		"ref a Token":                {page: lines(`sid="%SID", ref=r1`), why: NoRef},
		"no ref":                     {page: lines(`sid="%SID"`), why: NoRef},
		"an invented Session":        {page: lines(`sid="ses_x", ref="r1"`), why: OtherSid},
		"two Sessions, one invented": {page: lines(`sid="%SID", ref="r1"`, `sid="ses_x"`), why: OtherSid},
		"a slash in ref":             {page: lines(`sid="%SID", ref="../r1"`), why: BadRef},
		"a ref that is too long":     {page: lines(`sid="%SID", ref="` + strings.Repeat("r", 2049) + `"`), why: BadRef},
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
		"a reference that came before": {page: good, why: SeenBefore, where: own(func(_ *world, s *site) { s.seen["r1"] = true })},
		"one of too many of the page's own": {page: good, why: TooMany, where: func(w *world) *joined {
			own(func(w *world, s *site) { s.came = slices.Repeat([]time.Time{w.now().Add(time.Minute)}, rateCount) })(w)
			return nil
		}},
		"no random bytes for a name": {page: good, why: NotNamed, where: own(func(w *world, _ *site) { w.ops.cfg.Rand = iotest.ErrReader(errDiskFull) })},
		"the run is ending":          {page: good, why: ShuttingOff, where: own(func(w *world, _ *site) { w.ops.ending = true })},
	}
}

// happens plays a refused sighting and returns what was told of it.
func (r refusedSighting) happens(w *world) []Sighting {
	tab := w.tab
	if r.where != nil {
		tab = r.where(w)
	}
	switch {
	case r.held != nil:
		w.ops.Held(w.t.Context(), *r.held)
	case tab == nil:
		w.byItself(r.page)
	default:
		w.chrome.script = []page{r.page}
		w.press(tab)
	}
	synctest.Wait()
	return bodies[Sighting](w)
}

// Each sighting that is no reference is written down with its reason, and no request, question or replay follows.
//
// Clauses: OPS3-4.19, OPS3-4.39, OPS3-4.40, OPS3-4.41
func TestARefusedSightingIsWrittenDownAndLeadsToNothing(t *testing.T) {
	for name, tc := range refusedSightings() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				if s := tc.happens(w); len(s) != 1 || s[0].Accepted || s[0].Why != tc.why {
					t.Errorf("sightings: %+v, want %q", s, tc.why)
				}
				if got := w.trace(); got != "ACT sighting" && got != "sighting" {
					t.Errorf("what happened: %s", got)
				}
				if rec := w.disk.records()[0]; rec.Round != "" || !strings.Contains(string(rec.Data), string(tc.why)) {
					t.Errorf("the line is %s of round %q", rec.Data, rec.Round)
				}
			})
		})
	}
}

// With any one condition of the judgement off, a case above fails that names it. So each condition is needed, and a test
// would tell of its loss.
//
// Clauses: OPS3-4.19, OPS3-4.39, OPS3-4.40, OPS3-4.41
func TestNoConditionOfTheJudgementCanBeLeftOut(t *testing.T) {
	for _, off := range judgement {
		var cases, failing int
		for name, tc := range refusedSightings() {
			if tc.why != off.refusal {
				continue
			}
			cases++
			t.Run(string(off.refusal)+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.company.live = func(post) answer { return answer{status: http.StatusUnauthorized} } // what is accepted ends at once
					w.ops.judgement = slices.DeleteFunc(slices.Clone(w.ops.judgement), func(c condition) bool { return c.refusal == off.refusal })
					if s := tc.happens(w); len(s) == 0 || s[0].Why != off.refusal {
						failing++
					}
				})
			})
		}
		if cases == 0 || failing != cases {
			t.Errorf("without the condition %q %d of its %d cases fail", off.refusal, failing, cases)
		}
	}
}

// What a response from another place says is judged alike, and the line has its origin.
func TestTheOriginOfASightingIsWrittenDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = func(post) answer { return answer{status: http.StatusUnauthorized} }
		p := refused("r1")
		p.url = "https://elsewhere.test:8443/act?q"
		w.chrome.script = []page{p}
		w.press(w.tab)
		w.must(w.settle())
		s := bodies[Sighting](w)
		if len(s) != 1 || !s[0].Accepted || s[0].Origin != "https://elsewhere.test:8443" || s[0].Company != shopDomain {
			t.Errorf("sightings: %+v", s)
		}
		if data := string(w.disk.records()[0].Data); !strings.Contains(data, `"origin":"https://elsewhere.test:8443"`) {
			t.Errorf("the line is %s", data)
		}
	})
}

// A sighting's line says where in the browser it came, and whose doing its request was.
func TestASightingKnowsWhereItCameAndWhoseDoingItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.company.live = func(post) answer { return answer{status: http.StatusUnauthorized} }
		w.chrome.script = []page{refused("r1")}
		w.press(w.tab)
		w.byItself(refusedScript("r2"))
		w.must(w.settle())
		s := bodies[Sighting](w)
		if len(s) != 2 || s[0].Cause != ByAct || s[0].Act == nil || s[1].Cause != ByPage || s[1].Act != nil {
			t.Fatalf("sightings: %+v", s)
		}
		for _, s := range s {
			if s.Context != w.tab.ID() || s.Frame != w.chrome.last.id || s.Target != w.chrome.last.id || s.Sid != w.session.ID() || s.URL != shopAction {
				t.Errorf("sighting: %+v", s)
			}
		}
	})
}
