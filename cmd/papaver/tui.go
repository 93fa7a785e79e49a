package main

import (
	"context"
	"errors"

	"github.com/papaver-agent/papaver/attach"
	"github.com/papaver-agent/papaver/internal/durable"
	"github.com/papaver-agent/papaver/internal/home"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/tui"
)

func runTUI(ctx context.Context, e env, args []string) error {
	f := newFlags("tui")
	plain := f.Bool("plain", false, "ask line by line instead of in a full screen")
	bell := f.Bool("bell", false, "ring the terminal's bell when a question comes")
	given, version := f.addWay(), f.spoken()
	if _, err := f.parse(e, args, 0, 0); err != nil {
		return err
	}
	if err := given.check(); err != nil {
		return err
	}
	dir, err := f.homeDir(e)
	if err != nil {
		return err
	}
	terminal, err := tui.OpenTerminal()
	if err != nil {
		return usagef("papaver tui needs a terminal: questions are answered by a key press and by nothing else")
	}
	defer func() { _ = terminal.Close() }()
	h, err := home.Open(dir)
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(h.Run()); err != nil {
		return err
	}
	client, err := attach.Watch(ctx, h.Run(), "")
	if err != nil {
		return err
	}
	defer client.Close()
	cfg := tui.Config{Feed: client, Terminal: terminal, Bell: *bell, History: tuiHistory{h}, Accounts: &tuiAccounts{e: e, flags: f, way: given, version: version}}
	if desktop(e) {
		cfg.Browse = browse
	}
	err = draw(ctx, e, *plain, cfg)
	switch {
	case errors.Is(err, tui.ErrInterrupted), errors.Is(err, tui.ErrHangUp), ctx.Err() != nil:
		return exitCode(exitInterrupted) // a hang-up is noticed as a signal or as the terminal's end, whichever comes first
	case err != nil:
		return &trouble.Error{What: "the terminal UI ended", Err: err, Done: "the answers that were shown as given", Undone: "nothing else was answered; open questions stay open", Next: "run papaver tui again, or papaver tui --plain"}
	}
	return nil
}

// draw runs a terminal UI on cfg's terminal, as a full screen or line by line.
func draw(ctx context.Context, e env, plain bool, cfg tui.Config) error {
	cfg.Now = e.now
	cfg.Color, cfg.Unicode, cfg.Title = tui.Capabilities(e.getenv)
	if plain {
		return tui.RunPlain(ctx, cfg)
	}
	return tui.Run(ctx, cfg)
}
