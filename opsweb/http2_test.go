package opsweb

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"testing"
	"testing/synctest"
)

// The frames of HTTP/2 that are spoken here (RFC 9113, section 6).
const (
	frameHeaders  = 0x1
	frameReset    = 0x3
	frameSettings = 0x4
	frameGoAway   = 0x7

	protocolError   = 0x1
	refusedStream   = 0x7
	enhanceYourCalm = 0xb
)

func writeFrame(w io.Writer, kind byte, stream uint32, payload ...uint32) {
	frame := binary.BigEndian.AppendUint32(nil, uint32(4*len(payload))<<8|uint32(kind))
	frame = append(frame, 0)
	frame = binary.BigEndian.AppendUint32(frame, stream)
	for _, word := range payload {
		frame = binary.BigEndian.AppendUint32(frame, word)
	}
	_, _ = w.Write(frame)
}

// A server that refuses an HTTP/2 stream says that it did nothing, and a transport then likes to send the request anew by
// itself. Ours are numbered and written down, and their statements are good for once: only we make them again.
//
// Clauses: OPS3-4.44, OPS3-7.12
func TestARefusedHTTP2StreamIsMadeAgainByUsAlone(t *testing.T) {
	own := newAuthority(t)
	for name, refuse := range map[string]func(c *tls.Conn, stream uint32){
		"refused": func(c *tls.Conn, stream uint32) {
			writeFrame(c, frameReset, stream, refusedStream)
			writeFrame(c, frameGoAway, 0, stream, 0)
		},
		"a protocol error": func(c *tls.Conn, stream uint32) { writeFrame(c, frameReset, stream, protocolError) },
		"going away":       func(c *tls.Conn, _ uint32) { writeFrame(c, frameGoAway, 0, 0, 0) },
		"be calm":          func(c *tls.Conn, _ uint32) { writeFrame(c, frameGoAway, 0, 0, enhanceYourCalm) },
	} {
		for place, want := range map[int]string{
			1: "ACT sighting LOOK:r1 operation question answer sending APPROVE:r1:v1 recorded replaying RELOAD replayed LOOK:r1 settled",
			2: "ACT sighting LOOK:r1 operation question answer sending sending-again APPROVE:r1:v1 recorded replaying RELOAD replayed LOOK:r1 settled",
			3: "ACT sighting LOOK:r1 operation question answer sending APPROVE:r1:v1 recorded replaying RELOAD replayed LOOK:r1 settled",
		} {
			t.Run(name, func(t *testing.T) {
				network := newWire(t, own)
				requests := 0
				network.h2At, network.h2 = place, func(c *tls.Conn) {
					if _, err := io.ReadFull(c, make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
						return
					}
					// Both ends may write at once, and a pipe keeps nothing: one reads while it writes.
					network.served.Go(func() { writeFrame(c, frameSettings, 0) })
					for {
						head := make([]byte, 9)
						if _, err := io.ReadFull(c, head); err != nil {
							return
						}
						if _, err := io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(head)>>8)); err != nil {
							return
						}
						if head[3] == frameHeaders {
							requests++
							network.served.Go(func() { refuse(c, binary.BigEndian.Uint32(head[5:])) })
						}
					}
				}
				synctest.Test(t, func(t *testing.T) {
					w := newWorldOn(t, network.client.Transport)
					network.begin(w, []step{{answer: terms("v1")}, {answer: recorded}, {answer: state("performed")}})
					defer network.stop()
					w.chrome.script = []page{refused("r1"), done}
					stop := w.answers(yes)
					w.press(w.tab)
					w.must(w.settle())
					stop()
					w.close()
					if got := w.trace(); got != want {
						t.Errorf("what happened:\n got %s\nwant %s", got, want)
					}
					if got := w.ops.Outcomes(); len(got) != 1 || got[0] != Performed {
						t.Errorf("outcomes = %v", got)
					}
				})
				if requests < 1 {
					t.Error("no request came over HTTP/2")
				}
			})
		}
	}
}
