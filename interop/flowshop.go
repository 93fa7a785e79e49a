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
	"strings"

	"github.com/papaver-agent/papaver/browser"
)

// maxLog is how much of the Company's log is read, in bytes.
const maxLog = 32 << 20

// shopTour is a flow at the bundled Company that ends with an act which needs approval.
const shopTour = `{"title": "tour", "steps": [
	{"type": "setViewport", "width": 900, "height": 700, "deviceScaleFactor": 1, "isMobile": false, "hasTouch": false, "isLandscape": false},
	{"type": "navigate", "url": "https://stormline.test/"},
	{"type": "click", "selectors": [["aria/Orders"], ["a[href='/orders']"]], "offsetX": 5, "offsetY": 5, "assertedEvents": [{"type": "navigation", "url": "https://stormline.test/orders", "title": ""}]},
	{"type": "navigate", "url": "https://stormline.test/orders/ord_7Hk2"},
	{"type": "change", "selectors": [["aria/Size"], ["#size"]], "value": "L"},
	{"type": "click", "selectors": [["aria/Exchange[role=\"button\"]"], ["#exchange"]], "offsetX": 5, "offsetY": 5}
]}`

// knownShopDifferences are those that the reference and papaver run have at the bundled Company.
func knownShopDifferences() []flowDifference {
	return []flowDifference{
		{[]string{"extra request: GET https://stormline.test/ "}, "the page that the join leads to"},
		{[]string{"extra request: GET https://stormline.test/assets/waiting.svg "}, "only a browser in a Session is told that it waits for an approval"},
	}
}

// shopFlow makes a flow at the bundled Company with the reference, a stranger there, and with papaver run, which refuses what is
// asked, and compares the requests that the Company got of the browsers, but for those of the protocol.
func (c *flowChecks) shopFlow(ctx context.Context, t *tally) (err error) {
	s, err := c.openEmptyShop(ctx, "flow-shop")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	file := filepath.Join(s.dir, "tour.json")
	if err := os.WriteFile(file, []byte(shopTour), 0o600); err != nil {
		return err
	}
	reference, err := c.replayed(ctx, file, "MAP stormline.test:443 "+s.address)
	if err != nil {
		return err
	}
	asked, err := s.requests(ctx)
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd := command(ctx, s.command, append([]string{"run", file, "--company", s.company, "--no-input", "--json", "--driver", c.driver}, s.args[1:]...)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	runErr := cmd.Run()
	exit, refused := errors.AsType[*exec.ExitError](runErr)
	if !refused || exit.ExitCode() != 3 || reference.Outcome != "finished" {
		t.fail("a flow at the bundled Company ends as it should", fmt.Sprintf("%v, %s: %s", runErr, reference.says(), tail(said.String())))
	}
	have, err := s.requests(ctx)
	if err != nil {
		return err
	}
	found, _, gone := explained(differences("request", asked, have), knownShopDifferences())
	if found = append(found, gone...); len(asked) == 0 || len(found) > 0 {
		err = fmt.Errorf("%d requests: %s", len(asked), strings.Join(found, "; "))
	}
	t.check("a flow at the bundled Company: the same requests, but for those of the protocol", err)
	return nil
}

// requests are those that the shop got of a browser since it was asked before, one line each. Icons are a browser's own affair.
func (s *shop) requests(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.control+"/log", strings.NewReader(`{"clear": true}`))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	var log struct {
		Exchanges []struct {
			Request struct {
				Method string `json:"method"`
				URL    string `json:"url"`
				Body   string `json:"body"`
			} `json:"request"`
		} `json:"exchanges"`
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxLog)).Decode(&log); err != nil {
		return nil, err
	}
	var lines []string
	for _, e := range log.Exchanges {
		rest, atShop := strings.CutPrefix(e.Request.URL, s.company)
		if atShop && !strings.HasPrefix(rest, "/poppy/") && !strings.HasPrefix(rest, "/.well-known/") && !strings.Contains(rest, "favicon") {
			lines = append(lines, e.Request.Method+" "+e.Request.URL+" "+e.Request.Body)
		}
	}
	return lines, nil
}

// replayed makes a recording with the reference in a Chromium that resolves names so.
func (c *flowChecks) replayed(ctx context.Context, file, rules string) (r flowReference, err error) {
	chromium, err := browser.Find("")
	if err != nil {
		return r, err
	}
	args := []string{filepath.Join(c.replay, "live.mjs"), file, chromium, rules + ", MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // it loads our own pages alone
	}
	var stdout, stderr bytes.Buffer
	cmd := command(ctx, c.node, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("the reference: %w: %s", err, tail(stderr.String()))
	}
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		return r, fmt.Errorf("the reference: %w: %s", err, tail(stdout.String()))
	}
	return r, nil
}
