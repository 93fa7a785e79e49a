package browser_test

import (
	"os"
	"testing"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/browser/chromedpdriver"
	"github.com/papaver-agent/papaver/browser/roddriver"
)

// eachDriver runs a test once with each driver there is, one after the other: two cores are all that is promised. Where
// PAPAVER_TEST_DRIVER names one, the other is another process's, see scripts/test.
func eachDriver(t *testing.T, test func(t *testing.T, driver browser.Driver)) {
	t.Helper()
	only := os.Getenv("PAPAVER_TEST_DRIVER")
	for _, one := range []struct {
		name   string
		driver browser.Driver
	}{{"chromedp", chromedpdriver.Driver{}}, {"rod", roddriver.Driver{}}} {
		if only == "" || only == one.name {
			t.Run(one.name, func(t *testing.T) { test(t, one.driver) })
		}
	}
}
