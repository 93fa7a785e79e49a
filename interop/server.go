package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Bounds of what a server that we started may take.
const (
	startTimeout   = 30 * time.Second
	controlTimeout = 15 * time.Second
	maxAnswer      = 64 << 20
)

// server is a process that prints one line of JSON when it listens and serves until it is closed.
type server struct {
	cmd  *exec.Cmd
	out  io.ReadCloser
	said *bytes.Buffer // its standard error
}

// serve starts a server and reads its ready line into ready.
func serve(ctx context.Context, cmd *exec.Cmd, ready any) (*server, error) {
	s := &server{cmd: cmd, said: new(bytes.Buffer)}
	cmd.Stderr = s.said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = out
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line := make(chan []byte, 1)
	go func() { // ends with the line, or with the process
		b, _ := bufio.NewReader(out).ReadBytes('\n')
		line <- b
	}()
	late := time.NewTimer(startTimeout)
	defer late.Stop()
	var first []byte
	select {
	case first = <-line:
	case <-late.C:
	case <-ctx.Done():
	}
	if err := json.Unmarshal(first, ready); err != nil {
		s.close()
		return nil, fmt.Errorf("%s did not get ready: %w: %s", cmd.Path, err, tail(string(first)+s.said.String()))
	}
	return s, nil
}

// close ends the process and everything it started, and returns what it said on its standard error.
func (s *server) close() string {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
	late := time.AfterFunc(endWait, func() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	defer late.Stop()
	_ = s.cmd.Wait() // it was told to end
	return s.said.String()
}

// control asks a control port, and reads the answer into out unless that is nil.
func control(ctx context.Context, port, name string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, controlTimeout)
	defer cancel()
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, port+"/"+name, bytes.NewReader(sent))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Close = true // Node ends connections that were idle for 5 s, and a POST that meets that is not sent again
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("control port, %s: %w", name, err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	got, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("control port, %s: %w", name, err)
	}
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("control port, %s: status %d: %s", name, answer.StatusCode, tail(string(got)))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(got, out); err != nil {
		return fmt.Errorf("control port, %s: %w", name, err)
	}
	return nil
}

// freeAddress is an address of loopback that was free a moment ago, for a process that must be told one.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }() // the address is all that was wanted
	return l.Addr().String(), nil
}

// readJSON reads a file that a child wrote.
func readJSON(file string, out any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
