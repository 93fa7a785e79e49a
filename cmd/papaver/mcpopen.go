package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/mcpserver"
)

// A locked home needs the passphrase, and the terminal of the program that starts papaver mcp is that program's: a question
// there would fight with its screen, and what is typed could reach the program. So the User opens the home in a terminal of
// their own with papaver mcp --open, which serves what clients start.

const (
	mcpSocket   = "mcp.sock" // in the home
	mcpRun      = "mcp"      // whose lock says that a home is open: it isn't locked anew meanwhile
	dialTimeout = 2 * time.Second
)

// openMCP asks for the passphrase, and serves each client that the User lets in, until ctx ends.
func openMCP(ctx context.Context, h home.Home, cfg mcpserver.Config) error {
	asker, err := newHiddenPrompt()
	if err != nil {
		return err
	}
	defer asker.close()
	if cfg.Agent.Key, err = asker.open(ctx, h); err != nil {
		return err
	}
	if cfg.Agent.Key == nil {
		return &trouble.Error{What: "this home has no lock", Done: "nothing", Undone: "no client was waited for", Next: "let your client start papaver mcp: it needs no --open"}
	}
	release, err := attach.Take(h.Run(), mcpRun)
	if errors.Is(err, attach.ErrRuns) {
		return &trouble.Error{What: "papaver mcp --open runs at this home already", Err: err, Done: "nothing", Undone: "no client was waited for", Next: "use that one, or end it"}
	}
	if err != nil {
		return err
	}
	defer release()
	path := filepath.Join(h.Dir(), mcpSocket)
	_ = os.Remove(path) // of one that was killed: we have the lock
	socket, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return &trouble.Error{What: "the home's socket can't be made", Err: err, Done: "nothing", Undone: "no client was waited for", Next: "a shorter path for the home may help"}
	}
	defer context.AfterFunc(ctx, func() { _ = socket.Close() })()
	defer func() { _ = socket.Close() }()
	if err := os.Chmod(path, 0o600); err != nil {
		return err
	}
	fmt.Fprint(asker.terminal, "The home is open for papaver mcp until you press Ctrl+C. Start it in your client now.\n")
	var serving sync.WaitGroup
	defer serving.Wait()
	for {
		conn, err := socket.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the home's socket: %w", err)
		}
		in, err := asker.letsIn(ctx, conn)
		if err != nil || !in {
			_ = conn.Close()
			if err != nil && ctx.Err() == nil {
				return err
			}
			continue
		}
		serving.Go(func() {
			defer func() { _ = conn.Close() }()
			own := cfg
			own.In, own.Out = io.NopCloser(conn), noCloser{conn} // it is closed when nothing of the client is left
			if err := mcpserver.Serve(ctx, own); err != nil && ctx.Err() == nil {
				cfg.Agent.Logger.Warn("a client's server", "error", err)
			}
		})
	}
}

// noCloser is a writer that is closed by somebody else.
type noCloser struct{ io.Writer }

// Close implements io.Closer.
func (noCloser) Close() error { return nil }

// letsIn asks the User whether a client may use the agent.
func (p *hiddenPrompt) letsIn(ctx context.Context, conn *net.UnixConn) (bool, error) {
	cred, err := peerOf(conn)
	if err != nil || int(cred.Uid) != os.Geteuid() {
		return false, nil
	}
	fmt.Fprintf(p.terminal, "A client wants to use this agent (process %d%s). y and Enter let it in, anything else does not: ", cred.Pid, parentOf(cred.Pid))
	line, err := p.answers.line(ctx)
	return strings.TrimSpace(string(line)) == "y", err
}

func peerOf(conn *net.UnixConn) (cred *unix.Ucred, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	controlErr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	return cred, errors.Join(controlErr, err)
}

// parentOf names what started a process, for a person; a process can give itself any name.
func parentOf(pid int32) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	fields := strings.Fields(rest) // the state, and the parent
	if len(fields) < 2 {
		return ""
	}
	name, err := os.ReadFile("/proc/" + fields[1] + "/comm")
	if err != nil {
		return ""
	}
	return ", started by " + plaintext.Quote(strings.TrimSpace(string(name))).String()
}

// joinOpenMCP connects to the papaver mcp --open of a home; nil when there is none.
func joinOpenMCP(ctx context.Context, dir string) *net.UnixConn {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "unix", filepath.Join(dir, mcpSocket))
	if err != nil {
		return nil
	}
	unixConn, ok := conn.(*net.UnixConn)
	if cred, err := peerOf(unixConn); !ok || err != nil || int(cred.Uid) != os.Geteuid() {
		_ = conn.Close()
		return nil
	}
	return unixConn
}

// bridge has a client speak with papaver mcp --open, until one of them ends.
func bridge(ctx context.Context, e env, conn *net.UnixConn) error {
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() { // ends with the client's input, which is the process's own, or with the process
		_, _ = io.Copy(conn, e.stdin)
		_ = conn.CloseWrite()
	}()
	n, err := io.Copy(e.stdout, conn)
	_ = conn.Close()
	switch {
	case ctx.Err() != nil:
		return exitCode(exitInterrupted)
	case n == 0:
		return &trouble.Error{What: "papaver mcp --open of this home did not let this client in", Done: "nothing", Undone: "no tool was offered", Next: "start it again, and press y and Enter where papaver mcp --open runs"}
	}
	return err
}
