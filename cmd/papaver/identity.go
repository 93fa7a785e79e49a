package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/session"
)

func runIdentity(ctx context.Context, e env, args []string) error {
	f := newFlags("identity")
	var o session.Options
	f.StringVar(&o.ClientID, "client-id", "", "init: the https `URL` the client metadata document will be published at")
	f.StringVar(&o.Name, "name", "", "init: the agent's `NAME`, which companies and people read")
	f.StringVar(&o.RedirectURI, "redirect-uri", "", "init: the sign-in's redirect `URL` (default /oauth/callback beside the client id)")
	words, err := f.parse(e, args, 1, 1)
	if err != nil {
		return err
	}
	dir, err := f.homeDir(e)
	if err != nil {
		return err
	}
	h, err := home.Open(dir)
	if err != nil {
		return err
	}
	switch words[0] {
	case "init":
		if o.ClientID == "" || o.Name == "" {
			return usagef("papaver identity init needs --client-id URL and --name NAME")
		}
		unlock, err := h.Lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		id, err := session.Init(h.Identity(), o, e.now(), rand.Reader)
		if err != nil {
			return err
		}
		return showIdentity(e, f, id)
	case "show":
		id, err := session.Load(h.Identity())
		if err != nil {
			return fmt.Errorf("%w; papaver identity init makes one", err)
		}
		return showIdentity(e, f, id)
	default:
		return usagef("papaver identity has init and show, not %q", words[0])
	}
}

// shownIdentity is what may be known of an identity. No private key is in it.
type shownIdentity struct {
	ClientID  string          `json:"client_id"`
	Keys      []session.Key   `json:"keys"`
	PublicDir string          `json:"public_dir"`
	Agent     json.RawMessage `json:"agent"`
	JWKS      json.RawMessage `json:"jwks"`
}

func showIdentity(e env, f *flags, id *session.Identity) error {
	published, err := id.Published()
	if err != nil {
		return err
	}
	if f.json {
		out := lines{w: e.stdout}
		out.write(shownIdentity{ClientID: id.ClientID(), Keys: id.Keys(), PublicDir: id.PublicDir(), Agent: published.Agent, JWKS: published.Keys})
		return out.failed()
	}
	fmt.Fprintf(e.stdout, "client id   %s\n", id.ClientID())
	for _, k := range id.Keys() {
		fmt.Fprintf(e.stdout, "key         %s, made %s (%d days old)\n", k.Thumbprint, k.Created.Format(time.DateOnly), int(e.now().Sub(k.Created).Hours()/24))
	}
	fmt.Fprintf(e.stdout, "to publish  %s at the client id, and %s at its jwks_uri\n",
		filepath.Join(id.PublicDir(), "agent.json"), filepath.Join(id.PublicDir(), "jwks.json"))
	return nil
}
