package quietstart

import (
	"os"
	"testing"
)

func TestDonePutsTheEnvironmentBack(t *testing.T) {
	t.Setenv(variable, mark)
	Done()
	if v, set := os.LookupEnv(variable); set {
		t.Errorf("%s is still %q", variable, v)
	}
}

func TestDoneLeavesTheUsersOwnValue(t *testing.T) {
	t.Setenv(variable, "true")
	Done()
	if v := os.Getenv(variable); v != "true" {
		t.Errorf("%s is %q, want the User's true", variable, v)
	}
}
