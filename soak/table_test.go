package soak

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/opsweb"
)

// table is what both halves came to, a column each.
func table(halves []half) string {
	var b strings.Builder
	row := func(name string, value func(h half) string) {
		b.WriteString("| " + name + " |")
		for _, h := range halves {
			b.WriteString(" " + value(h) + " |")
		}
		b.WriteString("\n")
	}
	number := func(n int) string { return fmt.Sprint(n) }
	row("", func(h half) string { return h.driver })
	b.WriteString("| --- |" + strings.Repeat(" --- |", len(halves)) + "\n")
	row("time", func(h half) string { return h.took.Round(time.Second).String() })
	row("acts of four Sessions", func(h half) string { return number(h.acts) })
	row("references the Companies sent", func(h half) string { return number(h.count.Sent) })
	row("sighted and accepted", func(h half) string { return number(h.count.Sighted) })
	row("**missed**", func(h half) string { return number(h.missed) })
	row("**mixed** (in another Session)", func(h half) string { return number(h.count.Mixed) })
	row("sighted and sent by nobody", func(h half) string { return number(h.unsent) })
	row("refused for another reason", func(h half) string { return number(h.count.Refused) })
	row("operations performed, refused by the User, other", func(h half) string {
		performed, refused, all := h.outcomes[opsweb.Performed], h.outcomes[opsweb.Refused], 0
		for _, n := range h.outcomes {
			all += n
		}
		return fmt.Sprintf("%d, %d, %d", performed, refused, all-performed-refused)
	})
	row("**processes and profiles left**", func(h half) string { return number(len(h.left)) })
	for _, look := range []struct {
		when string
		of   func(h half) size
	}{
		{"before", func(h half) size { return h.sizes[0] }},
		{"at first", func(h half) size { return h.sizes[1] }},
		{"in the middle", func(h half) size { return h.sizes[len(h.sizes)/2] }},
		{"at last", func(h half) size { return h.sizes[len(h.sizes)-2] }},
		{"after Close", func(h half) size { return h.sizes[len(h.sizes)-1] }},
	} {
		row("own memory "+look.when+" (live, resident)", func(h half) string { s := look.of(h); return mebibytes(s.live) + ", " + mebibytes(s.resident) })
		row("goroutines, files, children "+look.when, func(h half) string {
			s := look.of(h)
			return fmt.Sprintf("%d, %d, %d", s.goroutines, s.files, s.kid)
		})
	}
	return b.String()
}

func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// write draws the paper of the figures.
func write(file, text string) error {
	chromium := "Chromium"
	if bin, err := browser.Find(""); err == nil {
		if out, err := exec.Command(bin, "--version").Output(); err == nil {
			chromium = strings.TrimSpace(string(out))
		}
	}
	lines := []string{
		"# The soak",
		"Four Sessions at two bundled Companies in one Chromium, each with an act a second: forms, selects, guarded form posts",
		"and fetches, and pages between them. A User answers each question through the run's socket, three of four with yes. Each",
		"driver has half of the time. What the Companies sent is read from their own log, in processes of their own, and compared",
		"reference by reference with what the agent sighted. Our own process is looked at after a collection; it holds the",
		"agent, its User and this count, and no Company. Drawn by `make soak SOAK_FLAGS=-write`.",
		"",
		"A run does not hold the ledger's lines: an index says where they stand. Of the last operations that have ended it holds what",
		"the screens (50), the desk (256) and the Go API (200) show; of each one before those the request, act and end with which a later",
		"sighting is compared. Goroutines, files and children don't grow, and after Close nothing of it is left.",
		"",
		fmt.Sprintf("%s, %s, %d processors, %s.", chromium, runtime.Version(), runtime.NumCPU(), *length),
		"",
	}
	return os.WriteFile(file, []byte(strings.Join(slices.Insert(lines, 1, ""), "\n")+"\n"+text), 0o644)
}
