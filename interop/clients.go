package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/creack/pty"
)

// mcpFolder is where the clients of papaver mcp stand.
const mcpFolder = "interop/mcp"

// Times of a purchase.
const (
	clientTimeout = 3 * time.Minute
	callTimeout   = 100 * time.Second
)

// mcpTools is how many tools papaver mcp has.
const mcpTools = 28

// call is a call of a tool, and the status that it is to have; empty for any.
type call struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	Status    string         `json:"status"`
}

// purchase is what each client does: all of it but the approval.
func purchase(company string) []call {
	return []call{
		{"poppy_join", map[string]any{"company": company}, "joined"},
		{"browser_navigate", map[string]any{"url": company + "/orders/ord_7Hk2"}, "done"},
		{"browser_snapshot", map[string]any{}, ""},
		{"browser_select_option", map[string]any{"target": "#size", "values": []string{"L"}}, "done"},
		{"browser_click", map[string]any{"element": "Exchange", "target": "#exchange"}, "waiting_for_user"},
		{"poppy_waiting", map[string]any{}, ""},
		{"poppy_wait", map[string]any{"timeout": 60}, "performed"},
	}
}

// shop is the bundled Company, a home that it knows, and a person at papaver tui of that home.
type shop struct {
	company string
	address string // of its listener
	control string
	command string
	args    []string // of papaver mcp
	dir     string
	home    string
	close   func() error
}

// openShop starts it. The person approves whatever is asked, each time with a key in a pseudo-terminal.
func (w *world) openShop(ctx context.Context, name string) (*shop, error) {
	s, err := w.openEmptyShop(ctx, name)
	if err != nil {
		return nil, err
	}
	leave, err := s.person(ctx)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	closeShop := s.close
	s.close = func() error {
		leave()
		return closeShop()
	}
	return s, nil
}

// openEmptyShop is openShop without a person.
func (w *world) openEmptyShop(ctx context.Context, name string) (*shop, error) {
	dir, err := w.stateFolder(name)
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(w.binary)
	if err != nil {
		return nil, err
	}
	s := &shop{dir: dir, home: filepath.Join(dir, "home"), command: binary}
	if err := output(command(ctx, binary, "identity", "init", "--home", s.home, "--client-id", "https://agent.test/agent.json", "--name", "Interop"), time.Minute); err != nil {
		return nil, err
	}
	var ready struct {
		Company   string   `json:"company"`
		ConnectTo []string `json:"connect_to"`
		CACert    string   `json:"cacert"`
		Control   string   `json:"control"`
	}
	site, err := serve(ctx, command(ctx, binary, "site", "--control", "127.0.0.1:0", "--agent-dir", filepath.Join(s.home, "identity", "public")), &ready)
	if err != nil {
		return nil, err
	}
	s.company, s.control = ready.Company, ready.Control
	s.args = []string{"mcp", "--home", s.home, "--cacert", ready.CACert}
	for _, rule := range ready.ConnectTo {
		s.args = append(s.args, "--connect-to", rule)
		s.address = rule[strings.Index(rule, ":443:")+len(":443:"):]
	}
	if os.Geteuid() == 0 {
		s.args = append(s.args, "--sandbox=false")
	}
	s.close = func() error { return blameless(site.close()) }
	return s, nil
}

// person sits at papaver tui and presses a whenever the screen says that it counts.
func (s *shop) person(ctx context.Context) (leave func(), err error) {
	cmd := exec.CommandContext(ctx, s.command, "tui", "--home", s.home)
	cmd.Env = append(os.Environ(), "TERM=xterm", "LANG=C.UTF-8")
	keyboard, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 110})
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() { // ends with the terminal
		defer close(done)
		buf := make([]byte, 16<<10)
		var drawn []byte // since the last press
		for {
			n, err := keyboard.Read(buf)
			drawn = append(drawn, buf[:n]...)
			if strings.Contains(ansi.Strip(string(drawn)), "a approve") {
				_, _ = keyboard.Write([]byte("a"))
				drawn = nil
			}
			drawn = drawn[max(0, len(drawn)-1<<20):]
			if err != nil {
				return
			}
		}
	}()
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = keyboard.Close()
		<-done
	}, nil
}

// sold checks that the Company performed one exchange, which was approved once.
func (s *shop) sold(ctx context.Context, t *tally) {
	var report struct {
		Recorded     int   `json:"recorded"`
		Performances []any `json:"performances"`
	}
	err := func() error {
		ctx, cancel := context.WithTimeout(ctx, controlTimeout)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.control+"/report", nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }() // it was only read
		return json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(&report)
	}()
	if err == nil && (len(report.Performances) != 1 || report.Recorded != 1) {
		err = fmt.Errorf("%d performances and %d approvals", len(report.Performances), report.Recorded)
	}
	t.check("the Company performed it once", err)
}

// sdkBuys has a script buy with an SDK.
func sdkBuys(name string, script func(w *world) []string) func(context.Context, *world, *tally) error {
	return func(ctx context.Context, w *world, t *tally) (err error) {
		s, err := w.openShop(ctx, "mcp-"+name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		plan, err := json.Marshal(map[string]any{"command": s.command, "args": s.args, "calls": purchase(s.company), "tools": mcpTools})
		if err != nil {
			return err
		}
		file := filepath.Join(s.dir, "plan.json")
		if err := os.WriteFile(file, plan, 0o600); err != nil {
			return err
		}
		words := append(script(w), file)
		ctx, cancel := context.WithTimeout(ctx, clientTimeout)
		defer cancel()
		cmd := command(ctx, words[0], words[1:]...)
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		runErr := cmd.Run()
		if _, err := countLines(t, out.Bytes()); err != nil || runErr != nil {
			return fmt.Errorf("%s: %w: %s", name, errors.Join(err, runErr), tail(said.String()))
		}
		s.sold(ctx, t)
		return nil
	}
}

// inspectorBuys has the MCP Inspector's command lines list the tools and buy.
func inspectorBuys(ctx context.Context, w *world, t *tally) (err error) {
	s, err := w.openShop(ctx, "mcp-inspector")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	bin := filepath.Join(w.mcp, "node_modules", ".bin")
	inspect := func(name string, args ...string) (string, error) {
		cmd := command(ctx, w.node, append([]string{filepath.Join(bin, name)}, args...)...)
		cmd.Env = append(cmd.Env, "HOME="+s.dir, "MCP_INSPECTOR_SECRET_STORE=memory")
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		late := time.AfterFunc(callTimeout, func() { _ = cmd.Cancel() })
		defer late.Stop()
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, tail(out.String()+said.String()))
		}
		return out.String(), nil
	}
	out, err := inspect("mcp-inspector", append([]string{"--cli", "--strict", "--method", "tools/list", "--", s.command}, s.args...)...)
	if n := strings.Count(out, `"inputSchema"`); err == nil && n != mcpTools {
		err = fmt.Errorf("%d tools, not %d", n, mcpTools)
	}
	t.check("it lists the tools, and finds nothing wrong with them", err)

	catalog, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"papaver": map[string]any{"command": s.command, "args": s.args}}})
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, "catalog.json")
	if err := os.WriteFile(file, catalog, 0o600); err != nil {
		return err
	}
	all := []string{"--format", "json", "--plain", "--catalog", file}
	defer func() { _, _ = inspect("mcpdo", append(all, "daemon", "stop")...) }() // it ends with its server
	if _, err := inspect("mcpdo", append(all, "connect", "papaver")...); err != nil {
		return err
	}
	for _, one := range purchase(s.company) {
		args := append(all[:len(all):len(all)], "@papaver", "tools/call", one.Tool)
		for name, value := range one.Arguments {
			word, err := json.Marshal(value)
			if err != nil {
				return err
			}
			args = append(args, name+":="+string(word))
		}
		out, err := inspect("mcpdo", args...)
		status := regexp.MustCompile(`"status":\s*"` + one.Status + `"`)
		if err == nil && one.Status != "" && !status.MatchString(out) {
			err = fmt.Errorf("it says %s", tail(out))
		}
		t.check(one.Tool+" comes to "+one.Status, err)
	}
	s.sold(ctx, t)
	_, err = inspect("mcpdo", append(all, "disconnect", "papaver")...)
	return err
}
