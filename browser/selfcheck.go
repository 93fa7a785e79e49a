package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const (
	checkTimeout = 30 * time.Second
	checkHeader  = "Papaver-Self-Check"
	checkHost    = "127.0.0.1"
)

// ErrNotHeld is returned when a Chromium starts and does not hold responses: nothing may be joined with it.
var ErrNotHeld = errors.New("this Chromium does not hold responses for us")

// probe is a page on loopback that a self-check loads.
type probe struct {
	page string // its URL, with which no other begins: the port is this process's own
	held atomic.Bool
}

// SelfCheck starts a Chromium as cfg says (Watch, OnHeld and Allowed are set here), has it checked, and ends it. It returns
// Chromium's version, also beside ErrNotHeld.
func SelfCheck(ctx context.Context, cfg Config) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	cfg.Watch, cfg.OnHeld, cfg.Allowed = checkHeader, func(context.Context, Held) {}, nil
	b, err := Start(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	return b.Version(), b.Check(ctx)
}

// Check loads a page from a listener of its own on loopback, in a browser context that is closed again, and makes sure that
// its response is held: ErrNotHeld. It is for before the first join, once for each version of Chromium; at most 30 s long. A
// Chromium with an allow-list cannot reach the page: see [SelfCheck].
func (b *Browser) Check(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	listener, err := net.Listen("tcp", net.JoinHostPort(checkHost, "0"))
	if err != nil {
		return fmt.Errorf("a listener on loopback: %w", err)
	}
	server := &http.Server{
		ReadHeaderTimeout: checkTimeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(checkHeader, "?1")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("held")) // when this fails the page does not come, which is noticed
		}),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		_ = server.Close()
		<-served
	}()
	p := &probe{page: "http://" + listener.Addr().String() + "/"}
	b.probe.Store(p)
	defer b.probe.Store(nil)

	c, err := b.NewContext(ctx)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), freshTimeout)
		defer cancel()
		err = errors.Join(err, c.Close(closing))
	}()
	if _, err := c.Do(ctx, Act{Kind: Navigate, URL: p.page}); err != nil {
		return fmt.Errorf("a page on loopback: %w", err)
	}
	if !p.held.Load() {
		return ErrNotHeld
	}
	return nil
}

// probes reports whether an address is that of the self-check under way.
func (b *Browser) probes(address string) bool {
	p := b.probe.Load()
	return p != nil && strings.HasPrefix(address, p.page)
}

// probed notes that the self-check's response is held.
func (b *Browser) probed(p Paused) {
	if b.probes(p.URL) && len(p.values(checkHeader)) > 0 {
		b.probe.Load().held.Store(true)
	}
}
