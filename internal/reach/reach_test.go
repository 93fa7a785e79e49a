package reach_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/internal/reach"
)

const patience = 20 * time.Second // far more than any exchange on loopback takes

var discard = log.New(io.Discard, "", 0)

func hello(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello "+r.Host) }

func newReach(t testing.TB, cfg reach.Config) *reach.Reach {
	t.Helper()
	r, err := reach.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// get asks with a client of its own, so that no connection of another request is used again.
func get(t testing.TB, r *reach.Reach, url string) (*http.Response, string, error) {
	t.Helper()
	client := r.Client(patience)
	defer client.CloseIdleConnections()
	res, err := client.Get(url)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}

func TestTheExtraAuthorityIsTrustedForNamedHostsAlone(t *testing.T) {
	t.Parallel()
	ca := issue(t, nil, "Test Authority")
	shop := serve(t, hello, issue(t, ca, "shop", "shop.test"))
	other := serve(t, hello, issue(t, ca, "other", "other.test"))
	r := newReach(t, reach.Config{
		CACerts:   []string{file(t, ca.pem())},
		ConnectTo: []string{"Shop.test:443:" + shop, "wrong.test:443:" + other},
	})
	for _, url := range []string{"https://shop.test/", "https://SHOP.test:443/"} {
		res, body, err := get(t, r, url)
		if err != nil || !strings.HasPrefix(strings.ToLower(body), "hello shop.test") {
			t.Fatalf("%s: %q, %v", url, body, err)
		}
		if res.ProtoMajor != 2 {
			t.Errorf("%s: spoke %s", url, res.Proto)
		}
	}
	// A server of the same authority, for another name.
	if _, body, err := get(t, r, "https://wrong.test/"); err == nil {
		t.Errorf("wrong.test is other.test: %q", body)
	}
	if !r.Named("shop.test") || !r.Named("SHOP.TEST") || r.Named("other.test") || r.Named("notshop.test") || r.Named("test") {
		t.Error("Named does not name the hosts of the rules")
	}
	// A host that nobody named trusts the system's authorities alone, wherever it is.
	if r.TLSConfig("other.test").RootCAs != nil || r.TLSConfig("sub.shop.test").RootCAs != nil {
		t.Error("the extra authority is trusted for a host that nobody named")
	}
	// Without the authority the named host is not trusted either.
	plain := newReach(t, reach.Config{ConnectTo: []string{"shop.test:443:" + shop}})
	if _, body, err := get(t, plain, "https://shop.test/"); err == nil {
		t.Errorf("trusted without --cacert: %q", body)
	}
}

// TestAHostThatNobodyNamedIsNeitherReachedNorTrusted uses a rule to loopback for the port alone: the host of the
// second request is at the same server, under an address that no rule names.
func TestAHostThatNobodyNamedIsNeitherReachedNorTrusted(t *testing.T) {
	t.Parallel()
	ca := issue(t, nil, "Test Authority")
	served := make(chan struct{}, 8)
	at := serve(t, func(w http.ResponseWriter, r *http.Request) { served <- struct{}{}; hello(w, r) }, issue(t, ca, "shop", "shop.test", "localhost", "127.0.0.1"))
	_, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	r := newReach(t, reach.Config{CACerts: []string{file(t, ca.pem())}, ConnectTo: []string{"shop.test:443:" + at}})
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		if _, body, err := get(t, r, "https://"+host+":"+port+"/"); !errors.Is(err, reach.ErrPrivateAddress) {
			t.Errorf("%s: %q, %v", host, body, err)
		}
	}
	for _, address := range []string{"10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "169.254.169.254", "[fe80::1]", "[fd00::1]"} {
		if _, body, err := get(t, r, "https://"+address+"/"); !errors.Is(err, reach.ErrPrivateAddress) {
			t.Errorf("%s: %q, %v", address, body, err)
		}
	}
	// A rule is for its port only.
	named := newReach(t, reach.Config{CACerts: []string{file(t, ca.pem())}, ConnectTo: []string{"localhost:443:" + at}})
	if _, body, err := get(t, named, "https://localhost:"+port+"/"); !errors.Is(err, reach.ErrPrivateAddress) {
		t.Errorf("another port of a named host: %q, %v", body, err)
	}
	if len(served) != 0 {
		t.Errorf("%d requests were served", len(served))
	}
	if _, _, err := get(t, named, "https://localhost/"); err != nil {
		t.Errorf("the named port: %v", err)
	}
}

func TestRedirectsAreNotFollowedAndOnlyHTTPSIsSpoken(t *testing.T) {
	t.Parallel()
	ca := issue(t, nil, "Test Authority")
	var asked []string
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path) // one request at a time
		http.Redirect(w, r, "/next", http.StatusTemporaryRedirect)
	}, issue(t, ca, "shop", "shop.test"))
	r := newReach(t, reach.Config{CACerts: []string{file(t, ca.pem())}, ConnectTo: []string{"shop.test:443:" + at, "shop.test:80:" + at}})
	res, _, err := get(t, r, "https://shop.test/first")
	if err != nil || res.StatusCode != http.StatusTemporaryRedirect || res.Header.Get("Location") != "/next" {
		t.Errorf("%v, %v", res, err)
	}
	if !slices.Equal(asked, []string{"/first"}) {
		t.Errorf("asked for %q", asked)
	}
	for _, url := range []string{"http://shop.test/", "http://shop.test:443/", "ftp://shop.test/"} {
		if _, _, err := get(t, r, url); err == nil {
			t.Errorf("%s was asked", url)
		}
	}
	if len(asked) != 1 {
		t.Errorf("asked for %q", asked)
	}
}

func TestAuthorityFiles(t *testing.T) {
	t.Parallel()
	cas := []*pair{issue(t, nil, "One"), issue(t, nil, "Two"), issue(t, nil, "Three")}
	bundle := "# three authorities\n" + cas[0].pem() + "\nTwo:\n" + cas[1].pem() + cas[2].pem()
	leaf := issue(t, nil, "leaf", "shop.test")
	for name, tc := range map[string]struct {
		content string
		servers []*pair
	}{
		"a bundle of three": {bundle, []*pair{issue(t, cas[0], "a", "shop.test"), issue(t, cas[1], "b", "shop.test"), issue(t, cas[2], "c", "shop.test")}},
		"Windows lines":     {strings.ReplaceAll(bundle, "\n", "\r\n"), []*pair{issue(t, cas[0], "a", "shop.test"), issue(t, cas[2], "c", "shop.test")}},
		"a leaf":            {leaf.pem(), []*pair{leaf}},
	} {
		ca := file(t, tc.content)
		for i, server := range tc.servers {
			at := serve(t, hello, server)
			r := newReach(t, reach.Config{CACerts: []string{ca}, ConnectTo: []string{"shop.test:443:" + at}})
			if _, body, err := get(t, r, "https://shop.test/"); err != nil {
				t.Errorf("%s, server %d: %q, %v", name, i, body, err)
			}
		}
	}
	// A leaf is trusted as itself, and as nobody's authority.
	at := serve(t, hello, issue(t, leaf, "x", "shop.test"))
	r := newReach(t, reach.Config{CACerts: []string{file(t, leaf.pem())}, ConnectTo: []string{"shop.test:443:" + at}})
	if _, body, err := get(t, r, "https://shop.test/"); err == nil {
		t.Errorf("a leaf has vouched for another one: %q", body)
	}
}

func TestWrongFlagsAreNamed(t *testing.T) {
	t.Parallel()
	ca := issue(t, nil, "One").pem()
	rule := []string{"shop.test:443:127.0.0.1:1"}
	for name, tc := range map[string]struct {
		cfg  reach.Config
		says string
		is   error
	}{
		"a missing file":          {reach.Config{ConnectTo: rule, CACerts: []string{filepath.Join(t.TempDir(), "none.pem")}}, "--cacert", fs.ErrNotExist},
		"a folder":                {reach.Config{ConnectTo: rule, CACerts: []string{t.TempDir()}}, "--cacert", nil},
		"an empty file":           {reach.Config{ConnectTo: rule, CACerts: []string{file(t, "")}}, "no PEM certificate", nil},
		"not PEM":                 {reach.Config{ConnectTo: rule, CACerts: []string{file(t, "hello")}}, "no PEM certificate", nil},
		"a key":                   {reach.Config{ConnectTo: rule, CACerts: []string{file(t, strings.ReplaceAll(ca, "CERTIFICATE", "PRIVATE KEY"))}}, "no PEM certificate", nil},
		"a damaged one in three":  {reach.Config{ConnectTo: rule, CACerts: []string{file(t, ca+strings.Replace(ca, "MII", "MIA", 1)+ca)}}, "certificate 2", nil},
		"a huge file":             {reach.Config{ConnectTo: rule, CACerts: []string{file(t, ca+strings.Repeat("\n", 1<<20))}}, "larger than", nil},
		"an endless file":         {reach.Config{ConnectTo: rule, CACerts: []string{"/dev/zero"}}, "larger than", nil},
		"a second broken file":    {reach.Config{ConnectTo: rule, CACerts: []string{file(t, ca), file(t, "x")}}, "no PEM certificate", nil},
		"no host to trust it for": {reach.Config{CACerts: []string{file(t, ca)}}, "--connect-to", nil},
		"a wrong rule":            {reach.Config{ConnectTo: []string{"shop.test"}}, "--connect-to", nil},
		"a host named twice":      {reach.Config{ConnectTo: []string{"shop.test:443:127.0.0.1:1", "SHOP.test:443:127.0.0.1:2"}}, "named twice", nil},
	} {
		_, err := reach.New(tc.cfg)
		if err == nil || !strings.Contains(err.Error(), tc.says) || tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("%s: err = %v; want %q", name, err, tc.says)
		}
	}
}

func TestChromiumIsGivenLeafKeysOfHostsTheAuthorityVouchesForAndNoOthers(t *testing.T) {
	t.Parallel()
	ca, stranger := issue(t, nil, "Test Authority"), issue(t, nil, "Stranger")
	between := issue(t, ca, "Between")
	shop, below := issue(t, ca, "shop", "shop.test"), issue(t, between, "deep", "deep.test")
	// A self-signed leaf that carries the public authority certificate behind it, as an attacker can make one.
	forged := issue(t, nil, "forged", "forged.test")
	misnamed := issue(t, ca, "misnamed", "shop.test")
	r := newReach(t, reach.Config{CACerts: []string{file(t, ca.pem())}, ConnectTo: []string{
		"shop.test:443:" + serve(t, hello, shop, ca),
		"deep.test:443:" + serve(t, hello, below, between),
		"stranger.test:443:" + serve(t, hello, issue(t, stranger, "s", "stranger.test"), stranger),
		"forged.test:443:" + serve(t, hello, forged, ca),
		"misnamed.test:443:" + serve(t, hello, misnamed, ca),
		"down.test:443:127.0.0.1:1",
	}})
	c := r.Chromium(t.Context())
	if want := []string{shop.spki(), below.spki()}; !slices.Equal(c.LeafKeys, want) {
		t.Errorf("keys %q, want %q", c.LeafKeys, want)
	}
	for _, p := range []*pair{ca, between, stranger, forged, misnamed} {
		if slices.Contains(c.LeafKeys, p.spki()) {
			t.Errorf("Chromium would trust the key of %s", p.cert.Subject)
		}
	}
	if len(c.Notices) != 4 {
		t.Errorf("notices %q", c.Notices)
	}
	for i, host := range []string{"stranger.test:443", "forged.test:443", "misnamed.test:443", "down.test:443"} {
		if i < len(c.Notices) && !strings.HasPrefix(c.Notices[i], host+": ") {
			t.Errorf("notice %d is %q, not of %s", i, c.Notices[i], host)
		}
	}
	if n := strings.Count(c.HostResolverRules, "MAP "); n != 6 || !strings.HasPrefix(c.HostResolverRules, "MAP shop.test:443 127.0.0.1:") {
		t.Errorf("rules %q", c.HostResolverRules)
	}

	// Two names of one server are one key; without an extra authority there is none to give.
	both := issue(t, ca, "both", "a.test", "b.test")
	at := serve(t, hello, both)
	rules := []string{"a.test:443:" + at, "b.test:443:" + at}
	if c := newReach(t, reach.Config{CACerts: []string{file(t, ca.pem())}, ConnectTo: rules}).Chromium(t.Context()); !slices.Equal(c.LeafKeys, []string{both.spki()}) {
		t.Errorf("keys %q", c.LeafKeys)
	}
	if c := newReach(t, reach.Config{ConnectTo: rules}).Chromium(t.Context()); c.LeafKeys != nil || c.Notices != nil || c.HostResolverRules == "" {
		t.Errorf("without --cacert: %+v", c)
	}
	if c := newReach(t, reach.Config{}).Chromium(t.Context()); c.LeafKeys != nil || c.HostResolverRules != "" {
		t.Errorf("without flags: %+v", c)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if c := r.Chromium(ended); len(c.LeafKeys) != 0 || len(c.Notices) != 6 {
		t.Errorf("with an ended context: %+v", c)
	}
}
