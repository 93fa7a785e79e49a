// Package papaver is the root of a Personal Agent runtime for the Personal Agent Protocol: it owns a headless Chromium,
// joins it to a Session at a Company, sees in its own browser's responses that an action needs the User's approval, asks
// the User in a terminal, sends the answer, and has the browser finish the action, once, with every decision on disk
// before what it permits.
//
// There is no code in this package: agent authors begin at package agent, people at the command papaver, and readers at
// ARCHITECTURE.md. Its tests hold the rules that every package of the module keeps.
package papaver
