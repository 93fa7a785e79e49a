// Package soak runs an agent for a long time: four Sessions at two Companies in one Chromium, each with an act a second,
// guarded and unguarded ones, and a User who approves most of what is asked. It counts which references the Companies
// sent and which the agent sighted, in which Session, and what grows in our own process meanwhile or is left of it after.
// Each driver has its half of the time.
//
// All of it is tests: `make soak` runs it for SOAK (30m) and can draw [docs/soak.md]; without flags a test of some
// seconds keeps it working. The package has no code outside its tests, and nothing imports it.
//
// [docs/soak.md]: ../docs/soak.md
package soak
