package agent

import (
	"strings"

	"github.com/papaver-agent/papaver/browser"
)

// Next as the Number of a [Step] is the one after the visit's last.
const Next = -1

// Navigate opens a page: http, https or about:blank.
func Navigate(url string) Step {
	return Step{Number: Next, Act: browser.Act{Kind: browser.Navigate, URL: url}}
}

// Click presses an element, when it can be seen and nothing covers it.
func Click(selector string) Step { return on(selector, browser.Act{Kind: browser.Click}) }

// Fill puts a value in the place of what a field holds, for every sort of field.
func Fill(selector, value string) Step {
	return on(selector, browser.Act{Kind: browser.Change, Value: browser.NewSecret(value)})
}

// FillSecret is Fill with a value that is kept out of events, ledger, errors and what the page's description gave.
func FillSecret(selector string, value browser.Secret) Step {
	return on(selector, browser.Act{Kind: browser.Change, Value: value, Private: true})
}

// Select chooses options of a list, and no others; each is an option's value or its label.
func Select(selector string, options ...string) Step {
	return on(selector, browser.Act{Kind: browser.Select, Options: options})
}

// Check switches a check box, radio button or switch on.
func Check(selector string) Step { return on(selector, browser.Act{Kind: browser.Check}) }

// Press strikes a key, or a chord such as Control+a, where the page's focus is.
func Press(key string) Step {
	return Step{Number: Next, Act: browser.Act{Kind: browser.Press, Key: key}}
}

// WaitFor waits until an element is there and visible.
func WaitFor(selector string) Step { return on(selector, browser.Act{Kind: browser.Wait}) }

// WaitForText waits until the page shows a text.
func WaitForText(text string) Step {
	return Step{Number: Next, Act: browser.Act{Kind: browser.WaitText, Text: browser.Text{Is: text}}}
}

// on has an act be done to an element.
func on(selector string, act browser.Act) Step {
	if ref, ok := strings.CutPrefix(selector, "ref/"); ok {
		act.Ref = ref
	} else {
		act.Selectors, act.Strict = [][]string{{selector}}, act.Kind != browser.Wait
	}
	return Step{Number: Next, Act: act}
}
