package flow_test

import (
	"testing"

	"github.com/papaver-agent/papaver/flow"
)

func TestAFlowsHashTellsFileAndValuesApart(t *testing.T) {
	t.Parallel()
	file := []byte(`{"title":"x"}`)
	same := flow.Hash(file, map[string]string{"a": "1", "b": "2"})
	if got := flow.Hash(file, map[string]string{"b": "2", "a": "1"}); got != same || len(got) != 64 {
		t.Errorf("%s and %s", got, same)
	}
	for name, other := range map[string]string{
		"another file":    flow.Hash([]byte(`{"title":"y"}`), map[string]string{"a": "1", "b": "2"}),
		"another value":   flow.Hash(file, map[string]string{"a": "1", "b": "3"}),
		"a value less":    flow.Hash(file, map[string]string{"a": "1"}),
		"none":            flow.Hash(file, nil),
		"a moved border":  flow.Hash(file, map[string]string{"a": `1"` + "\n" + `"b"="2`}),
		"values as bytes": flow.Hash([]byte(`{"title":"x"}`+"\n"+`"a"="1"`+"\n"+`"b"="2"`), nil),
	} {
		if other == same {
			t.Errorf("%s has the same hash", name)
		}
	}
}
