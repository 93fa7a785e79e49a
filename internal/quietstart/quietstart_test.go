package quietstart

import (
	"os"
	"testing"
)

// looked are the variables that libraries look at, with what puts each back.
var looked = map[string]func(){variable: Done, rodVariable: RodDone}

func TestDonePutsTheEnvironmentBack(t *testing.T) {
	for name, done := range looked {
		t.Setenv(name, mark)
		done()
		if v, set := os.LookupEnv(name); set {
			t.Errorf("%s is still %q", name, v)
		}
	}
}

func TestDoneLeavesTheUsersOwnValue(t *testing.T) {
	for name, done := range looked {
		t.Setenv(name, "true")
		done()
		if v := os.Getenv(name); v != "true" {
			t.Errorf("%s is %q, want the User's true", name, v)
		}
	}
}

func TestOneLibraryThatIsReadyLeavesTheOthersQuiet(t *testing.T) {
	for name, done := range looked {
		for other := range looked {
			t.Setenv(other, mark)
		}
		done()
		for other := range looked {
			if v := os.Getenv(other); other != name && v != mark {
				t.Errorf("after %s, %s is %q", name, other, v)
			}
		}
	}
}
