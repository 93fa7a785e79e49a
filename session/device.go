package session

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/papaver-agent/papaver/internal/secret"
	"github.com/papaver-agent/papaver/internal/strictjson"
)

const (
	defaultInterval = 5 * time.Second // RFC 8628, section 3.2
	shortInterval   = time.Second
	longInterval    = time.Minute // a longer one would outlast most codes; it is taken for a mistake and cut
	maxUserCode     = 64          // bytes
	maxLink         = 2 << 10     // bytes
)

// DeviceAuthorization is an answer of the device authorization endpoint (RFC 8628, section 3.2; draft 0.1, section 4.6).
type DeviceAuthorization struct {
	// DeviceCode is what the token endpoint is asked with. Nobody is shown it.
	DeviceCode secret.Text
	// UserCode is for the User to type; the Company's own text, of visible ASCII.
	UserCode string
	// VerificationURI is where, an https URL; whose host it names is the caller's to check.
	VerificationURI string
	// VerificationURIComplete is the same with the code in it, an https URL; empty when there is none.
	VerificationURIComplete string
	// Expires is when the codes end.
	Expires time.Time
	// Interval is how long to wait between two token requests.
	Interval time.Duration
}

// Device starts a Device Sign-In for scope.
func (s *Server) Device(ctx context.Context, scope []string) (DeviceAuthorization, error) {
	if s.company.Server.Device == "" {
		return DeviceAuthorization{}, fmt.Errorf("device authorization endpoint: %w", ErrNotOffered)
	}
	at := s.speaker.now()
	data, err := s.exchange(ctx, s.company.Server.Device, func() (url.Values, error) {
		form := url.Values{"scope": {strings.Join(scope, " ")}}
		if s.profile.TokenResource && s.company.Resource != "" {
			form.Set("resource", s.company.Resource)
		}
		return form, nil
	}, nil)
	if err != nil {
		return DeviceAuthorization{}, fmt.Errorf("device authorization endpoint: %w", err)
	}
	d, err := readDevice(data, at)
	if err != nil {
		return DeviceAuthorization{}, fmt.Errorf("device authorization endpoint: %w: %w", ErrUnreadable, err)
	}
	return d, nil
}

func readDevice(data []byte, at time.Time) (DeviceAuthorization, error) {
	var a struct {
		DeviceCode string `json:"device_code"`
		UserCode   string `json:"user_code"`
		URI        string `json:"verification_uri"`
		Complete   string `json:"verification_uri_complete"`
		ExpiresIn  int64  `json:"expires_in"`
		Interval   *int64 `json:"interval"`
	}
	if err := strictjson.Decode(data, strictjson.Limits{Bytes: maxAnswer, Depth: maxAnswerLevels}, &a); err != nil {
		return DeviceAuthorization{}, err
	}
	switch {
	case a.DeviceCode == "" || len(a.DeviceCode) > maxToken || !visible(a.DeviceCode):
		return DeviceAuthorization{}, &memberError{"device_code", "is missing or not one"}
	case a.UserCode == "" || len(a.UserCode) > maxUserCode || !visible(a.UserCode):
		return DeviceAuthorization{}, &memberError{"user_code", "is missing or not one that can be typed"}
	case !isLink(a.URI):
		return DeviceAuthorization{}, &memberError{"verification_uri", "is not an https URL"}
	case a.Complete != "" && !isLink(a.Complete):
		return DeviceAuthorization{}, &memberError{"verification_uri_complete", "is not an https URL"}
	case a.ExpiresIn <= 0:
		return DeviceAuthorization{}, &memberError{"expires_in", "is missing or not greater than 0"}
	case a.Interval != nil && *a.Interval < 0:
		return DeviceAuthorization{}, &memberError{"interval", "is negative"}
	}
	d := DeviceAuthorization{
		DeviceCode: secret.New(a.DeviceCode), UserCode: a.UserCode, VerificationURI: a.URI, VerificationURIComplete: a.Complete,
		Expires: at.Add(seconds(a.ExpiresIn)), Interval: defaultInterval,
	}
	if a.Interval != nil {
		d.Interval = min(max(seconds(*a.Interval), shortInterval), longInterval)
	}
	return d, nil
}

// visible reports whether text is of visible ASCII and single spaces within.
func visible(text string) bool {
	return strings.TrimSpace(text) == text && !strings.Contains(text, "  ") && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// isLink reports whether link is one https address and nothing beside it, that a person may be shown to open.
func isLink(link string) bool {
	u, err := url.Parse(link)
	return err == nil && len(link) <= maxLink && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && visible(link) && !strings.Contains(link, " ")
}
