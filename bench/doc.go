// Package bench measures what Papaver adds to a browser that does the same by hand, and prints it as one table, M1 to M8
// ([docs/performance.md]). Each figure is a ratio: ours and the reference do the same in turns, in one run, with the
// same Chromium, the same flags and the same bundled site, and the medians are divided.
//
// The references are programs that were written to win: one with chromedp and one with Playwright, which make the same
// requests and store nothing. All of it is tests, since a User's answer is given by a program here: `make bench` builds
// them to a program of their own and runs that. The package has no code outside its tests, and nothing imports it.
//
// [docs/performance.md]: ../docs/performance.md
package bench
