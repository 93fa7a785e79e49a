package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/dunglas/httpsfv"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/operation"
	"github.com/papaver-agent/papaver/opsweb"
	"github.com/papaver-agent/papaver/session"
)

// bare is a program with chromedp as it comes: its own Chromium with our flags, and one tab.
type bare struct {
	tab     context.Context
	profile string
	root    context.Context
	end     context.CancelFunc
}

// bareChromium starts one. Chromium is up when it returns, and the tab is blank.
func (w *world) bareChromium(ctx context.Context) (*bare, error) {
	profile, err := os.MkdirTemp("", "bare-")
	if err != nil {
		return nil, err
	}
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(w.bin), chromedp.UserDataDir(profile), chromedp.Flag("no-sandbox", false)}
	for _, f := range browser.Flags(w.chromium) {
		if f.Value == "" {
			options = append(options, chromedp.Flag(f.Name, true))
		} else {
			options = append(options, chromedp.Flag(f.Name, f.Value))
		}
	}
	life, end := context.WithCancel(ctx)
	allocated, _ := chromedp.NewExecAllocator(life, options...)
	b := &bare{profile: profile, end: end}
	b.root, _ = chromedp.NewContext(allocated)
	b.tab = b.root
	if err := chromedp.Do(b.root); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bare) close() error {
	err := chromedp.Cancel(b.root)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	b.end()
	chromedp.FromContext(b.root).Allocator.Wait()
	return errors.Join(err, os.RemoveAll(b.profile))
}

// fresh opens a tab in a browser context of its own, and gives how to close it.
func (b *bare) fresh() (context.Context, context.CancelFunc, error) {
	tab, cancel := chromedp.NewContext(b.root, chromedp.WithNewBrowserContext())
	if err := chromedp.Do(tab); err != nil {
		cancel()
		return nil, nil, err
	}
	return tab, cancel, nil
}

// joins posts an assertion as a form and waits for the page that it leads to.
func (b *bare) join(ctx context.Context, w *world, s *session.Session) error {
	fields, err := w.joinFields(ctx, s)
	if err != nil {
		return err
	}
	form := `<!doctype html><form method=post action="` + html.EscapeString(w.company.JoinEndpoint) + `">`
	for name, value := range fields {
		form += `<input type=hidden name="` + name + `" value="` + html.EscapeString(value) + `">`
	}
	setForm := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.SetDocumentContent, page.SetDocumentContentParams{FrameID: cdp.FrameID(t.TargetID), HTML: form + `</form>`})
		return err
	})
	submit := chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := chromedp.Evaluate[bool](`document.forms[0].submit(), true`)(ctx, t)
		return err
	})
	if err := chromedp.Do(b.tab, setForm); err != nil {
		return err
	}
	res, err := chromedp.RunResponse(b.tab, submit)
	if err == nil && (res == nil || res.Status != http.StatusOK) {
		err = fmt.Errorf("the join led to %+v", res)
	}
	return err
}

// joinFields are those of a join of s that leads to the site's front page.
func (w *world) joinFields(ctx context.Context, s *session.Session) (map[string]string, error) {
	if _, err := s.Start(ctx); err != nil {
		return nil, err
	}
	assertion, _, err := s.Assertion(ctx, w.company.JoinEndpoint, w.site.Company()+"/")
	if err != nil {
		return nil, err
	}
	p := w.company.Profile
	return map[string]string{p.JoinAssertionField: assertion.Reveal(), p.JoinExtensionsField: p.Extensions()}, nil
}

// round makes a whole round on the order's page, which is there: press, read the header, fetch the terms, approve, make the
// request again, look up. Nothing is stored, and what can be done at once is.
func (b *bare) round(ctx context.Context, client *http.Client, s *session.Session, endpoint string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	headers := make(chan string, 8)
	loads, answers := make(chan struct{}, 8), make(chan int64, 8)
	listening, stop := context.WithCancel(b.tab)
	defer stop()
	err := chromedp.Listen(listening, func(ev any) {
		switch ev := ev.(type) {
		case *network.EventResponseReceived:
			if ev.Type != network.ResourceTypeDocument {
				return
			}
			answers <- ev.Response.Status
			for name, value := range ev.Response.Headers {
				if text, ok := value.(string); ok && strings.EqualFold(name, opsweb.Header) {
					headers <- text
				}
			}
		case *page.EventLoadEventFired:
			loads <- struct{}{}
		}
	})
	if err != nil {
		return err
	}
	if err := chromedp.Do(b.tab, chromedp.Click(chromedp.CSS("#exchange"))); err != nil {
		return err
	}
	header, err := await(ctx, headers)
	if err != nil {
		return err
	}
	<-answers // the one with the header
	ref, err := referenceIn(header)
	if err != nil {
		return err
	}
	var terms struct {
		Operation struct {
			ID       string `json:"operation_id"`
			Revision string `json:"revision"`
		} `json:"operation"`
	}
	if err := post(ctx, client, s, endpoint, ref, nil, http.StatusForbidden, &terms); err != nil {
		return err
	}
	approved := operation.Approval{
		OperationID: terms.Operation.ID, Revision: terms.Operation.Revision, Approver: operation.ByUser, ApprovedAt: time.Now(), InputType: "typed", Reference: terms.Operation.ID + fmt.Sprint(time.Now().UnixNano()),
	}
	if err := post(ctx, client, s, endpoint, ref, &approved, http.StatusNoContent, nil); err != nil {
		return err
	}
	if _, err := await(ctx, loads); err != nil { // the page that is loaded again has to be there
		return err
	}
	again := make(chan error, 1)
	go func() {
		again <- chromedp.Do(b.tab, chromedp.Reload())
	}()
	status, err := await(ctx, answers)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("the request made again was answered with %d", status)
	}
	var state struct {
		Status string `json:"status"`
	}
	if err := post(ctx, client, s, endpoint, ref, nil, http.StatusOK, &state); err != nil {
		return err
	}
	if state.Status != "performed" {
		return fmt.Errorf("the Company says %q", state.Status)
	}
	return <-again
}

func await[T any](ctx context.Context, c <-chan T) (v T, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case v = <-c:
		return v, nil
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

func referenceIn(header string) (string, error) {
	d, err := httpsfv.UnmarshalDictionary([]string{header})
	if err != nil {
		return "", err
	}
	member, _ := d.Get("ref")
	item, ok := member.(httpsfv.Item)
	ref, text := item.Value.(string)
	if !ok || !text {
		return "", fmt.Errorf("no reference in %s", header)
	}
	return ref, nil
}

// post sends a reference to the endpoint, with an approval or without, and decodes the answer.
func post(ctx context.Context, client *http.Client, s *session.Session, endpoint, ref string, approval *operation.Approval, want int, answer any) error {
	body := []byte(`{"ref":"` + ref + `"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if err := s.Authorize(ctx, req); err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if approval != nil {
		field, err := approval.Field()
		if err != nil {
			return err
		}
		req.Header.Set("Poppy-Approval", field)
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != want {
		return fmt.Errorf("the endpoint answered with %d and not %d: %s", res.StatusCode, want, data)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(data, answer)
}
