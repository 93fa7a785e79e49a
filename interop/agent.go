package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/profile"
	"github.com/papaver-agent/papaver/session"
)

// ourRedirect is where a sign-in page sends the User's browser back to.
const ourRedirect = "https://agent.example/oauth/callback"

// Times of our side.
const (
	exchangeTimeout = 20 * time.Second
	headerTimeout   = 10 * time.Second
)

// ourAgent is our side of the wire: an identity that is published on loopback, and a way to one Company.
type ourAgent struct {
	dir      string
	ca       *authority
	listener net.Listener
	server   *http.Server
	serving  sync.WaitGroup
	skew     atomic.Int64 // how far our clock is ahead, in nanoseconds

	identity *session.Identity
	accounts *account.Store
	reach    *reach.Reach
	client   *http.Client
	company  *company.Company
}

// newAgent makes an identity and publishes its documents at https://agent.example, with a certificate of an authority
// of its own. The Company comes later, with meet.
func newAgent(ctx context.Context, dir string) (*ourAgent, error) {
	a := &ourAgent{dir: dir}
	var err error
	if a.ca, err = newAuthority(dir); err != nil {
		return nil, err
	}
	leaf, _, _, err := a.ca.issue(peerAgent)
	if err != nil {
		return nil, err
	}
	options := session.Options{ClientID: ourClientID, Name: "Papaver interop"}
	if a.identity, err = session.Init(filepath.Join(dir, "identity"), options, a.now(), rand.Reader); err != nil {
		return nil, err
	}
	if a.accounts, err = account.Open(account.Config{Dir: filepath.Join(dir, "accounts"), Now: a.now}); err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	if a.listener, err = listen.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	a.server = &http.Server{
		Handler: http.FileServer(http.Dir(a.identity.PublicDir())), ReadHeaderTimeout: headerTimeout,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{leaf}, MinVersion: tls.VersionTLS12},
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	a.serving.Go(func() { _ = a.server.ServeTLS(a.listener, "", "") })
	return a, nil
}

func (a *ourAgent) close() {
	_ = a.server.Close() // nobody is answered any more
	a.serving.Wait()
}

// address is where the documents are published.
func (a *ourAgent) address() string { return a.listener.Addr().String() }

// now is our clock, which a run moves together with the Company's.
func (a *ourAgent) now() time.Time { return time.Now().Add(time.Duration(a.skew.Load())) }

// meet reads what the Company at origin publishes. It is reached at address, by every name of it, and trusted by ca.
func (a *ourAgent) meet(ctx context.Context, origin, address, ca string, names ...string) error {
	where, err := company.ParseAddress(origin)
	if err != nil {
		return err
	}
	var connect []string
	for _, name := range names {
		connect = append(connect, name+":443:"+address)
	}
	if a.reach, err = reach.New(reach.Config{ConnectTo: connect, CACerts: []string{ca}}); err != nil {
		return err
	}
	a.client = a.reach.Client(exchangeTimeout)
	if a.company, err = company.Discover(ctx, a.client, where, company.Options{}); err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	return nil
}

// user returns the User's ID at the Company.
func (a *ourAgent) user() (string, error) {
	return session.UserID(filepath.Join(a.dir, "identity"), a.company.Issuer, a.company.Profile, rand.Reader)
}

// authorizationServer makes our requests to the Company's token endpoint and its neighbours.
func (a *ourAgent) authorizationServer() (*session.Server, error) {
	user, err := a.user()
	if err != nil {
		return nil, err
	}
	return session.NewServer(session.ServerConfig{Company: a.company, Identity: a.identity, UserID: user, Client: a.client, Now: a.now})
}

// newSession names a Session. With an account it starts signed in, and stays so for as long as the account gives access.
func (a *ourAgent) newSession(server *session.Server, key account.Key) (*session.Session, error) {
	user, err := a.user()
	if err != nil {
		return nil, err
	}
	var s *session.Session
	refresh := a.accounts.Refresher(key, server, nil, func() *session.ProofKey { return s.Key() }, nil)
	refreshFor := a.accounts.RefresherFor(key, server, nil, func() *session.ProofKey { return s.Key() }, nil)
	s, err = session.New(session.Config{
		Identity: a.identity, Company: a.company, UserID: user, Server: server, Refresh: refresh, RefreshFor: refreshFor, Now: a.now,
	})
	return s, err
}

// wanted turns an expected error into none, and anything else into one.
func wanted(err, want error) error {
	if errors.Is(err, want) {
		return nil
	}
	return fmt.Errorf("%v, not: %w", err, want)
}

// profileIs checks which profile discovery chose.
func (a *ourAgent) profileIs(draft need) error {
	if v := a.company.Profile.Version; v != string(draft) {
		return fmt.Errorf("the profile is %s", v)
	}
	if p, ok := profile.Of(string(draft)); !ok || p.Start != a.company.Profile.Start {
		return errors.New("the profile's values are others")
	}
	return nil
}
