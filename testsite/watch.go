package testsite

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/papaver-agent/papaver/testsite/authserver"
	"github.com/papaver-agent/papaver/testsite/capture"
)

// handler answers both names of the Company, and notices credentials where none should be.
func (s *Site) handler() http.Handler {
	shop := s.shopHandler()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.issuerDocument)
	mux.Handle("GET /assets/", http.StripPrefix("/", assets()))
	mux.HandleFunc(elsewherePath, s.elsewhere)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.pages.show(w, http.StatusNotFound, "missing", s.pageOf(r, "Nothing here", nil))
	})
	auth := s.auth.Handler(options(mux))
	return s.watched(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := hostOf(r)
		s.notice(r, host)
		switch host {
		case s.partnerHost():
			s.capture.ServeHTTP(w, r)
		case s.shopHost():
			if strings.HasPrefix(r.URL.Path, capture.Path) {
				s.capture.ServeHTTP(w, r)
				return
			}
			shop.ServeHTTP(w, r)
		case s.issuerHost():
			auth.ServeHTTP(w, r)
		default:
			http.Error(w, "not a host of this Company", http.StatusMisdirectedRequest)
		}
	}))
}

// notice looks at what every request carries, whatever answers it.
func (s *Site) notice(r *http.Request, host string) {
	atEndpoint := host == s.shopHost() && r.URL.Path == endpointPath
	if len(r.Header.Values("Poppy-Session")) > 0 && !s.takesSessionHeader(host, r.URL.Path) {
		s.record.broken(ruleSessionElsewhere, "a Poppy-Session header at a place that is no API and no endpoint for it")
	}
	if !atEndpoint && len(r.Header.Values("Poppy-Approval")) > 0 {
		s.record.broken(ruleApprovalElsewhere, "a Poppy-Approval header at another place than the endpoint")
	}
	if atEndpoint {
		for _, name := range []string{"Cookie", "Origin", "Sec-Fetch-Mode"} {
			if r.Header.Get(name) != "" {
				s.record.broken(ruleBrowserAtEndpoint, "a request to the endpoint with the header "+name)
				break
			}
		}
	}
	if credentialIn(r.URL.RawQuery) || credentialIn(r.URL.Path) || credentialIn(r.Header.Get("Referer")) {
		s.record.broken(ruleCredentialInURL, "a URL or Referer with a token or an assertion")
	}
}

// takesSessionHeader says whether the place is one that a Session header is for: the operations endpoint, the APIs and
// Mediated Sign-In, in 1.0.
func (s *Site) takesSessionHeader(host, path string) bool {
	if s.profile.SessionTokens {
		return false
	}
	if host == s.issuerHost() {
		return path == authserver.MediatedPath || strings.HasPrefix(path, authserver.MediatedPath+"/")
	}
	return path == endpointPath || strings.HasPrefix(path, apiPath+"/")
}

// credentialIn says whether part of a URL holds a compact JWS, or a parameter that is named for a credential.
func credentialIn(part string) bool {
	if part == "" {
		return false
	}
	decoded, err := url.QueryUnescape(part)
	if err != nil {
		decoded = part
	}
	if strings.Contains(decoded, "assertion=") || strings.Contains(decoded, "access_token=") {
		return true
	}
	// A JOSE header is a JSON object, so its base64url begins with "eyJ".
	for _, word := range strings.FieldsFunc(decoded, func(r rune) bool { return r == '&' || r == '=' || r == '/' || r == '?' }) {
		if strings.HasPrefix(word, "eyJ") && strings.Count(word, ".") == 2 {
			return true
		}
	}
	return false
}

// hostOf gives the request's host in lower case without its port.
func hostOf(r *http.Request) string {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(host)
}
