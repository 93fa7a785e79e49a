package main

// flowDifference is a difference to the reference, with the reason why it is right.
type flowDifference struct {
	lines []string
	why   string
}

// knownFlowDifferences are those of each recording. One that is not there any more is a failure.
var knownFlowDifferences = map[string][]flowDifference{
	"02-login-shortcut-keys": {{
		lines: []string{
			`missing event: {"detail":1,"e":"click","on":"div","page":"shop.example.test/login.html","pointer":"mouse"}`,
			`extra event: {"detail":1,"e":"click","on":"#login_credentials","page":"shop.example.test/login.html","pointer":"mouse"}`,
		},
		why: "the recorded offset lies below the element: we press its middle, the reference what lies there",
	}},
	"61-scroll": {{
		lines: []string{
			`missing event: {"e":"scroll","on":"document","page":"shop.example.test/scroll.html","x":8,"y":0}`,
			`extra event: {"e":"scroll","on":"document","page":"shop.example.test/scroll.html","x":0,"y":0}`,
		},
		why: "where the page stands when an element is brought into view",
	}},
	"72-touch": {{
		lines: []string{
			`missing event: {"detail":1,"e":"click","on":"#test","page":"shop.example.test/recorder.html","pointer":"mouse"}`,
			`extra event: {"detail":1,"e":"click","on":"#test","page":"shop.example.test/recorder.html","pointer":"touch"}`,
		},
		why: "we press with the finger that is recorded, the reference with a mouse",
	}},
}
