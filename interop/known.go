package main

// skips are the peer's cases that it may skip at our site, by their id, with the reason. docs/interop.md says more of
// each; a skip that is not here is a failure.
var skips = map[string]string{
	"protocol.extension-required-company":           "needs a proposal of Operations v1, and our site's operations are version 3",
	"security.authorization-header-without-cookies": "asks the conversation endpoint, and our site holds no conversations",
	"lifecycle.parallel-sessions":                   "asks the conversation endpoint, and our site holds no conversations",
	"lifecycle.browser-joins-session":               "needs a proposal of Operations v1, and our site's operations are version 3",
}
