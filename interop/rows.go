package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// row is one line of the table.
type row struct {
	name  string
	needs need
	run   func(context.Context, *world, *tally) error
}

// lanes is how many rows run at once: most of their time they wait, for pauses that the protocol asks for.
const lanes = 3

// runAll runs rows beside each other, reports each when it is done, and returns them in their order.
func (w *world) runAll(ctx context.Context, chosen []row) table {
	t := make(table, len(chosen))
	var running sync.WaitGroup
	var reporting sync.Mutex
	free := make(chan struct{}, lanes)
	for i, r := range chosen {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			t[i] = r.count(ctx, w)
			reporting.Lock()
			defer reporting.Unlock()
			fmt.Fprint(w.log, t[i].report())
		})
	}
	running.Wait()
	return t
}

// count runs the row in its time.
func (r row) count(ctx context.Context, w *world) tally {
	ctx, cancel := context.WithTimeout(ctx, rowLimit)
	defer cancel()
	t := tally{name: r.name}
	began := time.Now()
	if err := r.run(ctx, w, &t); err != nil {
		t.fail("the row", err.Error())
	}
	if t.passed+t.failed == 0 {
		t.fail("the row", "nothing was checked")
	}
	t.took = time.Since(began)
	return t
}

// rows are all of them, in the order in which they run.
var rows = []row{
	{"the kit against itself, draft 0.1", python01, kitAgainstItself(python01, 91)},
	{"the kit against itself, draft 0.2", python02, kitAgainstItself(python02, 99)},
	{"the peer's agent and suite at our site, draft 0.1", python01, peerAgainstSite(python01, 55)},
	{"the peer's agent and suite at our site, draft 0.2", python02, peerAgainstSite(python02, 62)},
	{"the peer's agent at our site, draft 0.2 with nonces", python02, peerAgainstSite(python02, 0, "--require-nonces")},
	{"our agent at the peer's Company, draft 0.1", python01, oursAgainstPeer(python01)},
	{"our agent at the peer's Company, draft 0.2", python02, oursAgainstPeer(python02)},
	{"our agent at the peer's Company, draft 0.2 with nonces", python02, oursAgainstPeer(python02, "--nonce")},
	{"jose reads our statements", node, joseChecks},
	{"our sign-in at oidc-provider, protocol 1.0", node, providerChecks},
	{"structured-headers reads our fields", node, fieldChecks},
	{"the MCP Inspector buys by papaver mcp, a person approves", mcpNode, inspectorBuys},
	{"the TypeScript SDK buys by papaver mcp, a person approves", mcpNode, sdkBuys("typescript", func(w *world) []string { return []string{w.node, filepath.Join(w.mcp, "buy.mjs")} })},
	{"the Python SDK buys by papaver mcp, a person approves", mcpPy, sdkBuys("python", func(w *world) []string { return []string{w.mcpPy, mcpFolder + "/buy.py"} })},
	{"recorded flows, as @puppeteer/replay makes them", nothing, recordedFlows},
}
