package testsite

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/papaver-agent/papaver/testsite/authserver"
	"github.com/papaver-agent/papaver/testsite/capture"
)

const (
	companyName   = "Stormline Outdoor"
	defaultListen = "127.0.0.1:0"
)

// DefaultDeviceInterval is the pause between two questions of a Device Sign-In unless Config says otherwise.
const DefaultDeviceInterval = time.Second

// DefaultOperationLife is how long a revision can be approved unless Config says otherwise.
const DefaultOperationLife = 10 * time.Minute

// Deadlines of the servers.
const (
	readHeaderTimeout = 10 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Config says how a Site is started. The zero value is a correct Company on a free port of loopback that knows no
// agent.
type Config struct {
	// Domain is where the shop is; stormline.test when empty. The issuer is at auth. below it.
	Domain string
	// AgentDirs are folders with the agent.json and jwks.json of the agents this Company knows. They are read at each
	// join and each request, so they may be written later. An agent in none of them is refused.
	AgentDirs []string
	// Now is the clock; time.Now when nil.
	Now func() time.Time
	// Rand is the source of randomness; crypto/rand.Reader when nil.
	Rand io.Reader
	// Listen is the address of the TLS listener; a free port of 127.0.0.1 when empty.
	Listen string
	// OperationLife is how long a revision can be approved; DefaultOperationLife when 0.
	OperationLife time.Duration
	// Faults are where the Company misbehaves from the start.
	Faults Faults
	// Profile is the version of the protocol: "1.0", which it is when empty, "0.2" or "0.1".
	Profile string
	// Control is the address of the control port, such as "127.0.0.1:0"; no control port when empty. Whoever reaches it is
	// the User and the Company's operator.
	Control string
	// Fetch are names of agents and the addresses they are reached at: HOST:PORT:ADDR:PORT, as curl's --connect-to spells
	// it. An agent in none of AgentDirs is fetched from there; none is fetched from anywhere else.
	Fetch []string
	// FetchCAs are PEM certificates of authorities that the fetched agents' certificates are from.
	FetchCAs []byte
	// DeviceInterval is the pause between two questions of a Device Sign-In; DefaultDeviceInterval when 0.
	DeviceInterval time.Duration
	// RequireNonces makes DPoP proofs need a nonce of this Company (drafts only).
	RequireNonces bool
	// Logger gets what the Company has to say, without credentials; nothing is logged when nil.
	Logger *slog.Logger
}

// Site is a running Company. It is safe for concurrent use.
type Site struct {
	names
	now     func() time.Time
	clock   *movedClock
	random  io.Reader
	profile authserver.Profile
	auth    *authserver.Server
	clients *authserver.Clients
	fetch   *fetcher
	traffic *traffic // nil: nothing is kept
	limits  limits
	// signedInAs is the account that the control port acts for, a string
	signedInAs atomic.Value

	authority authority
	bound     string // address of the TLS listener
	control   string
	pages     pages

	life      atomic.Int64 // of new revisions, in nanoseconds
	faults    faults
	record    record
	verifier  verifier
	browsers  browsers
	shop      shop
	ops       *operations
	capture   *capture.Matrix
	notBefore atomic.Int64 // Unix nanoseconds: until when a 503 asked to wait

	servers []*http.Server
	serving sync.WaitGroup
}

// Start starts a Company; it is listening when Start returns. ctx bounds the start, not the life: Close ends that.
func Start(ctx context.Context, cfg Config) (*Site, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	if cfg.Listen == "" {
		cfg.Listen = defaultListen
	}
	if cfg.OperationLife == 0 {
		cfg.OperationLife = DefaultOperationLife
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s, err := newSite(cfg)
	if err != nil {
		return nil, err
	}
	var listen net.ListenConfig
	public, err := listen.Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("testsite: listen on %s: %w", cfg.Listen, err)
	}
	s.bound = public.Addr().String()
	if cfg.Control != "" {
		control, err := listen.Listen(ctx, "tcp", cfg.Control)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("testsite: control port: %w", err), public.Close())
		}
		s.control, s.traffic = control.Addr().String(), &traffic{now: s.now}
		plain := s.server(s.controlHandler(), cfg.Logger)
		s.servers = append(s.servers, plain)
		s.serving.Go(func() { report(cfg.Logger, plain.Serve(control)) })
	}
	secure := s.server(s.dated(s.handler()), cfg.Logger)
	secure.TLSConfig = s.authority.tls(s.names)
	s.servers = append(s.servers, secure)
	s.serving.Go(func() { report(cfg.Logger, secure.ServeTLS(public, "", "")) })
	return s, nil
}

// newSite makes a Company that doesn't listen yet.
func newSite(cfg Config) (*Site, error) {
	if cfg.Profile == "" {
		cfg.Profile = authserver.V1().Version
	}
	if cfg.Domain == "" {
		cfg.Domain = defaultDomain
	}
	if cfg.DeviceInterval == 0 {
		cfg.DeviceInterval = DefaultDeviceInterval
	}
	profile, known := authserver.Of(cfg.Profile)
	if !known {
		return nil, fmt.Errorf("testsite: no profile %q", cfg.Profile)
	}
	fetch, err := newFetcher(cfg.Fetch, cfg.FetchCAs)
	if err != nil {
		return nil, fmt.Errorf("testsite: %w", err)
	}
	clock := &movedClock{base: cfg.Now}
	s := &Site{names: names{cfg.Domain}, now: clock.now, clock: clock, random: cfg.Rand, profile: profile, fetch: fetch}
	s.clients = authserver.NewClients(cfg.AgentDirs, fetch.client(), s.now)
	s.life.Store(int64(cfg.OperationLife))
	s.faults.f = cfg.Faults
	s.record = record{now: s.now, log: cfg.Logger}
	s.limits = limits{now: s.now, broken: s.record.broken, until: map[string]time.Time{}}
	s.shop.open(s.now())
	s.verifier = verifier{agents: s.clients, now: s.now, used: map[string]time.Time{}}
	s.browsers = browsers{now: s.now, joined: map[string]joined{}, single: profile.SessionTokens}
	s.ops = &operations{
		now: s.now, fresh: s.fresh, quote: s.shop.quote, perform: s.perform,
		life:       func() time.Duration { return time.Duration(s.life.Load()) },
		decline:    s.takeDecline,
		hold:       s.takeHold,
		refs:       map[string]*reference{},
		references: map[string]string{},
	}
	if s.pages, err = loadPages(); err != nil {
		return nil, err
	}
	if s.authority, err = newAuthority(cfg.Rand, cfg.Now(), s.names); err != nil {
		return nil, err
	}
	s.auth = authserver.New(authserver.Config{
		Profile: profile, Issuer: s.issuer(), Company: companyName, Resource: s.shopOrigin(), MCP: s.mcp(), Clients: s.clients,
		Accounts: Accounts(), Pages: s, Now: s.now, Fresh: s.fresh, Broken: s.record.broken, Limited: s.limits.wait,
		DeviceInterval: cfg.DeviceInterval,
	})
	s.capture = capture.New(s.partner(), func(r *http.Request) string {
		j, _ := s.visit(r)
		return j.sid
	})
	s.auth.SetCaller(s.caller)
	s.auth.RequireNonces(cfg.RequireNonces && profile.SessionTokens)
	return s, nil
}

// server makes an HTTP server with our deadlines.
func (s *Site) server(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// report logs why a server stopped, unless it was closed.
func report(log *slog.Logger, err error) {
	if !errors.Is(err, http.ErrServerClosed) {
		log.Error("the site stopped serving", "error", err)
	}
}

// Close stops the Company and waits for its goroutines. Requests in flight may finish until ctx ends; then they are
// cut off, and Close returns the context's error.
func (s *Site) Close(ctx context.Context) error {
	var errs []error
	for _, server := range s.servers {
		if err := server.Shutdown(ctx); err != nil {
			errs = append(errs, err, server.Close())
		}
	}
	s.serving.Wait()
	return errors.Join(errs...)
}

// Company is the Company's address, such as https://stormline.test.
func (s *Site) Company() string { return s.shopOrigin() }

// ConnectTo says how to reach the Company's names and its partner's, as curl's --connect-to spells it: HOST:PORT:ADDR:PORT.
func (s *Site) ConnectTo() []string {
	return []string{s.shopHost() + ":443:" + s.bound, s.issuerHost() + ":443:" + s.bound, s.partnerHost() + ":443:" + s.bound}
}

// Authority is the certificate of the authority of this process, as PEM.
func (s *Site) Authority() []byte { return append([]byte(nil), s.authority.pem...) }

// Control is the address of the control port, http://127.0.0.1:PORT, or empty when there is none. GET /report gives the
// Report as JSON; POST /NAME sets a switch (faults.go) or does what a person or the operator does (control.go).
func (s *Site) Control() string {
	if s.control == "" {
		return ""
	}
	return "http://" + s.control
}

// Capture is the matrix of ways for a response to come to a browser, which is at /capture/ of the Company and of a partner.
func (s *Site) Capture() *capture.Matrix { return s.capture }

// mcp is the address of the MCP server, which the drafts' profiles have.
func (s *Site) mcp() string {
	if !s.profile.SessionTokens {
		return ""
	}
	return s.mcpURL()
}

// Report gives what happened so far.
func (s *Site) Report() Report { return s.record.snapshot() }

// Performed says how often the operation was performed: 0 or 1, unless the Company is wrong.
func (s *Site) Performed(operationID string) int {
	n := 0
	for _, p := range s.Report().Performances {
		if p.OperationID == operationID {
			n++
		}
	}
	return n
}

// Asked reports whether the operation is one that an agent asked for here.
func (s *Site) Asked(operationID string) bool { return s.ops.known(operationID) }

// Broken gives the rules of severity must and should that agents broke so far.
func (s *Site) Broken() []Violation { return s.Report().Broken }

// fresh gives random characters of an ID, six bits each.
func (s *Site) fresh(characters int) string {
	b := make([]byte, (characters*6+7)/8)
	if _, err := io.ReadFull(s.random, b); err != nil {
		// A source that ran dry must not make two IDs equal.
		_, _ = rand.Read(b)
	}
	return base64.RawURLEncoding.EncodeToString(b)[:characters]
}

// perform is the effect of an operation: the shop changes, and the report counts it.
func (s *Site) perform(op *operation, a ask, by approval) {
	s.shop.apply(op.owner, a)
	done := Performance{Time: s.now(), Kind: op.kind, OperationID: op.id, Revision: by.revision, Approver: by.approver}
	s.record.count(func(r *Report) { r.Performances = append(r.Performances, done) })
}

func (s *Site) takeDecline(kind string) *Decline {
	if d, found := takeKeyed(&s.faults, kind, func(f *Faults) *map[string]Decline { return &f.Declines }); found {
		return &d
	}
	return nil
}

func (s *Site) takeHold(string) int {
	lookUps := 0
	s.faults.change(func(f *Faults) { lookUps, f.Performing = f.Performing, 0 })
	return lookUps
}

// retryAfter writes a Retry-After and remembers it, so that an agent that doesn't wait is noticed.
func (s *Site) retryAfter(h http.Header, wait time.Duration) {
	if wait <= 0 {
		return
	}
	whole := (wait + time.Second - 1) / time.Second
	h.Set("Retry-After", strconv.Itoa(int(whole)))
	s.notBefore.Store(s.now().Add(whole * time.Second).UnixNano())
}
