// Package capture is a page for each way in which a response comes to a browser, and what an agent must make of it: the
// matrix that a capture of Poppy-Operation is held against (Operations v3, section 4).
//
// The rows are in rows.go and nowhere else. A row's page has one control, #go; pressing it has the browser receive a
// response that carries the header, in that row's way. A person opens /capture/ and presses; a suite takes [Rows] and
// drives a browser through all of them.
//
// A row's addresses are below /capture/SID/NAME/, where SID is the Session that the header is to name: page, frame and
// script.js are its documents, r is the answer with the header, blank is nothing. They are served by two hosts, which are
// of different sites for a browser: the Company's own over HTTP/2, and a partner's over HTTP/1.1 alone.
package capture
