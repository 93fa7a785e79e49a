package company_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// answers is what hosts answer in a vector. It implements [http.RoundTripper].
type answers map[string]struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Type    string            `json:"content_type"`
	JSON    json.RawMessage   `json:"json"`
	Text    string            `json:"text"`
	Padding int               `json:"padding_bytes"`
	Trickle *struct {
		Bytes    int     `json:"chunk_bytes"`
		Interval float64 `json:"interval_seconds"`
	} `json:"trickle"`
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	p, ok := a[r.URL.String()]
	if !ok {
		return nil, errors.New("the vector has no such host")
	}
	body := append([]byte(p.Text), p.JSON...)
	body = append(body, bytes.Repeat([]byte(" "), p.Padding)...)
	res := &http.Response{StatusCode: p.Status, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(bytes.NewReader(body))}
	if p.Type != "" {
		res.Header.Set("Content-Type", p.Type)
	}
	for name, value := range p.Headers {
		res.Header.Set(name, value)
	}
	if p.Trickle != nil {
		interval := time.Duration(p.Trickle.Interval * float64(time.Second))
		res.Body = io.NopCloser(&trickle{ctx: r.Context(), rest: body, size: p.Trickle.Bytes, interval: interval})
	}
	return res, nil
}

// trickle gives a few bytes after each interval.
type trickle struct {
	ctx      context.Context
	rest     []byte
	size     int
	interval time.Duration
}

func (s *trickle) Read(into []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	timer := time.NewTimer(s.interval)
	defer timer.Stop()
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-timer.C:
	}
	n := copy(into, s.rest[:min(s.size, len(s.rest))])
	s.rest = s.rest[n:]
	return n, nil
}
