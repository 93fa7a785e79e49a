package opsweb

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const jsonHead = "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"

// said is a fault of an answer that is sent whole and then the connection closed.
func said(name, why string, raw string) *fault {
	return &fault{name: name, when: after, why: why, does: func(_ *wire, c *cut) { c.write(raw); _ = c.Close() }}
}

// broken is a fault after which there is no answer.
func broken(name string, when moment, does func(*wire, *cut)) *fault {
	return &fault{name: name, when: when, does: does, again: true}
}

func body(status, contentType, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, contentType, len(body), body)
}

// drip sends a byte now and then, for longer than anybody waits.
func drip(c *cut, head, piece string) {
	c.write(head)
	for range 100 {
		if _, err := c.Write([]byte(piece)); err != nil {
			return
		}
		<-time.After(time.Second)
	}
}

func gzipped(n int) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(bytes.Repeat([]byte{' '}, n))
	_ = z.Close()
	return out.String()
}

var networkFaults = []*fault{
	broken("reset before the request is read", before, func(_ *wire, c *cut) { c.reset() }),
	broken("closed before the request is read", before, func(_ *wire, c *cut) { _ = c.Close() }),
	broken("reset while the request is read", during, func(_ *wire, c *cut) { c.reset() }),
	broken("reset after the request was read", after, func(_ *wire, c *cut) { c.reset() }),
	broken("closed after the request was read", after, func(_ *wire, c *cut) { _ = c.Close() }),
	broken("reset in the answer's head", after, func(_ *wire, c *cut) { c.write(jsonHead); c.reset() }),
	broken("reset in the answer's body", after, func(_ *wire, c *cut) {
		c.write(jsonHead + "Content-Length: 500\r\n\r\n{\"error\":\"approval_required\"")
		c.reset()
	}),
	broken("closed in the answer's body", after, func(_ *wire, c *cut) {
		c.write(jsonHead + "Content-Length: 500\r\n\r\n{\"error\":\"invalid_request\"}")
		_ = c.Close()
	}),
	broken("an answer that ends before its last chunk", after, func(_ *wire, c *cut) {
		c.write(jsonHead + "Transfer-Encoding: chunked\r\n\r\n1b\r\n{\"error\":\"invalid_request\"}\r\n")
		_ = c.Close()
	}),
	broken("an answer that does not begin", after, func(w *wire, _ *cut) { <-w.ended }),
	broken("a head that comes byte by byte", after, func(_ *wire, c *cut) { drip(c, jsonHead, "X") }),
	broken("a body that comes byte by byte", after, func(_ *wire, c *cut) { drip(c, jsonHead+"Content-Length: 500\r\n\r\n", " ") }),
	broken("1xx without an end", after, func(_ *wire, c *cut) {
		drip(c, "", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 8))
	}),
	broken("a head of a megabyte", after, func(_ *wire, c *cut) {
		c.write(jsonHead + strings.Repeat("X-Bomb: "+strings.Repeat("a", 1000)+"\r\n", 1000) + "\r\n")
	}),
	broken("no HTTP", after, func(_ *wire, c *cut) { c.write("SSH-2.0-OpenSSH_9.9\r\n\r\n") }),
	broken("two different lengths", after, func(_ *wire, c *cut) {
		c.write(jsonHead + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ")
	}),
	broken("a certificate with another key of the same authority", before, func(w *wire, c *cut) {
		w.cert.Store(w.own.issue(w.t))
		c.reset()
	}),

	said("a page of HTML", "something else (status 200)", body("200 OK", "text/html", "<h1>Welcome</h1>")),
	said("JSON as text", "something else (status 403)", body("403 Forbidden", "text/plain", `{"error":"approval_required"}`)),
	said("no JSON", "can't be read", body("403 Forbidden", "application/json", `{"error":`)),
	said("a duplicate member", "can't be read", body("403 Forbidden", "application/json", `{"error":"invalid_request","error":"approval_required"}`)),
	said("a body that is too large", "can't be read", body("403 Forbidden", "application/json", `{"error":"invalid_request","x":"`+strings.Repeat("a", 2<<20)+`"}`)),
	said("a gzip bomb that nobody asked for", "can't be read", "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"+gzipped(4<<20)),
	said("a redirect 301", "never followed", "HTTP/1.1 301 Moved\r\nLocation: https://trap.test/\r\nContent-Length: 0\r\n\r\n"),
	said("a redirect 302", "never followed", "HTTP/1.1 302 Found\r\nLocation: https://shop.test@trap.test/\r\nContent-Length: 0\r\n\r\n"),
	said("a redirect 303", "never followed", "HTTP/1.1 303 See Other\r\nLocation: //trap.test/\r\nContent-Length: 0\r\n\r\n"),
	said("a redirect 307", "never followed", "HTTP/1.1 307 Temporary Redirect\r\nLocation: /poppy/operations\r\nContent-Length: 0\r\n\r\n"),
	said("a redirect 308", "never followed", "HTTP/1.1 308 Permanent Redirect\r\nLocation: https://trap.test/\r\nContent-Length: 0\r\n\r\n"),
}

// An exchange with the endpoint that a network or a broken server spoils, at each of the three places of a round. What has
// no answer is asked again, and an approval with all its members; what has one that says nothing is believed nowhere. The
// client is the one that the agent has, and whatever is dialled is the endpoint: nothing is sent anywhere else.
//
// Clauses: OPS3-4.42, OPS3-4.43, OPS3-7.12
func TestASpoiledExchangeIsRepeatedOrEndsTheRoundHonestly(t *testing.T) {
	const (
		asked   = " operation question answer sending"
		settled = " settled"
	)
	own := newAuthority(t)
	for _, f := range networkFaults {
		seen := f.when == after
		first, once := "", ""
		if seen {
			first, once = " LOOK:r1", " APPROVE:r1:v1"
		}
		for _, place := range []struct {
			name    string
			script  []step
			again   string // what happens when the request is made again
			ends    string // and when not
			outcome Outcome
		}{
			{
				"a fetch", []step{{fault: f}, {answer: terms("v1")}, {answer: recorded}, {answer: state("performed")}},
				"ACT sighting" + first + " LOOK:r1" + asked + " APPROVE:r1:v1 recorded replaying RELOAD replayed LOOK:r1" + settled,
				"ACT sighting LOOK:r1" + settled, Failed,
			},
			{
				"an approval", []step{{answer: terms("v1")}, {fault: f}, {answer: recorded}, {answer: state("performed")}},
				"ACT sighting LOOK:r1" + asked + once + " sending-again APPROVE:r1:v1 recorded replaying RELOAD replayed LOOK:r1" + settled,
				"ACT sighting LOOK:r1" + asked + " APPROVE:r1:v1" + settled, Unknown,
			},
			{
				"a look-up", []step{{answer: terms("v1")}, {answer: recorded}, {fault: f}, {answer: state("performed")}},
				"ACT sighting LOOK:r1" + asked + " APPROVE:r1:v1 recorded replaying RELOAD replayed" + first + " LOOK:r1" + settled,
				"ACT sighting LOOK:r1" + asked + " APPROVE:r1:v1 recorded replaying RELOAD replayed LOOK:r1" + settled, Unknown,
			},
		} {
			t.Run(f.name+"/"+place.name, func(t *testing.T) {
				network := newWire(t, own)
				synctest.Test(t, func(t *testing.T) {
					w := newWorldOn(t, network.client.Transport)
					network.begin(w, place.script)
					defer network.stop()
					w.chrome.script = []page{refused("r1"), done}
					stop := w.answers(yes)
					w.press(w.tab)
					w.must(w.settle())
					stop()
					w.close()
					want, outcome := place.again, Performed
					if !f.again {
						want, outcome = place.ends, place.outcome
					}
					if got := w.trace(); got != want {
						t.Errorf("what happened:\n got %s\nwant %s", got, want)
					}
					if got := w.ops.Outcomes(); len(got) != 1 || got[0] != outcome {
						t.Errorf("outcomes = %v, want %s", got, outcome)
					}
					records := w.disk.records()
					if last := string(records[len(records)-1].Data); !strings.Contains(last, f.why) {
						t.Errorf("the last line is %s, want %q in it", last, f.why)
					}
					sent := w.company.approvals()
					for _, p := range sent {
						if p.approval != sent[0].approval {
							t.Errorf("a retry differs:\n%s\n%s", sent[0].approval, p.approval)
						}
					}
				})
			})
		}
	}
}

// A certificate that another authority issued, for a server that has been good so far: nothing is sent to it, and what became
// of the approval before is not guessed.
func TestNothingIsSentToAServerWhoseCertificateComesToBeAnothers(t *testing.T) {
	network, other := newWire(t, newAuthority(t)), newAuthority(t)
	changed := broken("changed", after, func(w *wire, c *cut) {
		w.cert.Store(other.issue(w.t))
		c.reset()
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorldOn(t, network.client.Transport)
		network.begin(w, []step{{answer: terms("v1")}, {fault: changed}})
		defer network.stop()
		w.chrome.script = []page{refused("r1")}
		stop := w.answers(yes)
		w.press(w.tab)
		w.must(w.settle())
		stop()
		w.close()
		if got, want := w.trace(), approved+"sending-again sending-again sending-again sending-again settled"; got != want {
			t.Errorf("what happened:\n got %s\nwant %s", got, want)
		}
		if got := w.ops.Outcomes(); len(got) != 1 || got[0] != Unknown || len(network.dialled) < 4 {
			t.Errorf("outcomes = %v after %d connections", got, len(network.dialled))
		}
	})
}
