package testsite

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/papaver-agent/papaver/testsite/authserver"
	"github.com/papaver-agent/papaver/testsite/wire"
)

// Requests to the operations endpoint (Operations v3, sections 4 and 6).
const (
	maxEndpointBody = 8 << 10 // bytes; a reference has at most 2048 characters
	typSession      = "poppy-session+jwt"
	busyRetry       = time.Second // Retry-After while an operation is being performed
)

// expiryZone is the shop's own time zone: expires_at is an RFC 3339 time with any offset.
var expiryZone = time.FixedZone("", -7*60*60)

// The bodies of the endpoint's answers.
type (
	errorBody struct {
		Error     string         `json:"error"`
		Extension string         `json:"extension,omitempty"`
		Operation *operationBody `json:"operation,omitempty"`
	}
	operationBody struct {
		OperationID string          `json:"operation_id"`
		Revision    string          `json:"revision"`
		Summary     string          `json:"summary"`
		Terms       json.RawMessage `json:"terms"`
		ExpiresAt   string          `json:"expires_at"`
	}
	statusBody struct {
		OperationID string `json:"operation_id"`
		Status      string `json:"status"`
	}
	declineBody struct {
		Error       string       `json:"error"`
		OperationID string       `json:"operation_id"`
		Revision    string       `json:"revision"`
		Reason      string       `json:"reason,omitempty"`
		Alternative *alternative `json:"alternative,omitempty"`
	}
	alternative struct {
		Instructions string         `json:"instructions,omitempty"`
		References   []webReference `json:"references,omitempty"`
	}
	webReference struct {
		Type string `json:"type"`
		URL  string `json:"url"`
	}
)

// endpoint answers the operations endpoint. Its checks come in the order of the specification: the Session header and
// the token (5.3, 7), the version and the extension (3.4), the request, and then the operation's own.
func (s *Site) endpoint(w http.ResponseWriter, r *http.Request) {
	s.noteEarly()
	if s.endpointFault(w, r) {
		return
	}
	if r.Method != http.MethodPost {
		s.record.broken(ruleMethod, "another method than POST")
		w.Header().Set("Allow", http.MethodPost)
		writeJSON(w, http.StatusMethodNotAllowed, errorBody{Error: "invalid_request"})
		return
	}
	session, _, denial := s.credentials(r)
	if denial != nil {
		denial.Write(w)
		return
	}
	if s.limited(w, session.owner.client) || !s.declared(w, r) {
		return
	}
	ref, ok := s.readReference(w, r)
	if !ok {
		return
	}
	lines := r.Header.Values("Poppy-Approval")
	if len(lines) == 0 {
		s.lookUp(w, session, ref)
		return
	}
	given, findings, err := parseApproval(lines, s.now())
	s.record.findings(findings)
	if err != nil {
		// It approves nothing, and saying so is plainer than an answer to a look-up that nobody made.
		writeJSON(w, http.StatusBadRequest, errorBody{Error: "invalid_request"})
		return
	}
	s.approve(w, session, ref, given)
}

// credentials makes the Session header checks, and those of the access token beside it if there is one. The error answers
// are those of PROTOCOL, section 8.
func (s *Site) credentials(r *http.Request) (credential, authserver.Access, *authserver.Denial) {
	deny := func(failed *refusal) (credential, authserver.Access, *authserver.Denial) {
		if failed != nil {
			s.record.broken(failed.rule, failed.seen)
		}
		return credential{}, authserver.Access{}, &authserver.Denial{Status: http.StatusForbidden, Code: "invalid_session"}
	}
	lines := r.Header.Values("Poppy-Session")
	switch {
	case len(lines) == 0:
		return deny(&refusal{ruleSessionMissing, "no Poppy-Session header"})
	case len(lines) > 1:
		return deny(&refusal{ruleSessionTwice, "more than one Poppy-Session header"})
	}
	c, advice, failed := s.verifier.verify(r.Context(), lines[0], expectation{prefix: prefixSession, typ: typSession, audience: s.issuer()})
	for _, a := range advice {
		s.record.broken(a.rule, a.seen)
	}
	if failed != nil {
		return deny(failed)
	}
	if s.auth.EndedSession(c.sid) {
		return deny(nil) // the Company ended it; the agent learns it here
	}
	scheme, token, none, ok := authserver.Credential(r)
	if !none && (!ok || scheme != "bearer") {
		s.record.broken(ruleTwoCredentials, "an Authorization that isn't one Bearer token")
		return credential{}, authserver.Access{}, &authserver.Denial{Status: http.StatusUnauthorized, Code: "invalid_token", Scheme: "Bearer"}
	}
	if failed := boundTo(c, token, prefixSession); failed != nil {
		return deny(failed)
	}
	if none {
		return c, authserver.Access{}, nil
	}
	access, denial := s.auth.Bearer(token, c.owner.client, c.owner.user, c.sid)
	c.owner.account = access.Account
	return c, access, denial
}

// declared checks the version, and that the request declares the extension it wants to use.
func (s *Site) declared(w http.ResponseWriter, r *http.Request) bool {
	if versions := r.Header.Values("Poppy-Version"); len(versions) != 1 || versions[0] != "1.0" {
		s.record.broken(ruleVersion, "Poppy-Version isn't 1.0, once")
		writeJSON(w, http.StatusBadRequest, errorBody{Error: "unsupported_version"})
		return false
	}
	if declared, _ := declaresOperations(r.Header.Values("Poppy-Extensions")); !declared {
		s.record.broken(ruleExtension, "Poppy-Extensions doesn't declare version 3 of operations")
		writeJSON(w, http.StatusForbidden, errorBody{Error: "extension_required", Extension: "operations"})
		return false
	}
	return true
}

// readReference reads the body. Unknown members are ignored.
func (s *Site) readReference(w http.ResponseWriter, r *http.Request) (string, bool) {
	refuse := func(rule, seen string) (string, bool) {
		s.record.broken(rule, seen)
		writeJSON(w, http.StatusBadRequest, errorBody{Error: "invalid_request"})
		return "", false
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return refuse(ruleContentType, "another content type than application/json")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEndpointBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return refuse(ruleBody, "a body that is too large")
	}
	if err != nil {
		return "", false // whoever sent it died or gave up meanwhile, which breaks no rule; nobody reads an answer
	}
	ref, err := parseReference(data)
	switch {
	case errors.Is(err, errRefForm):
		return refuse(ruleRefMalformed, err.Error())
	case err != nil:
		return refuse(ruleBody, err.Error())
	}
	return ref, true
}

// maxRef is the most characters of a reference (Operations v3, section 4).
const maxRef = 2048

// isRef says whether s has the form of a reference.
func isRef(s string) bool {
	return len(s) >= 1 && len(s) <= maxRef && wire.OnlyOf(s, "-_.")
}

// errRefForm says that a reference has the wrong characters or length.
var errRefForm = errors.New("ref isn't a reference")

// parseReference reads the body of an endpoint request. It returns errRefForm for a ref with the wrong characters.
func parseReference(data []byte) (string, error) {
	m, err := wire.Members(data)
	if err != nil {
		return "", err
	}
	ref, ok := wire.Text(m, "ref")
	if !ok {
		return "", errors.New("ref is missing or isn't a string")
	}
	if !isRef(ref) {
		return "", errRefForm
	}
	return ref, nil
}

// lookUp answers a request without an approval.
func (s *Site) lookUp(w http.ResponseWriter, session credential, ref string) {
	s.record.count(func(r *Report) { r.LookUps++ })
	if s.faults.take(func(f *Faults) *int { return &f.ForgetReferences }) {
		writeJSON(w, http.StatusBadRequest, errorBody{Error: "invalid_request"})
		return
	}
	out := s.ops.lookUp(session.owner, session.sid, ref)
	s.record.findings(out.findings)
	s.answer(w, out)
	if out.verdict == verdictOperation {
		if amount, found := takeKeyed(&s.faults, out.op.kind, func(f *Faults) *map[string]string { return &f.Prices }); found {
			s.shop.setPrice(out.op.kind, amount)
		}
	}
}

// approve answers a request with an approval.
func (s *Site) approve(w http.ResponseWriter, session credential, ref string, given approval) {
	out := s.ops.approve(session.owner, ref, given)
	s.record.findings(out.findings)
	s.record.count(func(r *Report) {
		switch {
		case out.first && out.verdict == verdictRecorded:
			r.Recorded++
		case out.first && out.verdict == verdictDeclined:
			r.Declined++
		}
	})
	if out.verdict == verdictRecorded && s.faults.take(func(f *Faults) *int { return &f.LoseAnswers }) {
		cut()
	}
	s.answer(w, out)
}

// answer writes what the operations said.
func (s *Site) answer(w http.ResponseWriter, out answer) {
	switch out.verdict {
	case verdictOperation:
		body := operationBody{
			OperationID: out.op.id, Revision: out.rev.id, Summary: out.rev.offer.summary, Terms: out.rev.offer.terms,
			ExpiresAt: out.rev.expires.In(expiryZone).Format(time.RFC3339),
		}
		if s.faults.take(func(f *Faults) *int { return &f.Undecodable }) {
			writeUndecodable(w, body)
			return
		}
		writeJSON(w, http.StatusForbidden, errorBody{Error: "approval_required", Operation: &body})
	case verdictStatus:
		writeJSON(w, http.StatusOK, statusBody{OperationID: out.op.id, Status: out.status})
	case verdictRecorded:
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNoContent)
	case verdictDeclined:
		writeJSON(w, http.StatusForbidden, declined(out))
	case verdictBusy:
		s.retryAfter(w.Header(), busyRetry)
		writeJSON(w, http.StatusServiceUnavailable, errorBody{Error: "performing"})
	case verdictChallenge:
		s.auth.SignInRequired("").Write(w)
	default:
		writeJSON(w, http.StatusBadRequest, errorBody{Error: "invalid_request"})
	}
}

// declined writes out a decline.
func declined(out answer) declineBody {
	d := out.rev.declined
	body := declineBody{Error: "approval_declined", OperationID: out.op.id, Revision: out.rev.id, Reason: d.Reason}
	if d.Instructions != "" || d.URL != "" {
		body.Alternative = &alternative{Instructions: d.Instructions}
		if d.URL != "" {
			body.Alternative.References = []webReference{{Type: "web", URL: d.URL}}
		}
	}
	return body
}
