package profile_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/profile"
)

// TestEveryGuessAboutVersion1IsNamed lists what no text at hand states. When the text of 1.0 is here, a wrong row is
// one changed value.
func TestEveryGuessAboutVersion1IsNamed(t *testing.T) {
	t.Parallel()
	guesses := map[string]any{
		"SessionAudience":         profile.AudienceIssuer,
		"SessionLife":             time.Minute,
		"DelegationTyp":           "poppy-delegation+jwt",
		"DelegationLife":          time.Hour,
		"SessionIDPrefix":         "ses_",
		"UserIDPrefix":            "usr_",
		"AssertionTyp":            "poppy-browser+jwt",
		"AssertionLife":           time.Minute,
		"JoinAssertionField":      "assertion",
		"JoinExtensionsField":     "extensions",
		"DomainsMember":           "poppy_domains",
		"ResourceScheme":          "https://",
		"ExtensionsInMetadata":    false,
		"ClientAssertionAudience": profile.AudienceIssuer,
		"ClientAssertionLife":     time.Minute,
		"TokenResource":           true,
		"AssertionSession":        "sid",
		"JoinTokenField":          "access_token",
	}
	stated := map[string]any{
		"Version":           "1.0",
		"OperationsVersion": "3",
		"SessionTyp":        "poppy-session+jwt",
		"AnyMinor":          false,
		"ResourceDocument":  true,
		"DomainRule":        profile.DomainExact,
		"ExtensionShape":    profile.ShapeList,
		"Start":             profile.StartNamed,
		"Credential":        profile.CredentialHeader,
		"Delegated":         true,
	}
	v := reflect.ValueOf(profile.V1())
	for i := range v.NumField() {
		name, got := v.Type().Field(i).Name, v.Field(i).Interface()
		want, guess := guesses[name]
		if !guess {
			var known bool
			if want, known = stated[name]; !known {
				t.Errorf("field %s is neither a listed guess nor a stated value", name)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

// Clauses: OPS3-2.09
func TestExtensionsAreDeclaredAsAListOfOneString(t *testing.T) {
	t.Parallel()
	if got, want := profile.V1().Extensions(), `"operations";v="3"`; got != want {
		t.Errorf("Extensions = %s, want %s", got, want)
	}
}
