package profile_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/profile"
)

// row is one row of PROTOCOL 1.0, section 18: what no text at hand states, and where we guess it. When the text of 1.0 is
// here, a wrong row is one changed value, or one place in the code.
type row struct {
	number int
	about  string
	// values are those of V1's fields that are the guess.
	values map[string]any
	// code names the places where a guess that is no value is: PACKAGE.FUNCTION or PACKAGE.TYPE.METHOD.
	code []string
	// not says why nothing of it is built.
	not string
}

type fields = map[string]any

// sectionRows is how many rows the section has.
const sectionRows = 43

// TestEveryGuessAboutVersion1IsNamed lists every guess. All of it may be wrong; nothing in it may be silent.
func TestEveryGuessAboutVersion1IsNamed(t *testing.T) {
	t.Parallel()
	rows := []row{
		{number: 1, about: "the claims of the Session JWT", values: fields{"SessionLife": time.Minute}, code: []string{"session.speaker.claims"}},
		{number: 2, about: "its aud", values: fields{"SessionAudience": profile.AudienceIssuer}},
		{number: 3, about: "it binds neither method nor URL", code: []string{"session.Session.header"}},
		{number: 4, about: "it binds the access token", values: fields{"TokenHash": "ath"}},
		{number: 5, about: "no claim for the Agent ID", code: []string{"session.speaker.claims"}},
		{number: 6, about: "poppy_dlg is a compact JWS", code: []string{"session.delegation.sign"}},
		{number: 7, about: "the delegation", values: fields{"DelegationTyp": "poppy-delegation+jwt", "DelegationLife": time.Hour}, code: []string{"session.delegation.current"}},
		{number: 8, about: "ES256", code: []string{"session.sign"}},
		{number: 9, about: "kid is the delegated key's thumbprint, and there is no jwk", code: []string{"session.delegation.sign"}},
		{number: 10, about: "the join is a form", values: fields{"JoinAssertionField": "assertion", "JoinExtensionsField": "extensions"}, code: []string{"join.Join"}},
		{number: 11, about: "the browser assertion", values: fields{"AssertionTyp": "poppy-browser+jwt", "AssertionSession": "sid"}, code: []string{"session.Session.Assertion"}},
		{number: 12, about: "it is used once and lives a minute", values: fields{"AssertionLife": time.Minute}},
		{number: 13, about: "a signed-in join has the access token in the form", values: fields{"JoinTokenField": "access_token"}},
		{number: 14, about: "redirects after a join", code: []string{"join.landed"}},
		{number: 15, about: "a 4xx or 5xx is no join", code: []string{"join.landed"}},
		{number: 16, about: "when the join is renewed", code: []string{"agent.Visit.staleLocked"}},
		{number: 17, about: "the cookie is the browser's alone", code: []string{"join.Join"}},
		{number: 18, about: "a browser context for each Session", code: []string{"browser.Browser.NewContext"}},
		{number: 19, about: "Poppy-Version is the version's bytes", code: []string{"session.Session.headerFields"}},
		{number: 20, about: "a Company that does not speak our version after all", not: "its answer is an error like others"},
		{number: 21, about: "the version is chosen from a list, else a scalar", code: []string{"company.poppyDocument.versions", "company.checkVersion"}},
		{number: 22, about: "the members of poppy.json, and where the issuer stands", values: fields{"ResourceDocument": true}, code: []string{"company.checkServers", "company.checkSameIssuer"}},
		{number: 23, about: "the metadata lists domain and resource", values: fields{"DomainsMember": "poppy_domains"}, code: []string{"company.checkIssuer", "company.checkResources"}},
		{number: 24, about: "the resource is the domain", values: fields{"ResourceScheme": "https://"}},
		{number: 25, about: "the challenge", code: []string{"session.Session.refusal"}},
		{number: 26, about: "a scope that is missing", code: []string{"session.readError"}},
		{number: 27, about: "invalid_session", code: []string{"session.ServerError.Unwrap", "session.Session.Restart"}},
		{number: 28, about: "extension_required is a 403 with JSON", code: []string{"operation.ReadAnswer", "session.readError"}},
		{number: 29, about: "the characters of IDs", code: []string{"opsweb.validReference"}},
		{number: 30, about: "a Session ID", values: fields{"SessionIDPrefix": "ses_"}, code: []string{"session.New"}},
		{number: 31, about: "a User ID", values: fields{"UserIDPrefix": "usr_"}, code: []string{"session.UserID"}},
		{number: 32, about: "a Session lasts as long as the run", code: []string{"session.New"}},
		{number: 33, about: "how long to wait without a Retry-After", code: []string{"opsweb.round.send", "session.pauses.heard"}},
		{number: 34, about: "an operations endpoint on another origin, without redirects", code: []string{"company.checkOperations", "reach.Reach.Client"}},
		{number: 35, about: "a malformed Poppy-Operation", code: []string{"opsweb.readHeader"}},
		{number: 36, about: "what cannot be shown whole is not approved", code: []string{"operation.Decode"}},
		{number: 37, about: "operations in conversations", not: "there are no conversations yet"},
		{number: 38, about: "references of an unknown type", code: []string{"operation.ReadAnswer"}},
		{number: 39, about: "a listed URL that is not https", code: []string{"company.wantHTTPS"}},
		{number: 40, about: "a protected resource document of another", code: []string{"company.checkResource", "company.checkServers"}},
		{number: 41, about: "operations in another version only", code: []string{"company.checkOperations"}},
		{
			number: 42, about: "versions, scopes and sign-in types in poppy.json", values: fields{"SignInFromMetadata": true, "TokenEndpoints": false},
			code: []string{"company.poppyDocument.versions", "company.checkSignIn", "company.checkMediated"},
		},
		{number: 43, about: "the delegated key signs a join assertion, for the join endpoint", values: fields{"Delegated": true}, code: []string{"session.Session.Assertion"}},
		// Guesses of ours, which have no row there.
		{about: "a client assertion", values: fields{"ClientAssertionAudience": profile.AudienceIssuer, "ClientAssertionLife": time.Minute}},
		{about: "a token is asked for by the Company's resource", values: fields{"TokenResource": true}},
		{about: "token requests don't name the Session", values: fields{"TokenSession": false}},
		{about: "an MCP server takes Bearer tokens", values: fields{"MCPProofs": false}},
		{about: "extensions are declared in requests alone", values: fields{"ExtensionsInMetadata": false}},
		{about: "algorithms of proofs, which 1.0 does not have, and feedback, whose form nothing says", values: fields{"ProofAlgorithm": "", "Feedback": false}},
		{about: "apis and agent.protocols as in draft 0.1", code: []string{"company.checkAPIs", "company.checkConversations"}},
	}
	stated := fields{
		"Version": "1.0", "AnyMinor": false, "DomainRule": profile.DomainExact, "ExtensionShape": profile.ShapeList,
		"OperationsVersion": "3", "References": true, "Start": profile.StartNamed, "Credential": profile.CredentialHeader,
		"SessionTyp": "poppy-session+jwt",
	}
	if numbered := slices.IndexFunc(rows, func(r row) bool { return r.number == 0 }); numbered != sectionRows {
		t.Errorf("%d rows of section 18 are listed, and it has %d", numbered, sectionRows)
	}
	guessed := fields{}
	for i, r := range rows {
		if r.number != i+1 && r.number != 0 {
			t.Errorf("row %d stands at place %d", r.number, i+1)
		}
		if len(r.values)+len(r.code) == 0 && r.not == "" {
			t.Errorf("row %d (%s) has neither a field, nor code, nor a reason", r.number, r.about)
		}
		for name, value := range r.values {
			if _, twice := guessed[name]; twice {
				t.Errorf("%s is guessed twice", name)
			}
			guessed[name] = value
		}
		for _, place := range r.code {
			if !declared(t, place) {
				t.Errorf("row %d (%s): there is no %s", r.number, r.about, place)
			}
		}
	}
	for name := range stated {
		if _, both := guessed[name]; both {
			t.Errorf("%s is both stated and a guess", name)
		}
		guessed[name] = stated[name]
	}
	wantFields(t, profile.V1(), guessed)
}

// TestTheDraftsAreAsTheirTextsAndTheWireSay lists every value of the drafts: of 0.1 as its text says, of 0.2 as it was
// seen on the wire.
func TestTheDraftsAreAsTheirTextsAndTheWireSay(t *testing.T) {
	t.Parallel()
	first := fields{
		"Version":           "0.1",
		"AnyMinor":          true,                               // section 3.1
		"ResourceDocument":  false,                              // section 3
		"ResourceScheme":    "",                                 //
		"DomainRule":        profile.DomainRequested,            // section 3.1
		"DomainsMember":     "poppy_domains",                    // section 3.2
		"ExtensionShape":    profile.ShapeObject,                // section 3.3
		"OperationsVersion": "1",                                // Operations v1, section 2
		"References":        false, "SignInFromMetadata": false, // Operations v1, section 2; section 4.4
		"ExtensionsInMetadata": true,                          // section 4.1
		"TokenEndpoints":       true,                          // section 3.2
		"ProofAlgorithm":       "",                            // section 4.3 names none
		"Feedback":             false,                         //
		"Start":                profile.StartToken,            // section 4.2
		"Credential":           profile.CredentialDPoP,        // section 4.3
		"SessionTyp":           "JWT",                         // seen
		"SessionAudience":      profile.AudienceTokenEndpoint, // section 4.2
		"SessionLife":          time.Minute,                   // section 4.2's example
		"TokenSession":         true,                          // section 4.2
		"TokenHash":            "",                            // the proof has it
		"TokenResource":        false,                         // section 4.3
		"MCPProofs":            false,                         // section 4.3
		"Delegated":            false, "DelegationTyp": "", "DelegationLife": time.Duration(0),
		"ClientAssertionAudience": profile.AudienceEndpoint, // seen
		"ClientAssertionLife":     time.Minute,              // seen
		"SessionIDPrefix":         "",                       // the Company names it
		"UserIDPrefix":            "usr_",                   // section 4.2's example
		"AssertionTyp":            "poppy-browser+jwt",      // section 5
		"AssertionSession":        "session_id",             // section 5
		"AssertionLife":           time.Minute,              // section 5
		"JoinAssertionField":      "assertion",              // section 5
		"JoinExtensionsField":     "", "JoinTokenField": "", // section 5
	}
	wantFields(t, profile.V01(), first)
	second := fields{
		"Version": "0.2", "AnyMinor": false, "DomainRule": profile.DomainServing, "ProofAlgorithm": "ES256", "Feedback": true,
		"MCPProofs":       true,
		"SessionAudience": profile.AudienceIssuer, "ClientAssertionAudience": profile.AudienceIssuer,
	}
	for name, value := range first {
		if _, differs := second[name]; !differs {
			second[name] = value
		}
	}
	wantFields(t, profile.V02(), second)
}

// wantFields compares every field of p; one that is not in want is an error too.
func wantFields(t *testing.T, p profile.Profile, want fields) {
	t.Helper()
	v := reflect.ValueOf(p)
	if v.NumField() < len(want) {
		t.Errorf("%s: %d fields are listed, and there are %d", p.Version, len(want), v.NumField())
	}
	for i := range v.NumField() {
		name, got := v.Type().Field(i).Name, v.Field(i).Interface()
		if value, listed := want[name]; !listed {
			t.Errorf("%s: nobody says where the value of %s comes from", p.Version, name)
		} else if !reflect.DeepEqual(got, value) {
			t.Errorf("%s: %s = %v, want %v", p.Version, name, got, value)
		}
	}
}

// declared reports whether place, PACKAGE.FUNCTION or PACKAGE.TYPE.METHOD, is declared outside tests.
func declared(t *testing.T, place string) bool {
	t.Helper()
	folder, name, _ := strings.Cut(place, ".")
	if folder == "reach" {
		folder = filepath.Join("internal", folder)
	}
	receiver, method, isMethod := strings.Cut(name, ".")
	if !isMethod {
		receiver, method = "", name
	}
	files, err := filepath.Glob(filepath.Join("..", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == method && receiverOf(f) == receiver {
				return true
			}
		}
	}
	return false
}

func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	name, _ := of.(*ast.Ident)
	return name.Name
}

// Clauses: OPS3-2.09
func TestExtensionsAreDeclaredAsAListOfOneString(t *testing.T) {
	t.Parallel()
	if got, want := profile.V1().Extensions(), `"operations";v="3"`; got != want {
		t.Errorf("Extensions = %s, want %s", got, want)
	}
}

func TestAForcedProfileSpeaksOtherMinorVersionsOnlyWhereItsDraftSaysSo(t *testing.T) {
	t.Parallel()
	for version, want := range map[string][3]bool{ // 1.0, 0.2, 0.1
		"1.0": {true, false, false}, "0.2": {false, true, true}, "0.1": {false, false, true}, "0.7": {false, false, true}, "0.0": {false, false, true},
		"1.1": {}, "0.1.2": {}, "0": {}, "0.": {}, "0.x": {}, "0.07": {}, "0.-1": {}, "0.+1": {}, " 0.1": {}, "": {}, "0.99999": {},
	} {
		for i, p := range profile.All() {
			if got := p.Speaks(version); got != want[i] {
				t.Errorf("%s speaks %q: %v", p.Version, version, got)
			}
		}
	}
}

func TestAProfileIsFoundByItsVersion(t *testing.T) {
	t.Parallel()
	for _, p := range profile.All() {
		if got, ok := profile.Of(p.Version); !ok || got != p {
			t.Errorf("Of(%q) = %v, %v", p.Version, got, ok)
		}
	}
	if _, ok := profile.Of("0.3"); ok {
		t.Error("0.3 is spoken")
	}
}
