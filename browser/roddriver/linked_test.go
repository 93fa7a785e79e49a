package roddriver_test

import (
	"os"
	"strings"
	"testing"
)

// TestNothingOfRodsLauncherIsLinked looks at go.mod, which names every module that the program is built from: rod's
// launcher and its Browser would bring a helper program that is unpacked and run.
func TestNothingOfRodsLauncherIsLinked(t *testing.T) {
	t.Parallel()
	modules, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for module, linked := range map[string]bool{
		"github.com/go-rod/rod": true, "github.com/ysmood/gson": true, // what is used, so that this looks at the right file
		"github.com/ysmood/leakless": false, "github.com/ysmood/fetchup": false, "github.com/ysmood/goob": false,
	} {
		if strings.Contains(string(modules), module+" ") != linked {
			t.Errorf("go.mod names %s: %v", module, !linked)
		}
	}
}
