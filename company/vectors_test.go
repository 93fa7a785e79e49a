package company_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/papaver-agent/papaver/company"
	"github.com/papaver-agent/papaver/internal/reach"
	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/profile"
)

// vector is a case of another implementation, the Python package personal-agent-protocol, which an agent can decide by
// itself. testdata/vectors holds them as they were published, 0.24.0's for draft 0.1 and 0.26.0's for draft 0.2.
type vector struct {
	ID     string          `json:"id"`
	Check  string          `json:"check"`
	Input  json.RawMessage `json:"input"`
	Expect json.RawMessage `json:"expect"`
}

// peerError is what one of the peer's error names is with us.
type peerError struct {
	rule  string // the failed rule
	is    error  // in the error's chain
	words string // a part of what it says, where the two before don't tell it from others
}

// peerErrors is the table that docs/interop-errors.md shows.
var peerErrors = map[string]peerError{
	"organization_domain_mismatch": {"organization.domain is the domain it is at", company.ErrDisagree, ""},
	"unsupported_protocol_version": {"the protocol version is offered", company.ErrVersion, ""},
	"issuer_mismatch":              {"the metadata confirms the issuer", company.ErrDisagree, ""},
	"domain_not_authorized":        {"the metadata lists the domain", company.ErrDisagree, ""},
	"invalid_oauth_metadata":       {"DPoP proofs are taken in an algorithm of ours", company.ErrDisagree, ""},
	"unsafe_url":                   {"poppy.json can be read", company.ErrUnreadable, "redirects to something else than an https URL"},
	"too_many_redirects":           {"poppy.json can be read", company.ErrUnreadable, "more than 3 redirects"},
	"response_too_large":           {"poppy.json can be read", strictjson.ErrTooLarge, ""},
	"metadata_timeout":             {"poppy.json can be read", context.DeadlineExceeded, ""},
	"invalid_content_type":         {"poppy.json can be read", company.ErrUnreadable, "content type"},
	"duplicate_json_member":        {"", strictjson.ErrDuplicateMember, ""},
	"unsafe_address":               {"poppy.json can be read", reach.ErrPrivateAddress, ""},
}

// elsewhere are the checks that discovery does not decide, and why.
var elsewhere = map[string]string{
	"conversation_page":  "conversations are not spoken yet",
	"message_context":    "conversations are not spoken yet",
	"operation":          "operations of version 1 are not spoken yet",
	"extension_required": "it is an API's answer: session's tests decide it",
	"rate_limited":       "it is an API's answer: session's tests decide it",
}

// Clauses: S01-3.02, S01-3.04, S01-3.05, S01-3.2.02, S01-3.2.06, S01-3.2.07, S01-3.3.02, S01-3.3.04, S01-3.3.05, S01-6.02
func TestTheVectorsOfAnotherImplementationAgree(t *testing.T) {
	t.Parallel()
	checks := map[string]func(*testing.T, profile.Profile, vector){
		"discovery": discoveryVector, "discovery_document": documentVector, "extension_negotiation": negotiationVector,
		"extension_names": namesVector, "strict_json": strictVector, "url_safety": addressVector, "pinned_connect": addressVector,
	}
	for version, want := range map[string]struct{ decided, elsewhere int }{"0.1": {28, 5}, "0.2": {38, 6}} {
		text, err := os.ReadFile(filepath.Join("testdata", "vectors", "draft-"+version+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var vectors []vector
		if err := strictjson.Decode(text, strictjson.Limits{}, &vectors); err != nil {
			t.Fatal(err)
		}
		p, _ := profile.Of(version)
		decided, left := 0, 0
		for _, v := range vectors {
			if elsewhere[v.Check] != "" {
				left++
				continue
			}
			decided++
			check, known := checks[v.Check]
			if !known {
				t.Errorf("%s: nobody decides %s", v.ID, v.Check)
				continue
			}
			t.Run(version+"/"+v.ID, func(t *testing.T) { check(t, p, v) })
		}
		if decided != want.decided || left != want.elsewhere {
			t.Errorf("%s: %d vectors were decided and %d are not discovery's, want %d and %d", version, decided, left, want.decided, want.elsewhere)
		}
	}
}

// decode reads a part of a vector; what is not asked for is ignored.
func decode(t *testing.T, raw json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func mustParse(t *testing.T, address string) company.Address {
	t.Helper()
	a, err := company.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func discoveryVector(t *testing.T, p profile.Profile, v vector) {
	var in struct {
		Domain    string  `json:"domain"`
		Timeout   float64 `json:"timeout_seconds"`
		Responses answers `json:"responses"`
	}
	decode(t, v.Input, &in)
	synctest.Test(t, func(t *testing.T) { // a slow host takes no time
		ctx := t.Context()
		if in.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(in.Timeout*float64(time.Second)))
			defer cancel()
		}
		client := &http.Client{Transport: in.Responses, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		judge(t, company.Examine(ctx, client, mustParse(t, in.Domain), company.Options{Profile: &p}), v.Expect)
	})
}

// judge compares a report with what a discovery vector expects.
func judge(t *testing.T, r *company.Report, expect json.RawMessage) {
	t.Helper()
	var want struct {
		Error    string `json:"error"`
		Issuer   string `json:"issuer"`
		Domain   string `json:"organization_domain"`
		Document string `json:"discovery_url"`
	}
	decode(t, expect, &want)
	if want.Error != "" {
		wantPeerError(t, r, want.Error)
		return
	}
	if r.Company == nil {
		t.Fatalf("refused: %v", r.Failure())
	}
	if want.Issuer != "" && r.Company.Issuer != want.Issuer || want.Domain != "" && r.Company.Domain != want.Domain {
		t.Errorf("company %+v", r.Company)
	}
	if want.Document != "" && !strings.Contains(r.Findings[0].Found, want.Document) {
		t.Errorf("poppy.json: %s", r.Findings[0].Found)
	}
}

func wantPeerError(t *testing.T, r *company.Report, name string) {
	t.Helper()
	ours, known := peerErrors[name]
	if !known {
		t.Fatalf("nobody says what %s is with us", name)
	}
	failure := r.Failure()
	if failure == nil {
		t.Fatalf("accepted: %+v", r.Company)
	}
	failed := r.Findings[slices.IndexFunc(r.Findings, func(f company.Finding) bool { return f.Err != nil })]
	if failed.Rule != ours.rule || !errors.Is(failure, ours.is) || !strings.Contains(failure.Error(), ours.words) {
		t.Errorf("%s: %v (rule %q)", name, failure, failed.Rule)
	}
}

// published are the documents of a Company whose poppy.json is given, with metadata that confirms it.
func published(t *testing.T, document any) answers {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var named struct {
		Organization struct {
			Domain string `json:"domain"`
		} `json:"organization"`
		Auth struct {
			Issuer string `json:"issuer"`
		} `json:"auth"`
	}
	decode(t, text, &named)
	metadata, err := json.Marshal(map[string]any{
		"issuer": named.Auth.Issuer, "poppy_domains": []string{named.Organization.Domain},
		"token_endpoint": named.Auth.Issuer + "/token", "revocation_endpoint": named.Auth.Issuer + "/revoke",
	})
	if err != nil {
		t.Fatal(err)
	}
	both, err := json.Marshal(map[string]any{
		"https://" + named.Organization.Domain + "/.well-known/poppy.json": map[string]any{"status": 200, "json": json.RawMessage(text)},
		named.Auth.Issuer + "/.well-known/oauth-authorization-server":      map[string]any{"status": 200, "json": json.RawMessage(metadata)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var list answers
	decode(t, both, &list)
	return list
}

// documentVector is about a poppy.json alone. That what we don't know is kept (its `extra`) is that implementation's
// way; the text says that it is ignored.
func documentVector(t *testing.T, p profile.Profile, v vector) {
	var want struct {
		Valid         bool     `json:"valid"`
		APIs          []string `json:"known_api_types"`
		Conversations string   `json:"conversation_endpoint"`
		Feedback      string   `json:"feedback_endpoint"`
	}
	decode(t, v.Expect, &want)
	r := company.Examine(t.Context(), &http.Client{Transport: published(t, v.Input)}, mustParse(t, "example.com"), company.Options{Profile: &p})
	if (r.Company != nil) != want.Valid {
		t.Fatalf("valid = %v: %v", r.Company != nil, r.Failure())
	}
	if !want.Valid {
		return
	}
	var types []string
	for _, api := range r.Company.APIs {
		types = append(types, api.Type)
	}
	conversations, feedback := r.Company.Conversations, r.Company.Feedback
	if want.APIs != nil && !slices.Equal(types, want.APIs) || want.Conversations != "" && conversations != want.Conversations || want.Feedback != "" && feedback != want.Feedback {
		t.Errorf("company %+v", r.Company)
	}
}

// listing examines a Company that lists these extensions.
func listing(t *testing.T, p profile.Profile, extensions json.RawMessage) *company.Report {
	t.Helper()
	document := map[string]any{
		"protocol_version": p.Version, "organization": map[string]any{"name": "Example", "domain": "example.com"},
		"auth": map[string]any{"issuer": "https://auth.example.com"}, "extensions": extensions,
	}
	return company.Examine(t.Context(), &http.Client{Transport: published(t, document)}, mustParse(t, "example.com"), company.Options{Profile: &p})
}

func negotiationVector(t *testing.T, p profile.Profile, v vector) {
	var in struct {
		Company json.RawMessage `json:"company"`
		Agent   map[string]struct {
			Version string `json:"version"`
		} `json:"agent"`
	}
	decode(t, v.Input, &in)
	var want struct {
		Negotiated map[string]string `json:"negotiated"`
	}
	decode(t, v.Expect, &want)
	if len(in.Agent) != 1 || in.Agent["operations"].Version != p.OperationsVersion {
		t.Fatalf("the vector's agent lists %v, which we don't", in.Agent)
	}
	r := listing(t, p, in.Company)
	if r.Company == nil {
		t.Fatal(r.Failure())
	}
	got := map[string]string{}
	for _, x := range r.Extensions {
		if x.Ours {
			got[x.Name] = p.OperationsVersion
		}
	}
	if !reflect.DeepEqual(got, want.Negotiated) || r.Company.OperationsListed != (len(got) == 1) {
		t.Errorf("negotiated %v, want %v", got, want.Negotiated)
	}
}

func namesVector(t *testing.T, p profile.Profile, v vector) {
	var want struct {
		ThirdParty []string `json:"third_party"`
		Plain      []string `json:"plain"`
		Invalid    []string `json:"invalid"`
	}
	decode(t, v.Expect, &want)
	got := map[company.Origin][]string{}
	for _, x := range listing(t, p, v.Input).Extensions {
		got[x.Origin] = append(got[x.Origin], x.Name)
	}
	if !slices.Equal(got[company.OriginThirdParty], want.ThirdParty) || !slices.Equal(got[company.OriginProtocol], want.Plain) || !slices.Equal(got[company.OriginNone], want.Invalid) {
		t.Errorf("names %v", got)
	}
}

func strictVector(t *testing.T, _ profile.Profile, v vector) {
	var texts []string
	decode(t, v.Input, &texts)
	var want struct {
		Error string `json:"error"`
	}
	decode(t, v.Expect, &want)
	for _, text := range texts {
		var into any
		if err := strictjson.Decode([]byte(text), strictjson.Limits{}, &into); !errors.Is(err, peerErrors[want.Error].is) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if len(texts) == 0 {
		t.Error("the vector has no texts")
	}
}

// addressVector looks where a request for the document would connect to. Nothing is connected to.
func addressVector(t *testing.T, p profile.Profile, v vector) {
	var in struct {
		URL       string         `json:"url"`
		Addresses []netip.Addr   `json:"addresses"`
		Answers   [][]netip.Addr `json:"answers"`
	}
	decode(t, v.Input, &in)
	var want struct {
		Safe     bool         `json:"safe"`
		Error    string       `json:"error"`
		Connects []netip.Addr `json:"connects_to"`
		Lookups  int          `json:"resolutions"`
	}
	decode(t, v.Expect, &want)
	if in.Answers == nil {
		in.Answers = [][]netip.Addr{in.Addresses}
		want.Lookups = 1
	}
	if want.Safe {
		want.Connects = in.Addresses
	}
	lookups := 0
	var dialed []netip.Addr
	down := errors.New("nothing is connected to")
	way, err := reach.New(reach.Config{
		Lookup: func(context.Context, string) ([]netip.Addr, error) {
			lookups++
			return in.Answers[min(lookups, len(in.Answers))-1], nil
		},
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				t.Error(err)
			}
			dialed = append(dialed, to.Addr())
			return nil, down
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(in.URL, "https://"), "/")
	r := company.Examine(t.Context(), way.Client(time.Minute), mustParse(t, host), company.Options{Profile: &p})
	if lookups != want.Lookups || !slices.Equal(dialed, want.Connects) {
		t.Errorf("%d look-ups, connects to %v", lookups, dialed)
	}
	if want.Error != "" {
		wantPeerError(t, r, want.Error)
	} else if !errors.Is(r.Failure(), down) {
		t.Errorf("refused: %v", r.Failure())
	}
}

func TestThePaperAboutTheirErrorsSaysWhatTheTestsSay(t *testing.T) {
	t.Parallel()
	paper, err := os.ReadFile(filepath.Join("..", "docs", "interop-errors.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, ours := range peerErrors {
		line := ""
		for candidate := range strings.Lines(string(paper)) {
			if strings.HasPrefix(candidate, "| `"+name+"`") {
				line = candidate
			}
		}
		if line == "" || name != "unsafe_address" && !strings.Contains(line, ours.rule) || !strings.Contains(line, ours.words) {
			t.Errorf("%s: the paper says %q, the tests %q and %q", name, line, ours.rule, ours.words)
		}
	}
	for check := range elsewhere {
		if !strings.Contains(string(paper), "`"+check+"`") {
			t.Errorf("the paper does not name %s", check)
		}
	}
}
