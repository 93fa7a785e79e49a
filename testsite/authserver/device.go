package authserver

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// userCodeLetters are the letters of user codes: without vowels and look-alikes (RFC 8628, section 6.1).
const userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"

// slowDown is what each slow_down adds to the interval (RFC 8628, section 3.5).
const slowDown = 5 * time.Second

// How a request of the User's stands.
type decision string

const (
	undecided decision = "undecided"
	approved  decision = "approved"
	denied    decision = "denied"
	spent     decision = "spent" // tokens were issued, or the agent was told that there are none
)

// deviceRequest is one Device Sign-In.
type deviceRequest struct {
	code     string // hash of the device code
	userCode string
	client   Client
	scopes   []string
	state    decision
	account  string
	granted  []string
	expires  time.Time
	interval time.Duration
	asked    time.Time
}

// deviceAnswer is the device authorization response (RFC 8628, section 3.2).
type deviceAnswer struct {
	DeviceCode      string `json:"device_code"`
	UserCode        string `json:"user_code"`
	VerificationURI string `json:"verification_uri"`
	Complete        string `json:"verification_uri_complete"`
	ExpiresIn       int64  `json:"expires_in"`
	Interval        int64  `json:"interval"`
}

// deviceEndpoint starts a Device Sign-In (draft 0.1, section 4.6).
func (s *Server) deviceEndpoint(w http.ResponseWriter, r *http.Request) {
	form, client, ok := s.clientForm(w, r)
	if !ok {
		return
	}
	if resource := form.Get("resource"); resource != "" && resource != s.cfg.Resource {
		s.refuse(w, broken(http.StatusBadRequest, "invalid_target", ruleResource, "a resource that isn't this Company's"))
		return
	}
	scopes, ok := readScope(form.Get("scope"), AllScopes().Device)
	if !ok {
		s.refuse(w, broken(http.StatusBadRequest, "invalid_scope", ruleScope, "scopes that a Device Sign-In can't grant"))
		return
	}
	s.mu.Lock()
	code := "dev_" + s.cfg.Fresh(32)
	d := &deviceRequest{
		code: hash(code), userCode: s.userCodeLocked(), client: client, scopes: scopes, state: undecided,
		expires: s.cfg.Now().Add(requestLife), interval: s.cfg.DeviceInterval,
	}
	s.devices = append(s.devices, d)
	s.mu.Unlock()
	page := s.cfg.Issuer + devicePage
	WriteJSON(w, http.StatusOK, deviceAnswer{
		DeviceCode: code, UserCode: d.userCode, VerificationURI: page, Complete: page + "?user_code=" + url.QueryEscape(d.userCode),
		ExpiresIn: int64(requestLife / time.Second), Interval: int64(d.interval / time.Second),
	})
}

// userCodeLocked makes a code that nobody has now.
func (s *Server) userCodeLocked() string {
	for {
		var b strings.Builder
		for _, c := range []byte(s.cfg.Fresh(8)) {
			if b.Len() == 4 {
				b.WriteByte('-')
			}
			b.WriteByte(userCodeLetters[int(c)%len(userCodeLetters)])
		}
		if s.deviceLocked(b.String()) == nil {
			return b.String()
		}
	}
}

// deviceLocked gives the request that waits under a user code, as a person may write it.
func (s *Server) deviceLocked(userCode string) *deviceRequest {
	plain := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(userCode))
	for _, d := range s.devices {
		if strings.ReplaceAll(d.userCode, "-", "") == plain && d.state == undecided && s.cfg.Now().Before(d.expires) {
			return d
		}
	}
	return nil
}

// deviceGrant answers the agent that asks whether the User has finished.
func (s *Server) deviceGrant(client Client, form url.Values, p *proof) (tokenAnswer, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var d *deviceRequest
	for _, each := range s.devices {
		if each.code == hash(form.Get("device_code")) {
			d = each
		}
	}
	now := s.cfg.Now()
	switch {
	case d == nil:
		return tokenAnswer{}, broken(http.StatusBadRequest, "invalid_grant", ruleDeviceOther, "a device code that this Company didn't issue")
	case d.client.ID != client.ID:
		return tokenAnswer{}, broken(http.StatusBadRequest, "invalid_grant", ruleDeviceOther, "a device code of another agent")
	case d.state == spent:
		return tokenAnswer{}, broken(http.StatusBadRequest, "invalid_grant", ruleDeviceEnded, "a question after the end was told")
	case d.state == denied:
		d.state = spent
		return tokenAnswer{}, refused(http.StatusBadRequest, "access_denied")
	case !now.Before(d.expires):
		d.state = spent
		return tokenAnswer{}, refused(http.StatusBadRequest, "expired_token")
	}
	early := !d.asked.IsZero() && now.Sub(d.asked) < d.interval-time.Second/10
	d.asked = now
	if d.state == undecided {
		if early {
			d.interval += slowDown
			return tokenAnswer{}, broken(http.StatusBadRequest, "slow_down", ruleDevicePoll, "a question before the interval was over")
		}
		return tokenAnswer{}, refused(http.StatusBadRequest, "authorization_pending")
	}
	d.state = spent
	return s.finishLocked(client, d.account, d.granted, form, p)
}

// ApproveDevice is the User's approval of a Device Sign-In, of all scopes or of some. It gives the granted scopes; ok is
// false when no request waits under the code, the account is unknown, or scopes holds one that wasn't asked for.
func (s *Server) ApproveDevice(userCode, account string, scopes []string) (granted []string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.deviceLocked(userCode)
	if d == nil {
		return nil, false
	}
	if _, known := s.account(account); !known {
		return nil, false
	}
	if scopes == nil {
		scopes = d.scopes
	}
	if len(scopes) == 0 || len(without(scopes, d.scopes)) > 0 {
		return nil, false
	}
	d.state, d.account, d.granted = approved, account, scopes
	return scopes, true
}

// DenyDevice is the User's refusal. ok is false when no request waits under the code.
func (s *Server) DenyDevice(userCode string) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.deviceLocked(userCode)
	if d == nil {
		return false
	}
	d.state = denied
	return true
}
