package testsite

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// endpointFault answers a request to the endpoint by a fault, if one is set for it.
func (s *Site) endpointFault(w http.ResponseWriter, r *http.Request) bool {
	if s.faults.take(func(f *Faults) *int { return &f.Redirects }) {
		http.Redirect(w, r, s.elsewhereURL(), http.StatusTemporaryRedirect)
		return true
	}
	if s.faults.take(func(f *Faults) *int { return &f.Unavailable }) {
		var wait time.Duration
		s.faults.change(func(f *Faults) { wait = f.RetryAfter })
		s.retryAfter(w.Header(), wait)
		writeJSON(w, http.StatusServiceUnavailable, errorBody{Error: "unavailable"})
		return true
	}
	return false
}

// noteEarly notices a request that came before the last Retry-After was over.
func (s *Site) noteEarly() {
	until := s.notBefore.Load()
	if until != 0 && s.now().UnixNano() < until {
		s.record.broken(ruleEarlyRetry, "a request before Retry-After was over")
		return
	}
	s.notBefore.CompareAndSwap(until, 0)
}

// elsewhere is where the redirects of a faulty endpoint and join lead. Nothing should arrive.
func (s *Site) elsewhere(w http.ResponseWriter, _ *http.Request) {
	s.record.broken(ruleRedirectFollowed, "a request arrived where a redirect led")
	writeJSON(w, http.StatusNotFound, errorBody{Error: "not_found"})
}

// writeUndecodable sends an operation that names its revision twice.
func writeUndecodable(w http.ResponseWriter, body operationBody) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusForbidden)
	quoted := func(s string) []byte { b, _ := json.Marshal(s); return b }
	_, _ = fmt.Fprintf(w, `{"error":"approval_required","operation":{"operation_id":%s,"revision":%s,"revision":"other","summary":%s,"terms":%s,"expires_at":%s}}`,
		quoted(body.OperationID), quoted(body.Revision), quoted(body.Summary), body.Terms, quoted(body.ExpiresAt))
}

// cut ends the connection, or with HTTP/2 the stream, without an answer.
func cut() { panic(http.ErrAbortHandler) }
