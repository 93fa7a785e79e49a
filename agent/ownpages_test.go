package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/agent"
	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/internal/trouble"
	"github.com/papaver-agent/papaver/testsite"
)

// The pages of a sign-in belong to the User's own browser: ours never asks for them, by whatever way it is sent there.
//
// Clauses: S01-4.4.03, MIS-6.04
func TestOurBrowserLoadsNoPageOfASignIn(t *testing.T) {
	w := newWorldOf(t, testsite.Config{Control: "127.0.0.1:0"})
	v := w.visit(w.start(&log{}))
	const issuer = "https://auth.stormline.test"
	page := func(clientID string) string {
		return issuer + "/oauth/authorize?response_type=code&scope=poppy%3Aread&client_id=" + url.QueryEscape(clientID)
	}
	load := func(address string) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := v.Do(ctx, agent.Step{Act: browser.Act{Kind: browser.Navigate, URL: address}})
		return err
	}
	for name, address := range map[string]string{
		"authorization": page("https://agent.test/agent.json"), "authorization, written otherwise": strings.Replace(page("https://agent.test/agent.json"), "agent.json", "%61gent.json", 1),
		"device page with a code": issuer + "/device?user_code=WDJB-MJHT", "on the company domain": "https://stormline.test/device?user_code=WDJB-MJHT",
		"below it": "https://id.stormline.test/device?user_code=WDJB-MJHT", "in capitals": "https://AUTH.Stormline.TEST/device?user_code=WDJB-MJHT",
		"with a dot": "https://auth.stormline.test./device?user_code=WDJB-MJHT", "with its port": "https://auth.stormline.test:443/device?user_code=WDJB-MJHT",
	} {
		if said, ok := errors.AsType[*trouble.Error](load(address)); !ok || !strings.Contains(said.What, "belongs to your own browser") {
			t.Errorf("%s: %v", name, said)
		}
	}
	if err := load(page("https://other.test/agent.json")); err != nil {
		t.Errorf("another agent's page is none of ours: %v", err)
	}
	res, err := http.Post(w.site.Control()+"/log", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var seen struct {
		Exchanges []struct {
			Request struct {
				URL string `json:"url"`
			} `json:"request"`
		} `json:"exchanges"`
	}
	if err := json.NewDecoder(res.Body).Decode(&seen); err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, e := range seen.Exchanges {
		switch u, err := url.Parse(e.Request.URL); {
		case err != nil:
			t.Errorf("the Company saw %q", e.Request.URL)
		case u.Path == "/oauth/authorize" && u.Query().Get("client_id") == "https://other.test/agent.json":
			pages++
		case u.Path == "/oauth/authorize" || u.Path == "/device":
			t.Errorf("the Company was asked for %s", e.Request.URL)
		}
	}
	if pages != 1 {
		t.Errorf("the Company saw another agent's page %d times: the log was not read", pages)
	}
}
