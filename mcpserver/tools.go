package mcpserver

import (
	"context"
	"errors"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/papaver-agent/papaver/browser"
)

// tools is the MCP server with all tools: nothing else is offered to the client, and nothing is asked of it.
func (s *server) tools() *mcp.Server {
	m := mcp.NewServer(&mcp.Implementation{Name: "papaver", Title: "Papaver", Version: s.cfg.Version}, &mcp.ServerOptions{
		Instructions: instructions, Logger: s.cfg.Agent.Logger, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	act(s, m, "browser_navigate", "Open a page. The first one of a site joins the browser to a Session there, where the site offers that", navigateArgs.acts)
	act(s, m, "browser_navigate_back", "Go back to the page before", func(noArgs) ([]browser.Act, error) { return []browser.Act{{Kind: browser.Back}}, nil })
	act(s, m, "browser_navigate_forward", "Go forward to the page after", func(noArgs) ([]browser.Act, error) { return []browser.Act{{Kind: browser.Forward}}, nil })
	act(s, m, "browser_reload", "Load the page again; a page that a form led to posts the form again", func(noArgs) ([]browser.Act, error) { return []browser.Act{{Kind: browser.Reload}}, nil })
	act(s, m, "browser_click", "Click an element", clickArgs.acts)
	act(s, m, "browser_hover", "Move the pointer over an element", hoverArgs.acts)
	act(s, m, "browser_type", "Put text into an editable element, in the place of what is there; slowly types behind what is there, key by key", typeArgs.acts)
	act(s, m, "browser_fill_form", "Fill several fields", formArgs.acts)
	act(s, m, "browser_select_option", "Select options of a list", selectArgs.acts)
	act(s, m, "browser_press_key", "Press a key or a chord, such as Enter or Control+a", keyArgs.acts)
	act(s, m, "browser_keydown", "Press a key and hold it until browser_keyup", func(a keyArgs) ([]browser.Act, error) { return []browser.Act{{Kind: browser.KeyDown, Key: a.Key}}, nil })
	act(s, m, "browser_keyup", "Let a key go", func(a keyArgs) ([]browser.Act, error) { return []browser.Act{{Kind: browser.KeyUp, Key: a.Key}}, nil })
	act(s, m, "browser_mouse_wheel", "Scroll the page, or an element, by so many CSS pixels", wheelArgs.acts)
	act(s, m, "browser_file_upload", "Give files to a file field. Only files in a folder that the User named can be given", s.uploads)
	act(s, m, "browser_handle_dialog", "Answer the dialog of the page that is open", dialogArgs.acts)
	act(s, m, "browser_resize", "Set the size of the page's view", resizeArgs.acts)
	tool(s, m, "browser_wait_for", "Wait for a text to appear or disappear, for a page's address, or for a time", false, s.waitFor)
	tool(s, m, "browser_tabs", "List, open, close or select a tab", false, s.tabs)
	tool(s, m, "browser_snapshot", "Describe the page as an accessibility tree with references for the other tools; long ones are read by offset", true, s.snapshot)
	tool(s, m, "browser_take_screenshot", "Take a picture of the page. Acts need the references of browser_snapshot", true, s.screenshot)
	tool(s, m, "browser_network_requests", "List the page's answered requests, without headers, bodies and the values of queries", true, s.requests)
	tool(s, m, "browser_console_messages", "List the messages in the page's console", true, s.console)
	tool(s, m, "browser_close", "Close the site's tabs and forget its cookies", false, s.closeSite)

	tool(s, m, "poppy_join", "Open a Company's site (such as https://company.example) and join the browser to a Session there; one that is open already becomes the one that acts are made in", false, s.join)
	tool(s, m, "poppy_sessions", "List the sites that are open, and the Session at each", true, s.sessions)
	tool(s, m, "poppy_waiting", "List what waits for the User", true, s.waiting)
	tool(s, m, "poppy_round", "Say what one operation has come to, with its terms as the Company wrote them", true, s.round)
	tool(s, m, "poppy_wait", "Wait until the operation has an outcome. Only the User can approve, in papaver tui of the same home", true, s.wait)
	return m
}

// noArgs are the arguments of a tool that takes none.
type noArgs struct{}

// tool adds a tool that is no act, or more than acts.
func tool[Args any](s *server, m *mcp.Server, name, about string, looks bool, handle func(context.Context, *mcp.CallToolRequest, Args, *result) error) {
	mcp.AddTool(m, &mcp.Tool{Name: name, Description: about, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: looks}, InputSchema: schemaOf[Args]()},
		func(ctx context.Context, req *mcp.CallToolRequest, args Args) (*mcp.CallToolResult, any, error) {
			r := s.result()
			err := handle(ctx, req, args, r)
			if err != nil {
				err = errors.Join(r.failure(err), s.lost(ctx, err, r))
			}
			return r.done(), nil, err
		})
}

// schemaOf describes arguments. Each has one type: many clients know no list of types, and nothing stands for not said.
func schemaOf[Args any]() *jsonschema.Schema {
	s, err := jsonschema.For[Args](nil)
	if err != nil {
		panic(err) // the types are ours, and a test lists every tool
	}
	plain(s)
	return s
}

// plain takes null out of the types of a schema and of those in it.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	plain(s.Items)
	for _, p := range s.Properties {
		plain(p)
	}
}

// act adds a tool that makes the acts that its arguments say.
func act[Args any](s *server, m *mcp.Server, name, about string, acts func(Args) ([]browser.Act, error)) {
	tool(s, m, name, about, false, func(ctx context.Context, req *mcp.CallToolRequest, args Args, r *result) error {
		list, err := acts(args)
		if err != nil {
			return err
		}
		return s.make(ctx, req, list, r)
	})
}

// make makes acts in the site that is open, and says what became of them and what the page is now.
func (s *server) make(ctx context.Context, req *mcp.CallToolRequest, acts []browser.Act, r *result) error {
	done, err := s.acting(ctx)
	if err != nil {
		return err
	}
	defer done()
	for _, one := range acts {
		if err := one.Validate(); err != nil {
			return err
		}
	}
	if !s.idle() {
		r.state(nil, true)
		return errAgain
	}
	v, err := s.here()
	if errors.Is(err, errNoSite) && acts[0].Kind == browser.Navigate {
		v, err = s.enter(ctx, acts[0].URL, r)
	}
	if err != nil {
		return err
	}
	w := s.start(v, acts)
	if err := s.await(ctx, req, w); err != nil {
		return err
	}
	if w.ended() && w.err != nil {
		s.tell(w)
		if errors.Is(w.err, errOpen) {
			r.state(nil, false)
			return w.err
		}
		if err := r.failure(w.err); err != nil {
			return err
		}
		if err := s.lost(ctx, w.err, r); err != nil || s.isLost() {
			return err
		}
		if len(w.met) > 0 {
			if err := r.terms(r.state(w.met, false)); err != nil {
				return err
			}
		}
		return r.page(ctx, v, browser.SnapshotOptions{Lines: actLines, Bytes: actBytes})
	}
	if !w.ended() {
		r.state(nil, true)
		return nil // the page is of no interest yet
	}
	rounds := r.state(w.met, false)
	if err := r.terms(rounds); err != nil {
		return err
	}
	if slices.ContainsFunc(rounds, func(one roundOut) bool { return one.open && one.ByAct }) {
		return nil // the page stands still
	}
	return r.page(ctx, v, browser.SnapshotOptions{Lines: actLines, Bytes: actBytes})
}

// lost ends the run when its Chromium is gone.
func (s *server) lost(ctx context.Context, err error, r *result) error {
	if !errors.Is(err, browser.ErrGone) {
		return nil
	}
	r.say("The browser has ended. Open the site anew with poppy_join or browser_navigate.")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	closeErr := s.endRun(ctx, err)
	s.rounds.leave()
	if closeErr != nil {
		s.cfg.Agent.Logger.Warn("the run that lost its browser", "error", closeErr)
	}
	return nil
}

func (s *server) isLost() bool {
	_, err := s.here()
	return err != nil
}
