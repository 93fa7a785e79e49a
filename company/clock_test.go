package company

import (
	"net/http"
	"testing"
	"time"
)

func TestTheNewestKeptAnswerTellsHowOurClockStood(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c, err := OpenCache(t.TempDir(), func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := c.Clock(); ok {
		t.Errorf("without an answer it found %+v", found)
	}
	for _, step := range []struct {
		from      string
		at        time.Duration // when it came
		trip      time.Duration
		date, age string
		want      Clock
	}{
		{"https://shop.test/a", 0, time.Second, "Sun, 01 Mar 2026 11:53:00 GMT", "", Clock{"shop.test", noon, 7*time.Minute - 2*time.Second}},
		{"https://late.test/a", time.Hour, 0, "Sun, 01 Mar 2026 13:07:00 GMT", "", Clock{"late.test", noon.Add(time.Hour), -7 * time.Minute}},
		{"https://shop.test/b", 2 * time.Hour, 2 * time.Second, "Sun, 01 Mar 2026 13:59:59 GMT", "", Clock{"shop.test", noon.Add(2 * time.Hour), 0}},
		{"https://shop.test/c", 3 * time.Hour, 0, "Sun, 01 Mar 2026 14:00:00 GMT", "600", Clock{"shop.test", noon.Add(2 * time.Hour), 0}},
		{"https://shop.test/d", 4 * time.Hour, 6 * time.Second, "Sun, 01 Mar 2026 14:00:00 GMT", "", Clock{"shop.test", noon.Add(2 * time.Hour), 0}},
		{"https://shop.test/e", 5 * time.Hour, 0, "soon", "", Clock{"shop.test", noon.Add(2 * time.Hour), 0}},
	} {
		header := http.Header{"Date": {step.date}, "Cache-Control": {"max-age=60"}, "Content-Type": {"application/json"}}
		if step.age != "" {
			header.Set("Age", step.age)
		}
		received := noon.Add(step.at)
		c.store(newEntry(step.from, header, []byte("{}"), received.Add(-step.trip), received))
		if found, ok := c.Clock(); !ok || found.Host != step.want.Host || !found.At.Equal(step.want.At) || found.Ahead != step.want.Ahead {
			t.Errorf("after %s it found %+v, want %+v", step.from, found, step.want)
		}
	}
}
