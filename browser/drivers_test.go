package browser_test

import (
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/browser/roddriver"
)

// eachDriver runs a test once with each driver there is, one after the other: two cores are all that is promised.
func eachDriver(t *testing.T, test func(t *testing.T, driver browser.Driver)) {
	t.Helper()
	t.Run("chromedp", func(t *testing.T) { test(t, chromedpdriver.Driver{}) })
	t.Run("rod", func(t *testing.T) { test(t, roddriver.Driver{}) })
}
