package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// upload is an ordinary site whose page shows what a file that it was given holds.
const upload = `<!doctype html><title>Upload</title><label>Receipt <input id="file" type="file"></label><output id="got"></output>
<script>document.getElementById("file").onchange = async e => { document.getElementById("got").textContent = "got " + await e.target.files[0].text(); };</script>`

// uploadSite starts that site and returns the flags by which it is reached.
func uploadSite(b *bench) []string {
	b.t.Helper()
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, upload)
	}))
	b.t.Cleanup(site.Close)
	authority := b.file("upload.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw})))
	return []string{"--connect-to", "example.com:443:" + site.Listener.Addr().String(), "--cacert", authority}
}

// ends has the person at u press the key whenever it counts, and waits until the model's operation has an outcome.
func (m *model) ends(u *user, key string) (string, map[string]any) {
	m.t.Helper()
	for range 20 {
		if key != "" {
			u.sees("a approve")
			u.types(key)
		}
		for range 20 {
			text, data := m.calls("poppy_wait", `{"timeout":1}`)
			switch data["status"] {
			case "waiting_for_user":
			case "going_on", "reading_terms":
				continue
			default:
				return text, data
			}
			break
		}
	}
	m.t.Fatal("the operation has no outcome")
	return "", nil
}

// endings are the ways in which an operation of a model ends without being performed, one after another in one browser; a call
// that its client gives up; and a file that is given to a page, and those that aren't.
func (m *model) endings(b *bench, u *user, papers string) {
	m.t.Helper()
	for _, tc := range []struct{ tell, page, fields, control, key, status, says string }{
		{
			page: "/gift", fields: `{"target":"#message","type":"textbox","value":"For you"}`, control: "#add-gift-wrap",
			key: "d", status: "refused", says: "the User refused",
		},
		{
			tell: "decline?kind=membership&reason=Your+plan+is+bound+until+May.", page: "/membership", control: "#cancel-membership",
			key: "a", status: "declined", says: "Your plan is bound until May.",
		},
		{
			tell: "life?life=2s", page: "/account/address", fields: `{"target":"#street","type":"textbox","value":"1 Quay"}`, control: "#save-address",
			status: "expired", says: "its time ended",
		},
	} {
		if tc.tell != "" {
			b.tell(tc.tell)
		}
		m.calls("browser_navigate", `{"url":"`+b.ready.Company+tc.page+`"}`)
		if tc.fields != "" {
			m.calls("browser_fill_form", `{"fields":[`+tc.fields+`]}`)
		}
		if text, data := m.calls("browser_click", `{"target":"`+tc.control+`"}`); data["status"] != "waiting_for_user" {
			m.t.Fatalf("%s: the click comes to %v\n%s", tc.status, data, text)
		}
		if text, data := m.ends(u, tc.key); data["status"] != tc.status || !strings.Contains(text, tc.says) {
			m.t.Errorf("%s: %v\n%s", tc.status, data, text)
		}
	}
	b.tell("life?life=1h")

	ctx, cancel := context.WithTimeout(m.t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := m.session.CallTool(ctx, &mcp.CallToolParams{Name: "browser_click", Arguments: json.RawMessage(`{"target":"#nowhere"}`)}); !errors.Is(err, context.DeadlineExceeded) {
		m.t.Errorf("a call that is given up: %v", err)
	}
	if text, data := m.calls("browser_navigate", `{"url":"`+b.ready.Company+`/gift"}`); data["status"] != "done" {
		m.t.Errorf("the act after it: %v\n%s", data, text)
	}

	if text, data := m.calls("poppy_join", `{"company":"https://example.com"}`); data["status"] != "visiting" {
		m.t.Fatalf("an ordinary site: %s", text)
	}
	m.calls("browser_navigate", `{"url":"https://example.com/"}`)
	for _, path := range []string{"/etc/hostname", filepath.Join(b.home, "identity", "identity.json"), filepath.Join(papers, "link"), "../home/version", "none"} {
		text, _ := m.calls("browser_file_upload", fmt.Sprintf(`{"paths":[%q]}`, path))
		if !strings.Contains(text, "What happened") && !strings.Contains(text, "not done") || strings.Contains(text, "got ") {
			m.t.Errorf("the file %s: %s", path, text)
		}
	}
	if text, _ := m.calls("browser_file_upload", `{"target":"#file","paths":["receipt.txt"]}`); !strings.Contains(text, "got two tents") {
		m.t.Errorf("a file of the User's folder: %s", text)
	}
	m.calls("browser_close", `{}`)
}

// uploadFolder is a folder of the User's with a file, and with a link that leads to the home.
func uploadFolder(t *testing.T, b *bench) string {
	t.Helper()
	papers := filepath.Join(b.dir, "papers")
	if err := os.Mkdir(papers, 0o700); err != nil {
		t.Fatal(err)
	}
	b.file("papers/receipt.txt", "two tents")
	if err := os.Symlink(filepath.Join(b.home, "identity", "identity.json"), filepath.Join(papers, "link")); err != nil {
		t.Fatal(err)
	}
	return papers
}
