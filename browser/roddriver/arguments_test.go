package roddriver_test

import (
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/go-rod/rod/lib/defaults"
)

// child in the environment has the test's program only be loaded, and tell by its exit status what rod made of its
// arguments.
const child = "RODDRIVER_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		_, marked := os.LookupEnv("DISABLE_ROD_FLAG")
		if defaults.Trace || defaults.Show || defaults.Devtools || defaults.Slow != 0 || defaults.Monitor != "" || defaults.Bin != "" ||
			defaults.URL != "" || defaults.Proxy != "" || defaults.Dir != "" || flag.Lookup("rod") != nil || marked {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestRodDoesNotReadOurArguments loads the program with arguments that rod would take for its own. A word that it does
// not know ends a program in which it reads them.
func TestRodDoesNotReadOurArguments(t *testing.T) {
	t.Parallel()
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{
		{"run", "-rod=nonsense"},
		{"run", "--rod", "nonsense"},
		{"-rod=trace,show,devtools,slow=1s,monitor=:0,bin=/bin/false,url=ws://127.0.0.1:1,proxy=a,dir=b,cdp"},
		{"run", "flow.json", "-rod", "monitor"},
	} {
		cmd := exec.CommandContext(t.Context(), bin, arguments...)
		cmd.Env = []string{child + "=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", arguments, err, out)
		}
	}
}
