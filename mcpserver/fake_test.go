package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
)

const patience = 30 * time.Second // for anything these tests wait for

// fakeVisit is a site whose acts do what the test says.
type fakeVisit struct {
	mu       sync.Mutex
	acts     []browser.Act
	do       func(ctx context.Context, act browser.Act) (met []string, err error)
	snapshot browser.Snapshot
	dialog   *browser.Dialog
	console  []browser.ConsoleMessage
	answered []browser.Answered
	closed   bool
}

func (v *fakeVisit) Company() string { return "shop.test" }
func (v *fakeVisit) Sid() string     { return "sid-1" }
func (v *fakeVisit) SignedIn() bool  { return false }

func (v *fakeVisit) Begin(ctx context.Context, s agent.Step) ([]string, error) {
	v.mu.Lock()
	v.acts = append(v.acts, s.Act)
	do := v.do
	v.mu.Unlock()
	if do != nil {
		return do(ctx, s.Act)
	}
	return nil, nil
}

func (v *fakeVisit) made() []browser.Act {
	v.mu.Lock()
	defer v.mu.Unlock()
	made := v.acts
	v.acts = nil
	return made
}

func (v *fakeVisit) Snapshot(_ context.Context, o browser.SnapshotOptions) (browser.Snapshot, error) {
	s := v.snapshot
	if o.Offset > 0 {
		s.Text, s.Next = "- text: \"the rest\"\n", 0
	}
	return s, nil
}

func (v *fakeVisit) Screenshot(context.Context, browser.Shot) ([]byte, error) {
	return []byte("a picture"), nil
}

func (v *fakeVisit) Tabs(context.Context) ([]browser.TabInfo, error) {
	return []browser.TabInfo{{ID: "T1", URL: "https://shop.test/", Current: true}, {ID: "T2", URL: "https://shop.test/", Title: "two"}}, nil
}

func (v *fakeVisit) Dialog() (browser.Dialog, bool) {
	if v.dialog == nil {
		return browser.Dialog{}, false
	}
	return *v.dialog, true
}

func (v *fakeVisit) Console(context.Context) ([]browser.ConsoleMessage, error) {
	return v.console, nil
}
func (v *fakeVisit) Answered(context.Context) ([]browser.Answered, error) { return v.answered, nil }
func (v *fakeVisit) Close(context.Context) error                          { v.closed = true; return nil }

// model is a client of a server.
type model struct {
	t       *testing.T
	session *mcp.ClientSession
	mu      sync.Mutex
	told    []string // progress
	asked   []string // what the server asked of the client
	heard   chan struct{}
}

// dial connects a client to a server whose site is v, and ends both with the test.
func dial(t *testing.T, v *fakeVisit, change func(*server)) (*model, *server) {
	t.Helper()
	s := newServer(t.Context(), Config{Agent: agent.Config{Home: t.TempDir()}, Version: "test"})
	s.open = func(context.Context, string) (visitor, error) { return v, nil }
	s.outcome = func(ctx context.Context, id string) (agent.Status, error) { // as events tell it
		for {
			_, changed := s.rounds.all()
			if one, _ := s.rounds.find(id); one.settled() {
				return agent.Status(one.Status), nil
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return agent.StatusWaiting, ctx.Err()
			}
		}
	}
	if change != nil {
		change(s)
	}
	return talk(t, s.life, s.tools()), s
}

func talk(t *testing.T, ctx context.Context, server *mcp.Server) *model {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Run(ctx, &mcp.IOTransport{Reader: toServer, Writer: fromServer}) })
	m := connect(t, toClient, fromClient)
	t.Cleanup(func() {
		_ = m.session.Close()
		serving.Wait()
	})
	return m
}

// connect is a client that reads and writes there.
func connect(t *testing.T, in io.ReadCloser, out io.WriteCloser) *model {
	t.Helper()
	m := &model{t: t, heard: make(chan struct{}, 1000)}
	client := mcp.NewClient(&mcp.Implementation{Name: "model", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			m.mu.Lock()
			m.told = append(m.told, r.Params.Message)
			m.mu.Unlock()
			m.heard <- struct{}{}
		},
		// It would say yes to whatever it is asked.
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			m.asks("elicitation") // also in the answer to a call, as newer versions of the protocol have it
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, nil
		},
	})
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if !strings.HasPrefix(method, "notifications/") && method != "ping" {
				m.asks(method)
			}
			return next(ctx, method, req)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var err error
	if m.session, err = client.Connect(ctx, &mcp.IOTransport{Reader: in, Writer: out}, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *model) asks(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, what)
}

// reply is what a tool returned.
type reply struct {
	*mcp.CallToolResult
	ours, website string
	data          map[string]any
}

// calls calls a tool with arguments as JSON.
func (m *model) calls(name, args string) reply {
	m.t.Helper()
	r, err := m.try(m.t.Context(), name, args)
	if err != nil {
		m.t.Fatalf("%s: %v", name, err)
	}
	return r
}

func (m *model) try(ctx context.Context, name, args string) (reply, error) {
	if args == "" {
		args = "{}"
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(args)}
	p.SetProgressToken("p-" + name)
	res, err := m.session.CallTool(ctx, p)
	if err != nil {
		return reply{}, err
	}
	r := reply{CallToolResult: res}
	for i, c := range res.Content {
		text, ok := c.(*mcp.TextContent)
		switch {
		case ok && i == 0:
			r.ours = text.Text
		case ok:
			r.website += text.Text + "\n"
		}
	}
	r.data, _ = res.StructuredContent.(map[string]any)
	return r, nil
}

// refused calls a tool and wants an error that says so.
func (m *model) refused(name, args, want string) {
	m.t.Helper()
	r, err := m.try(m.t.Context(), name, args)
	switch {
	case err != nil && strings.Contains(err.Error(), want):
	case err != nil:
		m.t.Errorf("%s %s: %v, want %q", name, args, err, want)
	case !r.IsError || !strings.Contains(r.ours+r.website, want):
		m.t.Errorf("%s %s says\n%s\n%s\nwant an error with %q", name, args, r.ours, r.website, want)
	}
}
