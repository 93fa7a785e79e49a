package agent

import (
	"context"
	"slices"

	"github.com/papaver-agent/papaver/browser"
)

// This file is what a visit's caller may look at and set beside its steps. None of it asks the Company for anything.

// Company is the domain of the visit's Company, or of the ordinary site.
func (v *Visit) Company() string { return v.domain }

// Sid names the Session that the browser is joined to; empty at an ordinary site.
func (v *Visit) Sid() string {
	if v.session == nil {
		return ""
	}
	return v.session.ID()
}

// SignedIn reports whether that Session is signed in.
func (v *Visit) SignedIn() bool { return v.session != nil && v.session.SignedIn() }

// Snapshot describes the page in the tab; see [browser.Context.Snapshot].
func (v *Visit) Snapshot(ctx context.Context, o browser.SnapshotOptions) (browser.Snapshot, error) {
	ctx, cancel := v.agent.within(ctx)
	defer cancel()
	return v.context.Snapshot(ctx, o)
}

// Screenshot is a picture of the page as PNG; see [browser.Context.Screenshot].
func (v *Visit) Screenshot(ctx context.Context, s browser.Shot) ([]byte, error) {
	ctx, cancel := v.agent.within(ctx)
	defer cancel()
	return v.context.Screenshot(ctx, s)
}

// Tabs lists the visit's tabs, the oldest first.
func (v *Visit) Tabs(ctx context.Context) ([]browser.TabInfo, error) {
	ctx, cancel := v.agent.within(ctx)
	defer cancel()
	return v.context.Tabs(ctx)
}

// Dialog is the dialog of a page that is open and is to be handled by an act; false when there is none.
func (v *Visit) Dialog() (browser.Dialog, bool) { return v.context.Dialog() }

// HandleDialogs sets what becomes of the dialogs of the visit's pages from now on.
func (v *Visit) HandleDialogs(d browser.Dialogs) { v.context.HandleDialogs(d) }

// AllowUploads names the folders whose files acts may give to pages; see [browser.Context.AllowUploads].
func (v *Visit) AllowUploads(folders ...string) error { return v.context.AllowUploads(folders...) }

// Console returns the last messages of the page's console: page content, not sanitised.
func (v *Visit) Console(ctx context.Context) ([]browser.ConsoleMessage, error) {
	ctx, cancel := v.agent.within(ctx)
	defer cancel()
	return v.context.Console(ctx)
}

// Answered returns the page's last answered requests. The join is never among them.
func (v *Visit) Answered(ctx context.Context) ([]browser.Answered, error) {
	ctx, cancel := v.agent.within(ctx)
	defer cancel()
	list, err := v.context.Answered(ctx)
	if v.company != nil && v.company.JoinEndpoint != "" {
		list = slices.DeleteFunc(list, func(a browser.Answered) bool { return canonical(a.URL) == canonical(v.company.JoinEndpoint) })
	}
	return list, err
}
