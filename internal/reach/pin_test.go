package reach_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/internal/reach"
)

// network resolves names as told, one answer after the other, and connects to nothing: it notes what was tried.
type network struct {
	answers [][]string
	lookups int
	dialed  []string
}

var errDown = errors.New("network is unreachable")

func (n *network) lookup(context.Context, string) ([]netip.Addr, error) {
	answer := n.answers[min(n.lookups, len(n.answers)-1)]
	n.lookups++
	var list []netip.Addr
	for _, a := range answer {
		list = append(list, netip.MustParseAddr(a))
	}
	return list, nil
}

func (n *network) dial(_ context.Context, _, address string) (net.Conn, error) {
	n.dialed = append(n.dialed, address)
	return nil, errDown
}

func (n *network) get(t *testing.T, url string) error {
	t.Helper()
	_, _, err := get(t, newReach(t, reach.Config{Lookup: n.lookup, Dial: n.dial}), url)
	return err
}

func TestAnAddressIsCheckedAndConnectedToWithoutAskingForItAgain(t *testing.T) {
	t.Parallel()
	n := &network{answers: [][]string{{"93.184.216.34"}, {"127.0.0.1"}}}
	if err := n.get(t, "https://shop.test/"); !errors.Is(err, errDown) {
		t.Errorf("err = %v", err)
	}
	if n.lookups != 1 || !slices.Equal(n.dialed, []string{"93.184.216.34:443"}) {
		t.Errorf("%d look-ups, connected to %q", n.lookups, n.dialed)
	}
}

func TestAHostWithOneAddressThatIsNotPublicIsNotConnectedToAtAll(t *testing.T) {
	t.Parallel()
	for _, private := range []string{"192.168.1.1", "::1", "::ffff:10.0.0.7", "169.254.169.254", "fe80::1%eth0"} {
		n := &network{answers: [][]string{{"93.184.216.34", private}}}
		if err := n.get(t, "https://shop.test/"); !errors.Is(err, reach.ErrPrivateAddress) || len(n.dialed) > 0 {
			t.Errorf("%s: %v, connected to %q", private, err, n.dialed)
		}
	}
}

func TestEachAddressOfAHostIsTriedAndTheFirstErrorTold(t *testing.T) {
	t.Parallel()
	n := &network{answers: [][]string{{"2606:2800:21f:cb07:6820:80da:af6b:8b2c", "::ffff:93.184.216.34"}}}
	if err := n.get(t, "https://shop.test:8443/"); !errors.Is(err, errDown) {
		t.Errorf("err = %v", err)
	}
	if want := []string{"[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:8443", "93.184.216.34:8443"}; !slices.Equal(n.dialed, want) {
		t.Errorf("connected to %q", n.dialed)
	}
	if err := (&network{answers: [][]string{nil}}).get(t, "https://shop.test/"); !errors.Is(err, reach.ErrNoAddress) {
		t.Errorf("no address: %v", err)
	}
}

// An address that does not answer costs a moment and not the whole time, and its connection is not left behind.
func TestAnAddressThatDoesNotAnswerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer func() { _ = theirs.Close() }()
		ended := 0
		r := newReach(t, reach.Config{
			Lookup: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("2606:2800::1"), netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("93.184.216.35")}, nil
			},
			Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
				if address == "93.184.216.34:443" {
					return ours, nil
				}
				<-ctx.Done()
				ended++
				return nil, ctx.Err()
			},
		})
		began := time.Now()
		conn, err := r.Dial(t.Context(), "shop.test:443")
		if took := time.Since(began); err != nil || conn != ours || took != 300*time.Millisecond || ended != 1 {
			t.Errorf("%v, %v after %v, %d tries given up", conn, err, took, ended)
		}
		_ = ours.Close()
		// When none answers, all of the time is for all of them together.
		r = newReach(t, reach.Config{
			Lookup: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("2606:2800::1"), netip.MustParseAddr("93.184.216.34")}, nil
			},
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() },
		})
		began = time.Now()
		if _, err := r.Dial(t.Context(), "shop.test:443"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// The hosts are connected to at once: no dial ends before all have begun. What they say stands in the order of the rules.
func TestNamedHostsAreAskedForTheirKeysAtOnce(t *testing.T) {
	t.Parallel()
	ca := issue(t, nil, "Test Authority")
	hosts := []string{"c.test", "a.test", "b.test"}
	var rules, spki []string
	for i, host := range hosts {
		leaf := issue(t, ca, host, host)
		to := serve(t, hello, leaf)
		if i == 1 {
			to = "127.0.0.1:1" // it says no
		} else {
			spki = append(spki, leaf.spki())
		}
		rules = append(rules, host+":443:"+to)
	}
	var begun atomic.Int64
	all := make(chan struct{})
	r := newReach(t, reach.Config{
		CACerts: []string{file(t, ca.pem())}, ConnectTo: rules,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if int(begun.Add(1)) == len(hosts) {
				close(all)
			}
			select {
			case <-all:
			case <-ctx.Done(): // an error of each, one after the other
				return nil, ctx.Err()
			}
			if address == "127.0.0.1:1" {
				return nil, errDown
			}
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	})
	c := r.Chromium(t.Context())
	if !slices.Equal(c.LeafKeys, spki) || !slices.Equal(c.Notices, []string{"a.test:443: network is unreachable"}) {
		t.Errorf("keys %q, notices %q", c.LeafKeys, c.Notices)
	}
}
