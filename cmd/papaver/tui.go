package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/papaver-agent/papaver/agent"
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
	forget := f.addForgetAfter()
	given, version := f.addWay(), f.spoken()
	if _, err := f.parse(e, args, 0, 0); err != nil {
		return err
	}
	if err := given.check(); err != nil {
		return err
	}
	if *forget <= 0 {
		return usagef("--forget-after is longer than nothing")
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
	cfg := tui.Config{Feed: &withLeft{Client: client, home: h, now: e.now}, Terminal: terminal, Lock: homesLock(dir), ForgetAfter: *forget, Bell: *bell, History: tuiHistory{h}, Accounts: &tuiAccounts{e: e, flags: f, way: given, version: version}}
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

// withLeft is what runs in a home, and what runs that have ended left there.
type withLeft struct {
	*attach.Client
	home home.Home
	now  func() time.Time

	read  bool
	alive int
	left  []attach.Task
}

// Next implements [tui.Feed]. Who has ended, and what they left, is read again when a task begins or ends.
func (f *withLeft) Next(ctx context.Context) (attach.View, error) {
	v, err := f.Client.Next(ctx)
	if err != nil {
		return v, err
	}
	alive := 0
	for _, t := range v.Tasks {
		if t.Outcome == "" {
			alive++
		}
	}
	if !f.read || alive != f.alive {
		f.read, f.alive = true, alive
		if left, err := agent.Left(f.home, f.now()); err == nil { // a ledger that can't be read is said by whatever is run
			f.left = left
		}
	}
	v.Tasks = slices.DeleteFunc(v.Tasks, func(t attach.Task) bool {
		return t.Outcome != "" && slices.ContainsFunc(f.left, func(l attach.Task) bool { return l.ID == t.ID })
	})
	v.Tasks = append(slices.Clone(f.left), v.Tasks...)
	return v, nil
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
