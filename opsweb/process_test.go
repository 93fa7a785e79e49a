package opsweb

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/ledger"
)

// The environment of a process that this test binary is started as again: the folder of the ledger, the run's name, and
// where the Company is.
const (
	childLedger  = "OPSWEB_TEST_LEDGER"
	childRun     = "OPSWEB_TEST_RUN"
	childCompany = "OPSWEB_TEST_COMPANY"
)

// Two processes approve one operation at once, each held right before the line that lets its approval leave until the
// other has come as far. One approval leaves, and the operation is performed once.
//
// Clauses: OPS3-7.13, OPS3-7.14
func TestOfTwoProcessesThatApproveOneOperationAtOnceOneSends(t *testing.T) {
	if os.Getenv(childLedger) != "" {
		child(t)
		return
	}
	s := newShop()
	dir := filepath.Join(t.TempDir(), "ledger")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/site" {
			p := s.page()
			_ = json.NewEncoder(w).Encode(map[string]any{"status": p.status, "fields": p.fields})
			return
		}
		body, _ := io.ReadAll(r.Body)
		a := s.answer(post{approval: r.Header.Get("Poppy-Approval"), body: string(body)})
		if a.offer != nil {
			a.body = a.offer.json(time.Now())
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(server.Close)
	var here, ended sync.WaitGroup
	goOn := make(chan struct{})
	for _, run := range []string{"run_a", "run_b"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), childLedger+"="+dir, childRun+"="+run, childCompany+"="+server.URL)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		here.Add(1)
		ended.Go(func() {
			said, came := []string{}, sync.OnceFunc(here.Done)
			for lines := bufio.NewScanner(out); lines.Scan(); {
				said = append(said, lines.Text())
				if lines.Text() == "here" {
					came()
					<-goOn
					_, _ = io.WriteString(in, "go on\n")
				}
			}
			came()
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: %v\n%s", run, err, strings.Join(said, "\n"))
			}
		})
	}
	here.Wait()
	close(goOn)
	ended.Wait()
	records, _, err := ledger.Read(filepath.Join(dir, ledger.FileName))
	if err != nil {
		t.Fatal(err)
	}
	if n := count(records, lineYes); n != 2 {
		t.Errorf("%d answers: the processes did not meet", n)
	}
	if n := count(records, "sending"); n != 1 || len(s.approved) != 1 || s.performed != 1 {
		t.Errorf("%d lines, %d approvals, performed %d times", n, len(s.approved), s.performed)
	}
}

// child is one of the processes: a run whose User says yes at once.
func child(t *testing.T) {
	w := newWorld(t)
	w.dir = os.Getenv(childLedger)
	s := &elsewhere{t: t, url: os.Getenv(childCompany)}
	w.company.live, w.chrome.live = s.answer, s.page
	b := w.beside(os.Getenv(childRun), &gate{n: byte(os.Getpid())}, func(string) bool { return true })
	b.disk.onLine(lineYes, func() { b.ops.cfg.Rand = s })
	defer b.answers(yes)()
	b.press(b.tab)
	w.must(b.settle())
	if got := fmt.Sprint(b.ops.Outcomes()); got != "[performed]" {
		t.Errorf("outcomes = %s", got)
	}
}

// elsewhere is the shop of the process that started this one.
type elsewhere struct {
	t   *testing.T
	url string
}

func (e *elsewhere) answer(p post) answer {
	req, err := http.NewRequest(http.MethodPost, e.url, strings.NewReader(p.body))
	if err != nil {
		e.t.Error(err)
		return lost
	}
	if p.approval != "" {
		req.Header.Set("Poppy-Approval", p.approval)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return lost
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return lost
	}
	return answer{status: res.StatusCode, body: string(body)}
}

func (e *elsewhere) page() page {
	res, err := http.Get(e.url + "/site")
	if err != nil {
		e.t.Error(err)
		return page{script: true}
	}
	defer func() { _ = res.Body.Close() }()
	var p struct {
		Status int      `json:"status"`
		Fields []string `json:"fields"`
	}
	if err := json.NewDecoder(res.Body).Decode(&p); err != nil {
		e.t.Error(err)
	}
	return page{script: true, status: p.Status, fields: p.Fields}
}

// Read is where the process waits for the other: right before the line of the approval that it makes.
func (e *elsewhere) Read(b []byte) (int, error) {
	fmt.Println("here")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return 0, err
	}
	for i := range b {
		b[i] = byte(os.Getpid() + i)
	}
	return len(b), nil
}
