package session_test

import "testing"

// An earlier Session is the same one to its Company: its ID, signed for by the same agent for the same User.
func TestAnEarlierSessionIsNamedAgain(t *testing.T) {
	t.Parallel()
	id, _ := newIdentity(t)
	c := &clock{now: noon}
	now, earlier := newSession(t, id, c.Now), newSession(t, id, c.Now)
	e, err := now.Earlier(earlier.ID())
	if err != nil || e.ID() != earlier.ID() || now.ID() == e.ID() {
		t.Fatalf("%v, %v", e, err)
	}
	token, _, err := verifyChain(header(t, e), published(t, id), "poppy-session+jwt", noon)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"iss": clientID, "sub": "usr_Q7c1vK", "aud": issuer, "sid": earlier.ID()} {
		if token.payload[name] != want {
			t.Errorf("claim %s = %v, want %v", name, token.payload[name], want)
		}
	}
}
