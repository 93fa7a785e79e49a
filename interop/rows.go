package main

import "context"

// row is one line of the table.
type row struct {
	name  string
	needs need
	run   func(context.Context, *world, *tally) error
}

// within runs the row in its time.
func (r row) within(ctx context.Context, w *world, t *tally) error {
	ctx, cancel := context.WithTimeout(ctx, rowLimit)
	defer cancel()
	return r.run(ctx, w, t)
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
}
