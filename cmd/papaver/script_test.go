package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts of testdata/script need no Company and no Chromium.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PAPAVER_HOME", e.WorkDir+"/home")
			return nil
		},
	})
}
