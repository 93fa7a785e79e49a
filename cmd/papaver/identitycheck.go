package main

import (
	"context"
	"fmt"

	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/published"
)

// checkedIdentity is the last line of `identity check --json`.
type checkedIdentity struct {
	ClientID string `json:"client_id"`
	Agrees   bool   `json:"agrees"`
	Failed   int    `json:"failed"`   // rules
	Warnings int    `json:"warnings"` // rules
}

func checkIdentity(ctx context.Context, c *identityCommand, _ []string) error {
	if err := c.way.check(); err != nil {
		return err
	}
	way, err := reach.New(reach.Config{ConnectTo: c.way.connectTo, CACerts: c.way.cacerts})
	if err != nil {
		return err
	}
	id, err := c.load(ctx)
	if err != nil {
		return err
	}
	client := way.Client(documentTimeout)
	defer client.CloseIdleConnections()
	findings, err := published.Check(ctx, client, id, c.now())
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	end := checkedIdentity{ClientID: id.ClientID()}
	out := lines{w: c.stdout}
	for _, f := range findings {
		switch f.Verdict {
		case published.Failed:
			end.Failed++
		case published.Warning:
			end.Warnings++
		}
		f.URL, f.Found, f.Change = plaintext.Whole(f.URL).String(), plaintext.Whole(f.Found).String(), plaintext.Whole(f.Change).String()
		if c.flags.json {
			out.write(f)
		} else {
			printChecked(c.env, f)
		}
	}
	end.Agrees = end.Failed == 0
	if c.flags.json {
		out.write(end)
	} else {
		printEnd(c.env, id.PublicDir(), end, len(findings))
	}
	if end.Failed > 0 {
		return exitCode(exitError)
	}
	return out.failed()
}

func printChecked(e env, f published.Finding) {
	mark := map[published.Verdict]string{published.OK: "ok   ", published.Warning: "warn ", published.Failed: "FAIL ", published.NotReached: "-    "}[f.Verdict]
	fmt.Fprintf(e.stdout, "%s%s\n", mark, f.Rule)
	switch f.Verdict {
	case published.OK:
		fmt.Fprintf(e.stdout, "       found:  %s\n", f.Found)
	case published.NotReached:
		fmt.Fprintln(e.stdout, "       not reached: an earlier rule failed")
	default:
		fmt.Fprintf(e.stdout, "       at:     %s\n       found:  %s\n       change: %s\n", f.URL, f.Found, f.Change)
	}
}

func printEnd(e env, dir string, end checkedIdentity, rules int) {
	at := plaintext.Whole(end.ClientID)
	switch {
	case end.Failed > 0:
		fmt.Fprintf(e.stdout, "%s: %d of %d rules failed, and Companies may refuse this agent; what to publish is in %s\n", at, end.Failed, rules, plaintext.Whole(dir))
	case end.Warnings > 0:
		fmt.Fprintf(e.stdout, "%s: it works now; warnings: %d\n", at, end.Warnings)
	default:
		fmt.Fprintf(e.stdout, "%s: what is published is what this home has\n", at)
	}
}
