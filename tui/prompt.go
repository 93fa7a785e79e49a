package tui

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/papaver-agent/papaver/signin"
)

// promptMsg is what a sign-in shows or asks: event is one of those of package signin or of ours below.
type promptMsg struct {
	bridge *bridge // whose it is
	event  any
}

// callbackAsked, fieldAsked and codeAsked wait for what the User types; the others are shown.
type (
	callbackAsked struct{ refused error }
	fieldAsked    struct {
		prompt signin.CredentialsPrompt
		at     int
	}
	codeAsked struct{ prompt signin.OneTimePrompt }
)

// bridge is the [signin.UI] of the full screen: it carries what a sign-in shows and asks to the model, and what the
// User typed back. The sign-in runs in a command of its own; the model reads the bridge by commands.
type bridge struct {
	ctx    context.Context // of the sign-in; kept here because Waiting has none
	stop   context.CancelFunc
	events chan any
	given  chan []byte // one answer at a time
}

func newBridge(ctx context.Context) *bridge {
	b := &bridge{events: make(chan any), given: make(chan []byte, 1)}
	b.ctx, b.stop = context.WithCancel(ctx)
	return b
}

// next waits for what the sign-in shows or asks next.
func (b *bridge) next(d *device) tea.Cmd {
	return d.do(func(context.Context) tea.Msg {
		select {
		case event := <-b.events:
			return promptMsg{b, event}
		case <-b.ctx.Done():
			return nil
		}
	})
}

// answer hands over what was typed for the field that is asked for now.
func (b *bridge) answer(d *device, text []byte) tea.Cmd {
	return d.do(func(context.Context) tea.Msg {
		select {
		case b.given <- text:
		default: // nobody asked
			clear(text)
		}
		return nil
	})
}

// drain overwrites an answer that nobody took.
func (b *bridge) drain() {
	select {
	case late := <-b.given:
		clear(late)
	default:
	}
}

func (b *bridge) tell(ctx context.Context, event any) error {
	select {
	case b.events <- event:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bridge) ask(ctx context.Context, event any) ([]byte, error) {
	b.drain() // what was for a field that is not asked for any more
	if err := b.tell(ctx, event); err != nil {
		return nil, err
	}
	select {
	case text := <-b.given:
		return text, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Address implements signin.UI.
func (b *bridge) Address(ctx context.Context, p signin.AddressPrompt) error { return b.tell(ctx, p) }

// Callback implements signin.UI.
func (b *bridge) Callback(ctx context.Context, refused error) (string, error) {
	text, err := b.ask(ctx, callbackAsked{refused})
	defer clear(text)
	return string(text), err
}

// Code implements signin.UI.
func (b *bridge) Code(ctx context.Context, p signin.CodePrompt) error { return b.tell(ctx, p) }

// Waiting implements signin.UI.
func (b *bridge) Waiting(w signin.Waiting) { _ = b.tell(b.ctx, w) } // a sign-in that is stopped shows nothing more

// Credentials implements signin.UI: one field after the other.
func (b *bridge) Credentials(ctx context.Context, p signin.CredentialsPrompt) (map[string][]byte, error) {
	given := make(map[string][]byte)
	for i, f := range p.Fields {
		text, err := b.ask(ctx, fieldAsked{p, i})
		if err != nil {
			return given, fmt.Errorf("ask for the credentials: %w", err)
		}
		given[f.Name] = text
	}
	return given, nil
}

// OneTimeCode implements signin.UI.
func (b *bridge) OneTimeCode(ctx context.Context, p signin.OneTimePrompt) ([]byte, error) {
	return b.ask(ctx, codeAsked{p})
}
