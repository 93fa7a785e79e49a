// Package authserver is the bundled Company's authorization server, and what it knows of agents and accounts.
package authserver
