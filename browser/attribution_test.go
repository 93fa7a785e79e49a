package browser

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A response is of the act during which its request was sent, and not of the one that was made while it was on its way.
func TestALateResponseBelongsToTheActThatSentItsRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		given := make(chan Held, 1)
		b, d := startFake(t, func(_ context.Context, h Held) { given <- h })
		c := fakeContext(t, b)
		tab := tabOf(c).id
		sent := func(id RequestID, busy bool) { d.process.Sent(SentRequest{Tab: tab, ID: id, Busy: busy}) }
		came := func(id RequestID) *Made {
			p := refusal(PausedID(id), tab)
			p.Request = id
			d.engine.paused(p)
			return (<-given).Act()
		}
		sent("early", false) // before any act
		first, err := c.Do(t.Context(), Act{Kind: Navigate, URL: "https://shop.test/"})
		if err != nil {
			t.Fatal(err)
		}
		sent("slow", false)
		second, err := c.Do(t.Context(), Act{Kind: Navigate, URL: "https://shop.test/2"})
		if err != nil {
			t.Fatal(err)
		}
		sent("slow", false) // its redirect
		sent("quick", false)
		<-time.NewTimer(10 * time.Second).C
		sent("late", false)
		sent("following", true)
		d.process.Sent(SentRequest{Tab: "nobody's", ID: "slow", Busy: true})
		<-time.NewTimer(30 * time.Second).C
		sent("hanging", true)
		for id, want := range map[RequestID]*Made{"early": nil, "slow": first, "quick": second, "late": nil, "following": second, "hanging": nil, "": nil} {
			if got := came(id); got != want {
				t.Errorf("%q: act %+v, want %+v", id, got, want)
			}
		}
		mustClose(t, b)
	})
}

// However many requests a page sends, only so many are remembered; the others are judged by when they are answered.
func TestOnlySoManyRequestsAreRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, d := startFake(t, nobodyHolds)
		c := fakeContext(t, b)
		for i := range 2 * maxAsked {
			d.process.Sent(SentRequest{Tab: tabOf(c).id, ID: RequestID(fmt.Sprint(i))})
		}
		if len(c.asked) != maxAsked || len(c.order) != maxAsked {
			t.Errorf("%d and %d are remembered", len(c.asked), len(c.order))
		}
		mustClose(t, b)
	})
}
