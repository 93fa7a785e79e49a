package browser

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	checkTimeout = 30 * time.Second
	checkHeader  = "Papaver-Self-Check"
)

// ErrNotHeld is returned when a Chromium starts and does not hold responses: nothing may be joined with it.
var ErrNotHeld = errors.New("this Chromium does not hold responses for us")

// SelfCheck starts a Chromium as cfg says (Watch and OnHeld are set here), loads a page from a listener of its own on
// loopback, and makes sure that the page's response is held. It returns Chromium's version, also beside ErrNotHeld.
func SelfCheck(ctx context.Context, cfg Config) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("a listener on loopback: %w", err)
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

	var held atomic.Int32
	cfg.Watch = checkHeader
	cfg.Private = func(host string) bool { return host == "127.0.0.1" }
	cfg.OnHeld = func(context.Context, Held) { held.Add(1) }
	b, err := Start(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	c, err := b.NewContext(ctx)
	if err != nil {
		return b.Version(), err
	}
	if _, err := c.Do(ctx, Act{Kind: Navigate, URL: "http://" + listener.Addr().String() + "/"}); err != nil {
		return b.Version(), fmt.Errorf("a page on loopback: %w", err)
	}
	if held.Load() == 0 {
		return b.Version(), ErrNotHeld
	}
	return b.Version(), nil
}
