package tui

import (
	"time"

	"github.com/papaver-agent/papaver/approval"
	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/internal/qrcode"
	"github.com/papaver-agent/papaver/signin"
)

// asks is what a sign-in waits for from the keyboard.
type asks int

const (
	asksNothing asks = iota
	asksCallback
	asksCredential
	asksCode
)

// signing is a sign-in under way: what it showed and asked last. It is plain data but for its bridge.
type signing struct {
	bridge *bridge
	kind   signin.Type
	who    companyText
	scopes []scopeText
	ends   time.Time // zero when there is no end to count down to

	url, complete, redirect plaintext.Text
	raw                     string // what a browser opens, and a QR code says; never shown
	code                    plaintext.Text
	paused                  plaintext.Text // why the Company could not be asked
	pause                   time.Duration

	asks     asks
	label    plaintext.Text // quoted
	at, of   int            // the field, from 0, and how many there are
	endpoint plaintext.Text
	sentTo   plaintext.Text // quoted
	refused  plaintext.Text // why what was pasted was not taken
	wrong    bool           // the code before was wrong
	secret   bool           // what is typed is not shown

	sending bool // the Company is waited for
	warned  bool // Esc was pressed once
}

// take takes what the sign-in shows or asks.
func (s *signing) take(c charset, event any) {
	party := func(p signin.Party) {
		s.who = c.company(approval.Company{Domain: p.Domain, Name: p.Name})
		s.scopes = nil
		for _, name := range p.Scope {
			s.scopes = append(s.scopes, c.scope(name, p.Scopes))
		}
	}
	s.asks, s.secret, s.sending, s.refused = asksNothing, false, false, plaintext.Text{}
	switch e := event.(type) {
	case signin.AddressPrompt:
		party(e.Party)
		s.url, s.raw, s.redirect, s.ends = c.whole(e.URL), e.URL, c.whole(e.Redirect), e.Ends
	case callbackAsked:
		s.asks = asksCallback
		if e.refused != nil {
			s.refused = c.whole(e.refused.Error())
		}
	case signin.CodePrompt:
		party(e.Party)
		s.url, s.raw, s.code, s.ends = c.whole(e.URL), e.URL, c.whole(e.UserCode), e.Ends
		if e.Complete != "" {
			s.complete, s.raw = c.whole(e.Complete), e.Complete
		}
	case signin.Waiting:
		s.pause, s.paused = e.Pause, plaintext.Text{}
		if e.Err != nil {
			s.paused = c.whole(e.Err.Error())
		}
	case fieldAsked:
		party(e.prompt.Party)
		f := e.prompt.Fields[e.at]
		name := f.Label
		if name == "" {
			name = f.Name
		}
		s.asks, s.label, s.secret = asksCredential, c.quote(name), f.Secret
		s.at, s.of, s.endpoint = e.at, len(e.prompt.Fields), c.whole(e.prompt.Endpoint)
	case codeAsked:
		party(e.prompt.Party)
		s.asks, s.secret, s.wrong, s.ends, s.sentTo = asksCode, true, e.prompt.Wrong, e.prompt.Ends, plaintext.Text{}
		if e.prompt.SentTo != "" {
			s.sentTo = c.quote(e.prompt.SentTo)
		}
	}
}

// keys is the key table. browser says that the User's own can be opened from here.
func (s *signing) keys(browser bool) []binding {
	stop := binding{[]string{"esc"}, actLeave, "Esc", "stop"}
	if s.warned {
		stop.says = "stop, surely"
	}
	var keys []binding
	if s.asks != asksNothing {
		keys = fieldKeys(true, stop.says)
	} else {
		keys = append(arrowKeys(), stop)
	}
	if browser && s.raw != "" && s.kind != signin.Mediated {
		keys = append(keys, binding{[]string{"ctrl+o"}, actBrowse, "Ctrl+O", wOpenThere})
	}
	return keys
}

// head says who asks for what: the domain first.
func (s *signing) head(w int) []line {
	out := labelled(wCompany, s.who.introduce(), w)
	label := wAccess
	for _, scope := range s.scopes {
		out = append(out, labelled(label, scope.line(), w)...)
		label = repeatSpace(wAccess)
	}
	return out
}

// body is all there is to see, however long. height is the room for it: a QR code stands there only where all of it fits.
func (s *signing) body(p painter, w, height int) []line {
	out := s.head(w)
	out = append(out, line{})
	switch {
	case s.kind == signin.Direct && s.url != (plaintext.Text{}):
		out = append(out, s.direct(w)...)
	case s.kind == signin.Device && s.url != (plaintext.Text{}):
		out = s.device(out, p, w, height)
	case s.asks == asksCredential, s.asks == asksCode:
		out = append(out, s.mediated(w)...)
	}
	switch {
	case s.sending && s.asks == asksNothing:
		out = append(out, flow(line{ours(wCompanyWaits, strong)}, w, nil, nil)...)
	case s.kind == signin.Device && s.paused != (plaintext.Text{}):
		out = append(out, flow(line{ours(wNotAsked, alert), theirs(s.paused, plain)}, w, nil, say("  "))...)
		out = append(out, flow(say(pauseWords(s.pause)), w, nil, nil)...)
	}
	return out
}

// alone is an address on lines of its own, with nothing before or behind it, so that it can be copied.
func alone(t plaintext.Text, w int) []line {
	return append(append([]line{{}}, flow(line{theirs(t, strong)}, w, nil, nil)...), line{})
}

func (s *signing) direct(w int) []line {
	out := flow(say(wOpenDirect), w, nil, nil)
	out = append(out, alone(s.url, w)...)
	out = append(out, flow(line{ours(wCallback1, plain), theirs(s.redirect, plain), ours(wCallback2, plain)}, w, nil, nil)...)
	return out
}

func (s *signing) device(out []line, p painter, w, height int) []line {
	var rest []line
	if s.complete != (plaintext.Text{}) {
		out = append(out, flow(say(wOpenComplete), w, nil, nil)...)
		out = append(out, alone(s.complete, w)...)
		rest = append(flow(say(wOrType), w, nil, nil), alone(s.url, w)...)
	} else {
		out = append(out, flow(say(wOpenAndType), w, nil, nil)...)
		out = append(out, alone(s.url, w)...)
	}
	rest = append(rest, labelled(wCode, line{theirs(s.code, strong)}, w)...)
	rest = append(rest, line{})
	rest = append(rest, flow(line{ours(wOnlyIf1, plain), theirs(s.who.domain, strong), ours(wOnlyIf2, plain)}, w, nil, nil)...)
	if code := p.qr(s.raw, w); len(out)+len(code)+1+len(rest)+2 <= height && len(code) > 0 {
		out = append(append(out, code...), line{})
	}
	return append(out, rest...)
}

func (s *signing) mediated(w int) []line {
	if s.asks == asksCode {
		out := line{theirs(s.who.domain, strong)}
		switch {
		case s.wrong:
			out = line{ours(wWrongCode, alert)}
		case s.sentTo != (plaintext.Text{}):
			out = append(out, ours(wSentCodeTo, plain), theirs(s.sentTo, plain))
		default:
			out = append(out, ours(wSentCode, plain))
		}
		return flow(out, w, nil, nil)
	}
	out := flow(say(wHandOver1), w, nil, nil)
	out = append(out, alone(s.endpoint, w)...)
	return append(out, flow(say(wHandOver2), w, nil, nil)...)
}

// prompt is the line above the field.
func (s *signing) prompt() line {
	switch s.asks {
	case asksCallback:
		return line{ours(wCallbackField, strong)}
	case asksCode:
		return line{ours(wCodeField, strong)}
	default:
		return line{ours(fieldWords(s.at+1, s.of), strong), theirs(s.label, strong)}
	}
}

// qr is a link as a QR code, where the terminal can show one; nothing where it can't.
func (p painter) qr(link string, w int) []line {
	if p.ascii || link == "" {
		return nil
	}
	look := plain
	if p.styles != nil {
		look = inked
	}
	lines, err := qrcode.Lines(link, look == inked)
	if err != nil || len([]rune(lines[0])) > w {
		return nil
	}
	var out []line
	for _, l := range lines {
		out = append(out, line{ours(words(l), look)})
	}
	return out
}
