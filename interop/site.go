package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// makeAuthority makes the kit's test authority in a folder.
const makeAuthority = `import pathlib, sys
sys.path.insert(0, "interop/peer")
import peerkit
peerkit.ensure_ca(pathlib.Path(sys.argv[1]))`

// suites are those of the peer's suites whose areas our site serves in the drafts: it holds no conversations, and its
// operations are those of version 3.
var suites = []string{"protocol", "security", "lifecycle"}

// peerAgainstSite runs the peer's agent and suite against `papaver site`.
func peerAgainstSite(draft need, cases int, options ...string) func(context.Context, *world, *tally) error {
	return func(ctx context.Context, w *world, t *tally) error {
		dir, err := w.stateFolder("site-" + string(draft) + strings.Join(options, ""))
		if err != nil {
			return err
		}
		if err := output(command(ctx, w.venv[draft], "-c", makeAuthority, dir), time.Minute); err != nil {
			return err
		}
		agent, err := freeAddress()
		if err != nil {
			return err
		}
		args := append([]string{
			"site", "--profile", string(draft), "--control", "127.0.0.1:0", "--cacert", filepath.Join(dir, "ca.pem"),
			"--connect-to", peerAgent + ":443:" + agent, "--connect-to", peerPlainAgent + ":443:" + agent,
		}, options...)
		var ready struct {
			Company   string   `json:"company"`
			ConnectTo []string `json:"connect_to"`
			CACert    string   `json:"cacert"`
			Control   string   `json:"control"`
		}
		site, err := serve(ctx, command(ctx, w.binary, args...), &ready)
		if err != nil {
			return err
		}
		said := sync.OnceValue(site.close)
		defer said()
		c := companySide{url: ready.Company, control: ready.Control, args: []string{"--trust", ready.CACert}}
		for _, rule := range ready.ConnectTo {
			host, address, ok := strings.Cut(rule, ":443:")
			if !ok {
				return fmt.Errorf("the site's rule %q", rule)
			}
			c.args = append(c.args, "--map", host+"="+address)
		}
		checks := peerChecks{draft: draft, dir: dir, agentListen: agent, suites: suites, cases: cases}
		if err := checks.run(ctx, w, t, c); err != nil || cases > 0 {
			return err // the suite breaks rules on purpose
		}
		t.check("our site blames the peer's agent for nothing", blameless(said()))
		return nil
	}
}

// blameless reads what our site says at its end of the rules that agents broke.
func blameless(said string) error {
	if !strings.Contains(said, "broken rules: 0\n") {
		return fmt.Errorf("it says: %s", tail(said))
	}
	return nil
}
