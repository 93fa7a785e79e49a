package browser

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAResponseThatSaysWhenToComeAgainIsToldBeforeThePageSeesIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDriver{engine: &fakeEngine{gone: make(chan struct{})}}
		cfg := fakeConfig(t, d, nobodyHolds)
		told := make(chan Limited, 1)
		cfg.OnLimited = func(l Limited) {
			if n := len(d.engine.of("limited")); n != 0 {
				t.Error("the page has it already")
			}
			told <- l
		}
		b, err := Start(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		c := fakeContext(t, b)
		d.engine.targets = []Target{{ID: "worker", Type: "worker", Context: c.ID()}, {ID: "foreign", Type: "page", Context: "somebody's"}}
		seconds := []Header{{"retry-after", "120"}}
		for name, tc := range map[string]struct {
			frame   TargetID
			status  int
			headers []Header
			want    string // empty: not told
		}{
			"429 of the page":    {tabOf(c).id, 429, seconds, "120"},
			"503 of a worker":    {"worker", 503, []Header{{"Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"}}, "Fri, 31 Dec 1999 23:59:59 GMT"},
			"not a number":       {tabOf(c).id, 429, []Header{{"Retry-After", "soon\x1b[2J"}}, "soon\x1b[2J"},
			"two lines":          {tabOf(c).id, 429, []Header{{"Retry-After", "1"}, {"Retry-After", "2"}}, "1"},
			"no header":          {tabOf(c).id, 429, nil, ""},
			"another status":     {tabOf(c).id, 403, seconds, ""},
			"a redirect":         {tabOf(c).id, 301, seconds, ""},
			"somebody's context": {"foreign", 429, seconds, ""},
			"nobody's frame":     {"nobody", 429, seconds, ""},
		} {
			d.engine.went = nil
			d.engine.paused(Paused{ID: "limited", Frame: tc.frame, Resource: "Document", Method: "GET", URL: "https://shop.test/", Status: tc.status, Headers: tc.headers})
			if tc.frame == "nobody" {
				<-time.After(holdTimeout) // it is looked for
			}
			synctest.Wait()
			select {
			case l := <-told:
				if want := (Limited{c.ID(), tc.status, tc.want, "https://shop.test/", time.Now()}); l != want {
					t.Errorf("%s: told %+v, want %+v", name, l, want)
				}
			default:
				if tc.want != "" {
					t.Errorf("%s: not told", name)
				}
			}
			if went := d.engine.of("limited"); len(went) != 1 || went[0].failed {
				t.Errorf("%s: let go %v", name, went)
			}
		}
		mustClose(t, b)
	})
}

func TestAnOnLimitedThatDoesNotReturnHoldsUpNothingForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &fakeDriver{engine: &fakeEngine{gone: make(chan struct{})}}
		cfg := fakeConfig(t, d, nobodyHolds)
		cfg.OnLimited = func(Limited) { <-time.NewTimer(time.Minute).C }
		b, err := Start(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		frame := tabOf(fakeContext(t, b)).id
		began := time.Now()
		d.engine.paused(Paused{ID: "limited", Frame: frame, Status: 429, Headers: []Header{{"Retry-After", "1"}}})
		d.engine.paused(Paused{ID: "other", Frame: frame, Status: 200})
		<-time.NewTimer(2 * time.Minute).C
		for id, after := range map[PausedID]time.Duration{"limited": holdTimeout, "other": 0} {
			if went := d.engine.of(id); len(went) != 1 || went[0].at.Sub(began) != after {
				t.Errorf("%s: let go %v", id, went)
			}
		}
		mustClose(t, b)
	})
}
