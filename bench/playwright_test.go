package bench

import (
	"bufio"
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
	"syscall"
	"time"

	"github.com/papaver-agent/papaver/browser"
	"github.com/papaver-agent/papaver/session"
)

// requestsOfRound is how many requests a round makes to the operations endpoint.
const requestsOfRound = 3

// program is the Playwright program, bench/node/round.mjs: it reads a JSON line for each thing to do, and answers with one.
type program struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	session *session.Session
	w       *world
	said    *strings.Builder
}

// playwright starts it, joined to a Session of its own; nil when there is none.
func (w *world) playwright(ctx context.Context) (_ *program, err error) {
	if *playwright == "" {
		return nil, nil
	}
	folder, err := filepath.Abs(*playwright)
	if err != nil {
		return nil, err
	}
	profile, err := os.MkdirTemp("", "playwright-")
	if err != nil {
		return nil, err
	}
	var flags []string
	for _, f := range browser.Flags(w.chromium) {
		flag := "--" + f.Name
		if f.Value != "" {
			flag += "=" + f.Value
		}
		flags = append(flags, flag)
	}
	p := &program{w: w, said: &strings.Builder{}}
	if p.session, err = w.session(); err != nil {
		return nil, err
	}
	fields, err := w.joinFields(ctx, p.session)
	if err != nil {
		return nil, err
	}
	node := os.Getenv("NODE")
	if node == "" {
		node = "node"
	}
	p.cmd = exec.Command(node, filepath.Join(folder, "round.mjs"))
	p.cmd.Stderr = p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = p.ask(ctx, map[string]any{
		"do": "start", "chromium": w.bin, "flags": flags, "profile": profile, "join": w.company.JoinEndpoint, "fields": fields,
		"page": w.site.Company() + orderPage, "endpoint": w.company.OperationsEndpoint, "authority": string(w.site.Authority()),
		"address": strings.SplitN(w.site.ConnectTo()[0], ":", 3)[2],
	})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// ask has the program do something, and returns how many milliseconds that took.
func (p *program) ask(ctx context.Context, what map[string]any) (float64, error) {
	data, err := json.Marshal(what)
	if err != nil {
		return 0, err
	}
	if _, err := p.in.Write(append(data, '\n')); err != nil {
		return 0, err
	}
	// The program ends what it does by itself; when it hangs, it is ended.
	late := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer late()
	if !p.out.Scan() {
		return 0, fmt.Errorf("the Playwright program ended: %s", p.said)
	}
	var answer struct {
		Took  float64 `json:"took"`
		Error string  `json:"error"`
	}
	if err := json.Unmarshal(p.out.Bytes(), &answer); err != nil {
		return 0, err
	}
	if answer.Error != "" {
		return 0, errors.New(answer.Error)
	}
	return answer.Took, nil
}

// round makes a whole round. The statements of its requests are signed before it begins.
func (p *program) round(ctx context.Context) (time.Duration, error) {
	var signed []map[string]string
	for range requestsOfRound {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.w.company.OperationsEndpoint, nil)
		if err != nil {
			return 0, err
		}
		if err := p.session.Authorize(ctx, req); err != nil {
			return 0, err
		}
		fields := map[string]string{}
		for name, values := range req.Header {
			if len(values) > 0 && strings.HasPrefix(name, "Poppy-") {
				fields[name] = values[0]
			}
		}
		signed = append(signed, fields)
	}
	took, err := p.ask(ctx, map[string]any{"do": "round", "signed": signed})
	return time.Duration(took * float64(time.Millisecond)), err
}

func (p *program) close() error {
	err := p.in.Close() // at the end of its input it ends its Chromium, and itself
	late := time.AfterFunc(closeTimeout, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	return errors.Join(err, p.cmd.Wait())
}
