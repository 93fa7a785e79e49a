package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/papaver-agent/papaver/internal/secret"
)

// Dialogs says what becomes of the dialogs that a page opens.
type Dialogs string

// What becomes of dialogs. A beforeunload question is accepted by the first two: the page is left.
const (
	Dismissed Dialogs = "dismiss" // the default of a context
	Accepted  Dialogs = "accept"  // a prompt with what it offers
	// Asked leaves a dialog open for an act HandleDialog. Until then no other act is made. After 30 s it is dismissed.
	Asked Dialogs = "ask"
)

// Reply is the answer to a dialog.
type Reply struct {
	Accept bool
	Text   secret.Text // for a prompt
}

const (
	askedLimit    = 30 * time.Second // a dialog that is to be handled stays open
	answerLimit   = 5 * time.Second  // the call that answers one
	maxDialogText = 4096             // bytes of a dialog's texts that are kept
)

var (
	// ErrDialogOpen is the error of an act while a dialog of the page is open that is to be handled first.
	ErrDialogOpen = errors.New("a dialog of the page is open, and is to be handled first")
	// ErrNoDialog is the error of handling a dialog that is not there, or not any more.
	ErrNoDialog = errors.New("no dialog is open")
)

// openDialog is a dialog that waits for an act of ours.
type openDialog struct {
	Dialog
	tab      Tab
	of       *Made         // the act that it came after; nil for none
	limit    time.Duration // how long it stays open
	answered chan struct{}
}

// HandleDialogs sets what becomes of the dialogs of the context's pages from now on. At first they are dismissed.
func (c *Context) HandleDialogs(d Dialogs) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialogs = d
}

// Dialog is the dialog that is open and is to be handled; false when there is none.
func (c *Context) Dialog() (Dialog, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		return Dialog{}, false
	}
	return c.open.Dialog, true
}

// onDialog takes a dialog from the driver. It does not block. A dialog of a tab that is nobody's is dismissed.
func (b *Browser) onDialog(tab Tab, d Dialog) {
	d.Message, d.Default, d.URL = bounded(d.Message), bounded(d.Default), bounded(d.URL)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closing {
		return
	}
	var c *Context
	if t := b.tabs[tab.ID()]; t != nil {
		c = b.contexts[t.context]
	}
	b.holding.Go(func() {
		reply := Reply{Accept: d.Type == "beforeunload"}
		if c != nil {
			var asked *openDialog
			if reply, asked = c.decide(tab, d); asked != nil && c.wasAnswered(b.life, asked) {
				return
			}
		}
		ctx, cancel := context.WithTimeout(b.life, answerLimit)
		defer cancel()
		_ = tab.AnswerDialog(ctx, reply.Accept, reply.Text.Reveal()) // the tab may be gone, and the dialog with it
	})
}

func bounded(s string) string {
	if len(s) > maxDialogText {
		return s[:maxDialogText]
	}
	return s
}

// decide says how a dialog is answered, or makes it the one that is to be handled. It interrupts the act that waits for
// the page, which stands still.
func (c *Context) decide(tab Tab, d Dialog) (Reply, *openDialog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	policy, last := c.dialogs, c.present
	if last != nil && last.Again != nil && last.Again.reply != nil {
		return *last.Again.reply, nil // the act is made again, and its question answered as at the first time
	}
	if c.during != "" {
		policy = c.during
	}
	switch {
	case policy == Asked && c.open == nil:
		c.open = &openDialog{Dialog: d, tab: tab, of: last, limit: c.askedLimit, answered: make(chan struct{})}
		if c.interrupt != nil {
			c.interrupt(ErrDialogOpen)
		}
		return Reply{}, c.open
	case policy == Accepted:
		return Reply{Accept: true, Text: secret.New(d.Default)}, nil
	}
	return Reply{Accept: d.Type == "beforeunload"}, nil
}

// wasAnswered waits until an act has answered the dialog, and reports false when none does in time.
func (c *Context) wasAnswered(life context.Context, open *openDialog) bool {
	timer := time.NewTimer(open.limit)
	defer timer.Stop()
	select {
	case <-open.answered:
		return true
	case <-timer.C:
	case <-life.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open != open {
		return true // just now
	}
	c.open = nil
	return false
}

// untilDialog runs what is done in the page until it ends, or a dialog opens that is to be handled: then what is done has
// done what it could. It is not run while one is open, unless it handles that one.
func (c *Context) untilDialog(ctx context.Context, handles bool, f func(context.Context) error) error {
	if _, open := c.Dialog(); open && !handles {
		return ErrDialogOpen
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.mu.Lock()
	c.interrupt = cancel
	c.mu.Unlock()
	err := f(ctx)
	c.mu.Lock()
	c.interrupt = nil
	c.mu.Unlock()
	if err != nil && errors.Is(context.Cause(ctx), ErrDialogOpen) {
		return nil
	}
	return err
}

// handleDialog answers the open dialog and waits for what comes of it. It returns the act that opened it, which goes on.
func (c *Context) handleDialog(ctx context.Context, reply Reply) (*Made, error) {
	c.mu.Lock()
	open := c.open
	if open != nil {
		c.open = nil
		close(open.answered)
		if open.of != nil {
			open.of.reply = &reply
		}
	}
	c.mu.Unlock()
	if open == nil {
		return nil, ErrNoDialog
	}
	m := open.of
	if m == nil {
		m = &Made{Act: Act{Kind: HandleDialog, Reply: reply}, tab: open.tab.ID()}
	}
	within, cancel := c.browser.within(ctx, answerLimit, ErrNoAnswer)
	defer cancel()
	if err := open.tab.AnswerDialog(within, reply.Accept, reply.Text.Reveal()); err != nil {
		return m, fmt.Errorf("the dialog was not answered: %w", err)
	}
	if up := c.afterDialog; up != nil {
		c.afterDialog = nil
		_ = up(within) // the page may be gone by now
	}
	defer c.inTabOf(m)()
	if err := c.settle(ctx, quietLimit, nil); err != nil || c.refusedNow() {
		return m, err
	}
	return m, c.arrive(ctx, m)
}
