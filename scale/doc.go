// Package scale measures how what one process of ours takes grows: with the Sessions that are joined, in one Chromium and in
// several, and with the requests of a page. It says how each column grows, and draws [docs/scale-sessions.md].
//
// All of it is tests: `make scale-sessions` runs it; without flags the tests are those of its own arithmetic. The package has
// no code outside its tests, and nothing imports it.
//
// [docs/scale-sessions.md]: ../docs/scale-sessions.md
package scale
