package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/papaver-agent/papaver/account"
	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/mcpserver"
)

// runMCP speaks the Model Context Protocol on standard input and output, until the client ends.
func runMCP(ctx context.Context, e env, args []string) error {
	f := newFlags("mcp")
	way := f.addWay()
	version := f.addProfile("speak this protocol `VERSION` (1.0, 0.2 or 0.1); without it the newest that the Company offers")
	signedIn := f.Bool("signed-in", false, "join signed in, with the access that papaver signin was given")
	label := f.String("account", "", "with --signed-in: which of your accounts there (`LABEL`), when there are several")
	driver := f.String("driver", drivers[0].name, "what drives Chromium (`NAME`): chromedp or rod")
	sandbox := f.Bool("sandbox", true, "Chromium's sandbox; as root Chromium needs --sandbox=false")
	open := f.Bool("open", false, "at a locked home, in a terminal of yours: ask for the passphrase, and serve the clients that start papaver mcp")
	headful := f.Bool("headful", false, "show the browser's window")
	var allow, folders list
	f.Var(&allow, "allow", "let the browser connect to this host alone (`HOST`, or *.HOST for those below it); may be repeated")
	f.Var(&folders, "uploads", "let files in this folder be given to pages (`DIR`); may be repeated")
	if _, err := f.parse(e, args, 0, 0); err != nil {
		return err
	}
	switch {
	case driverOf(*driver) == nil:
		return usagef("--driver %q is not built in; chromedp and rod are", *driver)
	case *label != "" && !*signedIn:
		return usagef("--account names an account for --signed-in")
	}
	if err := way.check(); err != nil {
		return err
	}
	for _, host := range allow {
		if err := browser.CheckAllowed(host); err != nil {
			return usagef("--allow %v", err)
		}
	}
	// A client shows nothing of a server's first words but that it ended: what the first call would find out is told now.
	if _, err := reach.New(reach.Config{ConnectTo: way.connectTo, CACerts: way.cacerts}); err != nil {
		return &trouble.Error{What: "the way to the named hosts can't be used", Err: err, Done: "nothing", Undone: "papaver mcp was not started", Next: "look at --connect-to and --cacert"}
	}
	dir, err := f.homeDir(e)
	if err != nil {
		return err
	}
	uploads, err := uploadFolders(folders, dir)
	if err != nil {
		return err
	}
	cfg := mcpserver.Config{
		Agent: agent.Config{
			Home: dir, Driver: driverOf(*driver), ConnectTo: way.connectTo, CACerts: way.cacerts,
			Profile: version.forced, SignedIn: *signedIn, Account: *label, Keyring: account.OSKeyring(e.getenv),
			NoSandbox: !*sandbox, Headful: *headful, Allowed: allow, OpenLedger: e.faults.openLedger, Wrap: e.faults.wrap,
			Now: e.now, Logger: slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		},
		Uploads: uploads, Version: buildVersion(), In: e.stdin, Out: e.stdout,
	}
	if *open {
		h, err := home.Open(dir)
		if err != nil {
			return err
		}
		return openMCP(ctx, h, cfg)
	}
	if conn := joinOpenMCP(ctx, dir); conn != nil {
		return bridge(ctx, e, conn)
	}
	err = mcpserver.Serve(ctx, cfg)
	if ctx.Err() != nil {
		return exitCode(exitInterrupted)
	}
	return err
}

// uploadFolders are the folders that files may be given from, by the paths that their links lead to. None may be the home,
// hold it, or be in it.
func uploadFolders(folders []string, dir string) ([]string, error) {
	if len(folders) == 0 {
		return nil, nil
	}
	kept, err := realPath(dir)
	if err != nil {
		return nil, err
	}
	var real []string
	for _, folder := range folders {
		path, err := realFolder(folder)
		if err != nil {
			return nil, &trouble.Error{What: "the folder of --uploads can't be used", Err: err, Done: "nothing", Undone: "papaver mcp was not started", Next: "name a folder that is there"}
		}
		if inside(path, kept) || inside(kept, path) {
			return nil, usagef("--uploads names the home, or a folder around or in it: its keys must never reach a page")
		}
		real = append(real, path)
	}
	return real, nil
}

// realFolder is where a folder's links lead.
func realFolder(folder string) (string, error) {
	path, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", path)
	}
	return path, err
}

// realPath is where a path's links lead. What is not there yet is taken as it is written.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	switch {
	case err == nil:
		return real, nil
	case errors.Is(err, os.ErrNotExist) && filepath.Dir(path) != path:
		above, err := realPath(filepath.Dir(path))
		return filepath.Join(above, filepath.Base(path)), err
	}
	return "", err
}

// inside reports whether a path is a folder or in it.
func inside(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}
