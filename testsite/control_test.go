package testsite_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/testsite"
)

func TestTheControlPortDoesWhatThePeersChecksAsk(t *testing.T) {
	c := customerOf(t, "0.1")
	about := c.act("about", nil)
	var said struct {
		Capabilities []string
		Accounts     []struct{ Account string }
		Scenario     map[string]any
		Now          time.Time
	}
	if err := json.Unmarshal([]byte(about.body), &said); err != nil {
		t.Fatal(err)
	}
	if len(said.Accounts) != 2 || said.Accounts[0].Account != dana || said.Scenario["read_path"] != "/api/orders" || !said.Now.Equal(c.clock.now()) {
		t.Errorf("about: %s", about.body)
	}
	for _, name := range []string{"clock", "disconnect", "direct_sign_in", "second_identity"} {
		if !slices.Contains(said.Capabilities, name) {
			t.Errorf("no capability %s", name)
		}
	}
	c.act("fault", map[string]any{"path": "/oauth/token", "status": 502})
	wants(t, c.renew(), http.StatusBadGateway, "injected_fault")
	wants(t, c.renew(), http.StatusOK, "")
	c.act("advance", map[string]any{"seconds": 3600})
	wants(t, c.readAPI(ordersURL), http.StatusUnauthorized, "invalid_dpop_proof") // the agent's clock is an hour behind
	log := c.act("log", map[string]any{"clear": true})
	if !strings.Contains(log.body, "/oauth/token") || !strings.Contains(log.body, "assertion=") || !strings.Contains(log.body, `"status":401`) {
		t.Errorf("log: %.300s", log.body)
	}
	if left := c.act("log", nil); strings.Contains(left.body, "/oauth/token") {
		t.Error("the log was not cleared")
	}
}

func TestWithoutAnAddressThereIsNoControlPort(t *testing.T) {
	site, err := testsite.Start(t.Context(), testsite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = site.Close(t.Context()) }()
	if site.Control() != "" {
		t.Error(site.Control())
	}
	if _, err := testsite.Start(t.Context(), testsite.Config{Profile: "0.3"}); err == nil {
		t.Error("an unknown profile was started")
	}
}
