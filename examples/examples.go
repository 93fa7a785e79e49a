// Package examples holds flows to try against the bundled site; `papaver demo` runs the first of them.
package examples

import "embed"

// Flows are the files of this folder: exchange.json, address.json, membership.json and gift.json.
//
//go:embed *.json
var Flows embed.FS
