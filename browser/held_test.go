package browser

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Clauses: OPS3-4.36
func TestAResponseIsReleasedOnceWhateverOnHeldDoes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		onHeld func(context.Context, Held)
		after  time.Duration
	}{
		"returns":                    {func(context.Context, Held) {}, 0},
		"is slow":                    {func(context.Context, Held) { <-time.NewTimer(3 * time.Second).C }, 3 * time.Second},
		"stops when its time is up":  {func(ctx context.Context, _ Held) { <-ctx.Done() }, holdTimeout},
		"does not stop for a minute": {func(context.Context, Held) { <-time.NewTimer(time.Minute).C }, holdTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				b, d := startFake(t, func(ctx context.Context, h Held) {
					calls++
					if deadline, bounded := ctx.Deadline(); !bounded || time.Until(deadline) != holdTimeout {
						t.Errorf("its deadline is %v", deadline)
					}
					tc.onHeld(ctx, h)
				})
				began := time.Now()
				d.engine.paused(refusal("r1", "worker"))
				<-time.NewTimer(2 * time.Minute).C // the bubble's clock
				synctest.Wait()
				went := d.engine.of("r1")
				if len(went) != 1 || went[0].failed || calls != 1 {
					t.Fatalf("let go %v after %d calls", went, calls)
				}
				if after := went[0].at.Sub(began); after != tc.after {
					t.Errorf("released after %v, want %v", after, tc.after)
				}
				mustClose(t, b)
				if n := len(d.engine.of("r1")); n != 1 {
					t.Errorf("released %d times", n)
				}
			})
		})
	}
}

func TestOneResponseHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, d := startFake(t, func(ctx context.Context, h Held) {
			if h.Fields()[0] == `sid="s", ref="stuck"` {
				<-ctx.Done()
			}
		})
		d.engine.paused(refusal("stuck", "worker"))
		began := time.Now()
		for i := range 100 {
			p := refusal(PausedID(fmt.Sprint(i)), "worker")
			if i%2 == 0 {
				p.Headers = nil
			}
			d.engine.paused(p)
		}
		synctest.Wait()
		if len(d.engine.of("stuck")) != 0 {
			t.Error("released before OnHeld has returned")
		}
		for i := range 100 {
			if went := d.engine.of(PausedID(fmt.Sprint(i))); len(went) != 1 || went[0].at != began {
				t.Errorf("response %d: %v", i, went)
			}
		}
		mustClose(t, b)
	})
}

// Clauses: OPS3-4.36, OPS3-4.37
func TestOnlyAResponseWithTheHeaderIsGivenToOnHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := make(chan Held, 10)
		b, d := startFake(t, func(_ context.Context, h Held) { given <- h })
		plain := refusal("plain", "worker")
		plain.URL += "?Poppy-Operation=ref" // a reference anywhere else is none
		plain.Headers = []Header{{"X-Poppy-Operation", "a"}, {"Poppy-Operations", "b"}, {"Link", watched}}
		d.engine.paused(plain)
		with := refusal("with", "worker")
		with.Headers = []Header{{"poppy-operation", "one"}, {"Other", "x"}, {"POPPY-OPERATION", "two, three"}}
		d.engine.paused(with)
		synctest.Wait()
		if len(given) != 1 {
			t.Fatalf("%d responses were given", len(given))
		}
		h := <-given
		if !slices.Equal(h.Fields(), []string{"one", "two, three"}) {
			t.Errorf("fields %q", h.Fields())
		}
		if h.Status() != 403 || h.Method() != "POST" || h.URL() != "https://shop.test/act" || h.Resource() != "Fetch" || h.Act() != nil || h.MainDocument() {
			t.Errorf("held %+v", h)
		}
		for _, id := range []PausedID{"plain", "with"} {
			if went := d.engine.of(id); len(went) != 1 || went[0].failed {
				t.Errorf("%s: %v", id, went)
			}
		}
		mustClose(t, b)
	})
}

func TestAResponseBelongsToTheContextOfWhoAskedForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := make(chan Held, 1)
		b, d := startFake(t, func(_ context.Context, h Held) { given <- h })
		one, two := fakeContext(t, b), fakeContext(t, b)
		d.engine.frames = map[TargetID][]TargetID{
			tabOf(one).id: {"frame-1"}, tabOf(two).id: {"frame-2"}, "popup": {"frame-3"}, "apart": {"frame-4"}, "foreign": {"frame-5"},
		}
		d.engine.targets = []Target{
			{ID: tabOf(one).id, Type: "page", Context: one.ID()}, {ID: tabOf(two).id, Type: "page", Context: two.ID()},
			{ID: "popup", Type: "page", Context: two.ID()}, {ID: "apart", Type: "iframe", Context: two.ID()}, {ID: "worker", Type: "worker", Context: one.ID()},
			{ID: "foreign", Type: "page", Context: "somebody's"}, {ID: "bare", Type: "iframe"},
		}
		for i, tc := range []struct {
			frame  TargetID
			want   ContextID
			target TargetID
			known  bool
			asks   bool
		}{
			{tabOf(one).id, one.ID(), tabOf(one).id, true, false},
			{tabOf(two).id, two.ID(), tabOf(two).id, true, false},
			{"popup", two.ID(), "popup", true, true},
			{"worker", one.ID(), "worker", true, true},
			{"foreign", "somebody's", "foreign", true, true},
			{"frame-1", one.ID(), tabOf(one).id, true, true},
			{"frame-2", two.ID(), tabOf(two).id, true, true},
			{"frame-3", two.ID(), "popup", true, true},
			{"frame-4", two.ID(), "apart", true, true},
			{"frame-5", "", "", false, true},
			{"bare", "", "", false, true},
			{"nobody", "", "", false, true},
			{"", "", "", false, true},
		} {
			before := d.engine.asked
			d.engine.paused(refusal(PausedID(fmt.Sprint(i)), tc.frame))
			h := <-given
			synctest.Wait()
			if id, known := h.Context(); id != tc.want || known != tc.known || h.Target() != tc.target || h.Frame() != tc.frame {
				t.Errorf("frame %q: %q, %v, in %q, by %q; want %q, %v, in %q", tc.frame, id, known, h.Target(), h.Frame(), tc.want, tc.known, tc.target)
			}
			if (d.engine.asked != before) != tc.asks {
				t.Errorf("frame %q: Chromium was asked %d times", tc.frame, d.engine.asked-before)
			}
		}
		mustClose(t, b)
	})
}

func TestAResponseWhoseSendingWasNotSeenBelongsToTheLastActForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := startFake(t, nobodyHolds)
		c, other := fakeContext(t, b), fakeContext(t, b)
		if b.actOf(c.ID(), "") != nil {
			t.Error("an act before any was made")
		}
		first, err := c.Do(t.Context(), Act{Kind: Navigate, URL: "https://shop.test/"})
		if err != nil {
			t.Fatal(err)
		}
		began := first.Began
		at := func(after time.Duration) { <-time.NewTimer(time.Until(began.Add(after))).C }
		at(5 * time.Second)
		if b.actOf(c.ID(), "") != first {
			t.Error("not its act after 5 s")
		}
		if b.actOf(other.ID(), "") != nil || b.actOf("nobody's", "") != nil {
			t.Error("an act of another context")
		}
		at(5*time.Second + time.Millisecond)
		if b.actOf(c.ID(), "") != nil {
			t.Error("its act after more than 5 s")
		}
		tabOf(c).setActive(1)
		at(30 * time.Second)
		if b.actOf(c.ID(), "") != first {
			t.Error("not its act while a request is under way")
		}
		at(30*time.Second + time.Millisecond)
		if b.actOf(c.ID(), "") != nil {
			t.Error("a request that hangs makes all that comes later its act's")
		}
		tabOf(c).setActive(0)
		second, err := c.Do(t.Context(), Act{Kind: Navigate, URL: "https://shop.test/2"})
		if err != nil || b.actOf(c.ID(), "") != second || second.Number != 2 {
			t.Errorf("the second act is %+v, %v", second, err)
		}
		mustClose(t, b)
	})
}

func TestTheMainDocumentIsThatOfTheActsTab(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := make(chan Held, 1)
		b, d := startFake(t, func(_ context.Context, h Held) { given <- h })
		c := fakeContext(t, b)
		d.engine.targets = []Target{{ID: tabOf(c).id, Type: "page", Context: c.ID()}}
		d.engine.frames = map[TargetID][]TargetID{tabOf(c).id: {"frame"}}
		made, err := c.Do(t.Context(), Act{Kind: Navigate, URL: "https://shop.test/"})
		if err != nil {
			t.Fatal(err)
		}
		for i, tc := range []struct {
			frame    TargetID
			resource string
			want     bool
		}{{tabOf(c).id, "Document", true}, {tabOf(c).id, "Fetch", false}, {"frame", "Document", false}} {
			p := refusal(PausedID(fmt.Sprint(i)), tc.frame)
			p.Resource = tc.resource
			d.engine.paused(p)
			if h := <-given; h.MainDocument() != tc.want || h.Act() != made {
				t.Errorf("%+v: MainDocument %v of %v", tc, h.MainDocument(), h.Act())
			}
		}
		mustClose(t, b)
	})
}

func TestAnActIsRefusedByTheFirst403SinceItBegan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, d := startFake(t, nobodyHolds)
		c := fakeContext(t, b)
		n := 0
		comes := func(method, path, resource string, status int) {
			n++
			d.engine.paused(Paused{ID: PausedID(fmt.Sprint(n)), Frame: tabOf(c).id, Resource: resource, Method: method, URL: "https://shop.test" + path, Status: status})
			synctest.Wait()
		}
		act := func() *Made {
			t.Helper()
			m, err := c.Do(t.Context(), Act{Kind: Navigate, URL: "https://shop.test/"})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		first := act()
		comes("POST", "/before", "Fetch", 403)
		if method, url, refused := c.Refused(first); method != "POST" || url != "https://shop.test/before" || !refused {
			t.Errorf("refused %q, %v", url, refused)
		}
		second := act()
		comes("GET", "/picture", "Image", 403)
		comes("POST", "/fine", "Fetch", 200)
		if _, url, refused := c.Refused(second); refused {
			t.Errorf("refused %q", url)
		}
		for range 2 * maxRecent {
			comes("GET", "/many", "Image", 200)
		}
		comes("GET", "/page", "Document", 403)
		comes("POST", "/after", "Fetch", 403)
		for range 2 * maxRecent {
			comes("GET", "/many", "Image", 200)
		}
		if method, url, refused := c.Refused(second); method != "GET" || url != "https://shop.test/page" || !refused {
			t.Errorf("refused %q, %v", url, refused)
		}
		if _, _, refused := c.Refused(first); refused {
			t.Error("an act of before is refused")
		}
		mustClose(t, b)
	})
}
