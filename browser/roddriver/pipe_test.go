package roddriver

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/go-rod/rod/lib/cdp"
)

// ends are a pipe and the two files a Chromium would have of it.
func ends(t *testing.T) (p *pipe, commands, says *os.File) {
	t.Helper()
	commands, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, says, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p = newPipe(in, out)
	written := make(chan struct{})
	go func() {
		defer close(written)
		p.write()
	}()
	t.Cleanup(func() {
		p.close()
		<-written
		_ = commands.Close()
		_ = says.Close()
	})
	return p, commands, says
}

func TestMessagesPassInBothDirections(t *testing.T) {
	t.Parallel()
	p, commands, says := ends(t)
	for _, m := range []string{`{"id":1}`, `{"id":2}`} {
		if err := p.Send([]byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	r := bufio.NewReader(commands)
	for _, want := range []string{"{\"id\":1}\x00", "{\"id\":2}\x00"} {
		if got, err := r.ReadString(0); err != nil || got != want {
			t.Errorf("sent %q, %v; want %q", got, err, want)
		}
	}
	long := `{"method":"a.b","params":"` + strings.Repeat("x", 1<<17) + `"}`
	go func() { _, _ = says.WriteString(long + "\x00{\"id\":3}\x00") }()
	for _, want := range []string{long, `{"id":3}`} {
		if got, err := p.Read(); err != nil || string(got) != want {
			t.Errorf("read %d bytes, %v; want %d", len(got), err, len(want))
		}
	}
}

func TestAfterThePipeEndedNothingIsSentAndGoneIsClosed(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{"the end": "", "half a message": `{"id":1}`, "no message": "{]\x00"} {
		p, _, says := ends(t)
		if _, err := says.WriteString(last); err != nil {
			t.Fatal(err)
		}
		if err := says.Close(); err != nil {
			t.Fatal(err)
		}
		if m, err := p.Read(); !errors.Is(err, errLost) {
			t.Errorf("%s: read %q, %v", name, m, err)
		}
		select {
		case <-p.gone:
		default:
			t.Errorf("%s: Gone is not closed", name)
		}
		if err := p.Send([]byte(`{"id":1}`)); !errors.Is(err, errLost) {
			t.Errorf("%s: sent after the end: %v", name, err)
		}
	}
}

func TestAMessageIsReadUpToItsLimit(t *testing.T) {
	t.Parallel()
	for length, fits := range map[int]bool{0: true, 1: true, 8191: true, 8192: true, 8193: false, 20000: false} {
		text := strings.Repeat("x", length)
		got, err := readMessage(bufio.NewReader(strings.NewReader(text+"\x00rest")), 8192)
		if (err == nil) != fits || fits && string(got) != text {
			t.Errorf("%d bytes: read %d, %v", length, len(got), err)
		}
	}
	if _, err := readMessage(bufio.NewReader(strings.NewReader("unended")), 100); !errors.Is(err, io.EOF) {
		t.Errorf("an unended message: %v", err)
	}
}

// FuzzWhatIsReadCanBeDecoded holds what Read lets through against what rod's client does with it: it panics on an error.
func FuzzWhatIsReadCanBeDecoded(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"result":{}}`, `{"id":1,"error":{"code":-32000,"message":"m","data":"d"}}`, `{"method":"a.b","params":{},"sessionId":"s"}`,
		`{"id":"1"}`, `{"id":1,"error":"text"}`, `{"method":1}`, `{"sessionId":{}}`, `[]`, `null`, ``, `{"ID":1,"id":2.5}`, `{"id":1}{"id":2}`, `{"error":null,"result":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		if decodable(message) != nil {
			return
		}
		var id struct {
			ID int `json:"id"`
		}
		if err := errors.Join(json.Unmarshal(message, &id), json.Unmarshal(message, new(cdp.Event)), json.Unmarshal(message, new(cdp.Response))); err != nil {
			t.Errorf("rod cannot decode %q: %v", message, err)
		}
	})
}

// FuzzAnyEventIsTaken gives events to what decodes them.
func FuzzAnyEventIsTaken(f *testing.F) {
	f.Add([]byte(`{"requestId":"r","networkId":"n","request":{"url":"https://a.test/","method":"POST"},"frameId":"f","resourceType":"Fetch","responseStatusCode":403,"responseHeaders":[{"name":"Poppy-Operation","value":"sid=\"s\""}]}`))
	f.Add([]byte(`{"requestId":1}`))
	f.Add([]byte(`{"requestId":"r","responseHeaders":null,"unknown":[1]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, params []byte) {
		p, ok := decodePaused(params)
		if ok && (p.ID == "" || p.Leaving && p.Status != 0) {
			t.Errorf("%q gives %+v", params, p)
		}
	})
}
