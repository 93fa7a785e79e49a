package retryafter_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/internal/retryafter"
)

func TestBothFormsOfRetryAfterAreRead(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"7": 7 * time.Second,
		"0": 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Hour).Format(http.TimeFormat):       0,
		now.Add(time.Hour).Format(http.TimeFormat):        10 * time.Minute,
		"86400":                    10 * time.Minute,
		"":                         0,
		"-3":                       0,
		"3.5":                      0,
		"99999999999999999999":     0,
		"soon":                     0,
		"Mon, 30 Nov 2026 12:00 Z": 0,
	} {
		if got := retryafter.Read(value, now, 10*time.Minute); got != want {
			t.Errorf("Read(%q) = %v, want %v", value, got, want)
		}
	}
}
