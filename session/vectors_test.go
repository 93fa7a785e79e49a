package session_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/session"
)

// TestTheVectorsAboutAnAPIsAnswersAgree decides those of another implementation's vectors that are not discovery's; its
// error rate_limited is *session.RateLimited. company/testdata/vectors says whose they are.
//
// Clauses: S01-3.3.07
func TestTheVectorsAboutAnAPIsAnswersAgree(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{"0.1": 2, "0.2": 3} {
		text, err := os.ReadFile("../company/testdata/vectors/draft-" + version + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var vectors []struct {
			ID    string `json:"id"`
			Check string `json:"check"`
			Input struct {
				Status    int               `json:"status"`
				Headers   map[string]string `json:"headers"`
				Body      json.RawMessage   `json:"body"`
				Challenge string            `json:"www_authenticate"`
			} `json:"-"`
			Raw    json.RawMessage `json:"input"`
			Expect struct {
				Error      string `json:"error"`
				RetryAfter string `json:"retry_after"`
				Extension  string `json:"extension"`
			} `json:"-"`
			RawExpect json.RawMessage `json:"expect"`
		}
		if err := json.Unmarshal(text, &vectors); err != nil {
			t.Fatal(err)
		}
		decided := 0
		for _, v := range vectors {
			if v.Check != "extension_required" && v.Check != "rate_limited" {
				continue
			}
			decided++
			if err := errors.Join(json.Unmarshal(v.Raw, &v.Input), json.Unmarshal(v.RawExpect, &v.Expect)); err != nil {
				t.Fatal(err)
			}
			var fields []string
			for name, value := range v.Input.Headers {
				fields = append(fields, name+": "+value)
			}
			if v.Input.Challenge != "" {
				fields = append(fields, "WWW-Authenticate: "+v.Input.Challenge)
			}
			f := newFake(t, drafts[version], (&clock{now: noon}).Now)
			asked := 0
			f.answers["api.example.com/orders"] = func(req *http.Request, _ url.Values) *http.Response {
				asked++
				return reply(req, v.Input.Status, string(v.Input.Body), fields...)
			}
			_, err := f.get(f.session(""), ordersAPI)
			if asked != 1 {
				t.Errorf("%s: asked %d times", v.ID, asked)
			}
			var refused *session.ServerError
			if v.Expect.Extension != "" && (!errors.As(err, &refused) || !errors.Is(err, session.ErrExtensionRequired) || refused.Extension != v.Expect.Extension) {
				t.Errorf("%s: %v", v.ID, err)
			}
			var limited *session.RateLimited
			if seconds, _ := strconv.Atoi(v.Expect.RetryAfter); v.Expect.Error != "" && (!errors.As(err, &limited) || limited.After != time.Duration(seconds)*time.Second) {
				t.Errorf("%s: %v", v.ID, err)
			}
		}
		if decided != want {
			t.Errorf("%s: %d vectors were decided, want %d", version, decided, want)
		}
	}
}
