package operation_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/papaver-agent/papaver/operation"
)

func terms(t *testing.T, text string) operation.Terms {
	t.Helper()
	parsed, err := operation.ParseTerms([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// Clauses: OPS3-3.13
func TestRowsLeaveNothingOutAndKeepWhatWasSent(t *testing.T) {
	got := terms(t, `{"b":"text","a":{"n":1.50,"deep":[{"x":true},null,[]],"none":{}},"b2":-0,"":1e400,"\u202e":"a\u001bb"}`).Rows()
	want := []operation.Row{
		{Depth: 0, Label: "b", Value: "text", Kind: operation.String},
		{Depth: 0, Label: "a", Kind: operation.Object},
		{Depth: 1, Label: "n", Value: "1.50", Kind: operation.Number},
		{Depth: 1, Label: "deep", Kind: operation.List},
		{Depth: 2, Label: "1", Kind: operation.Object},
		{Depth: 3, Label: "x", Value: "true", Kind: operation.Bool},
		{Depth: 2, Label: "2", Value: "null", Kind: operation.Null},
		{Depth: 2, Label: "3", Value: "[]", Kind: operation.List},
		{Depth: 1, Label: "none", Value: "{}", Kind: operation.Object},
		{Depth: 0, Label: "b2", Value: "-0", Kind: operation.Number},
		{Depth: 0, Label: "", Value: "1e400", Kind: operation.Number},
		{Depth: 0, Label: "\u202e", Value: "a\x1bb", Kind: operation.String},
	}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestValuesAreTheScalarsAsSent(t *testing.T) {
	got := terms(t, `{"a":{"amount":"70.00"},"n":70.00,"ok":false,"no":null,"l":["x",[]]}`).Values()
	if want := []string{"70.00", "70.00", "false", "x"}; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestTheHashIsThatOfTheMeaning(t *testing.T) {
	base := terms(t, `{"a":1.00,"b":{"c":"x","d":[1,2]}}`)
	// echo -n '{"a":1.00,"b":{"c":"x","d":[1,2]}}' | sha256sum
	if want := "9103b5af161bcaafe51a7dc700cef012d197d2bc828aaf36f4e7a52ad6111f3a"; base.Hash() != want {
		t.Errorf("hash %s, want %s", base.Hash(), want)
	}
	for _, same := range []string{
		`{"b":{"d":[1,2],"c":"x"},"a":1.00}`, " {\n\"a\" : 1.00, \"b\": {\"c\":\"\\u0078\",\"d\":[ 1,2 ]}} ",
	} {
		if got := terms(t, same).Hash(); got != base.Hash() {
			t.Errorf("%s has hash %s, want %s", same, got, base.Hash())
		}
	}
	for _, other := range []string{
		`{"a":1.0,"b":{"c":"x","d":[1,2]}}`, `{"a":"1.00","b":{"c":"x","d":[1,2]}}`, `{"a":1.00,"b":{"c":"x","d":[2,1]}}`,
		`{"a":1.00,"b":{"c":"X","d":[1,2]}}`, `{"a":1.00,"b":{"c":"x","d":[1,2]},"e":null}`, `{"a":1.00,"b":{"c":"x ","d":[1,2]}}`,
	} {
		if terms(t, other).Hash() == base.Hash() {
			t.Errorf("%s has the hash of other terms", other)
		}
	}
}

// aaif-goose/goose#8891: a question that doesn't say what it is that one approves.
func TestTermsWithNothingToReadAreEmpty(t *testing.T) {
	for _, text := range []string{`{}`, `{"item":""}`, `{"item":" \u00a0\u200b"}`, `{"a":null}`, `{"a":{},"b":[[],null,"\u3164\u2800"]}`} {
		if !terms(t, text).Empty() {
			t.Errorf("%s isn't empty", text)
		}
	}
	for _, text := range []string{`{"a":0}`, `{"a":false}`, `{"a":["","x"]}`, `{"a":{"b":"-"}}`} {
		if terms(t, text).Empty() {
			t.Errorf("%s is empty", text)
		}
	}
	if !(operation.Terms{}).Empty() || (operation.Terms{}).Hash() != "" {
		t.Error("the zero value isn't empty")
	}
}

func TestTermsCannotBeChangedThroughWhatTheyReturn(t *testing.T) {
	got := terms(t, `{"a":"x"}`)
	hash := got.Hash()
	copy(got.Raw(), "garbage")
	got.Rows()[0].Value = "y"
	if string(got.Raw()) != `{"a":"x"}` || got.Values()[0] != "x" || got.Hash() != hash {
		t.Errorf("terms became %s", got.Raw())
	}
}

func TestChangesGoValueByValue(t *testing.T) {
	type changes = []operation.Change
	tests := []struct {
		name, old, new string
		want           changes
	}{
		{"none", `{"a":1,"b":{"c":[1]}}`, `{"b":{"c":[1]},"a":1}`, nil},
		{"a value", `{"a":{"b":"1"}}`, `{"a":{"b":"2"}}`,
			changes{{Path: []string{"a", "b"}, Old: "1", New: "2", OldKind: operation.String, NewKind: operation.String}}},
		{"a literal", `{"a":1.0}`, `{"a":1.00}`,
			changes{{Path: []string{"a"}, Old: "1.0", New: "1.00", OldKind: operation.Number, NewKind: operation.Number}}},
		{"a type", `{"a":"1"}`, `{"a":1}`,
			changes{{Path: []string{"a"}, Old: "1", New: "1", OldKind: operation.String, NewKind: operation.Number}}},
		{"a place of a list", `{"a":["x","y"]}`, `{"a":["x","z","w"]}`, changes{
			{Path: []string{"a", "2"}, Old: "y", New: "z", OldKind: operation.String, NewKind: operation.String},
			{Path: []string{"a", "3"}, New: "w", NewKind: operation.String}}},
		{"an object gone", `{"a":{"b":1,"c":{}}}`, `{}`, changes{
			{Path: []string{"a", "b"}, Old: "1", OldKind: operation.Number},
			{Path: []string{"a", "c"}, Old: "{}", OldKind: operation.Object}}},
		{"an object for a value", `{"a":1}`, `{"a":{"b":1}}`, changes{
			{Path: []string{"a"}, Old: "1", OldKind: operation.Number},
			{Path: []string{"a", "b"}, New: "1", NewKind: operation.Number}}},
		{"a value for an object", `{"a":{"b":1}}`, `{"a":1}`, changes{
			{Path: []string{"a", "b"}, Old: "1", OldKind: operation.Number},
			{Path: []string{"a"}, New: "1", NewKind: operation.Number}}},
		{"a list for an object", `{"a":{"1":"x"}}`, `{"a":["x"]}`, changes{
			{Path: []string{"a", "1"}, Old: "x", OldKind: operation.String},
			{Path: []string{"a", "1"}, New: "x", NewKind: operation.String}}},
		{"emptied", `{"a":[1]}`, `{"a":[]}`, changes{
			{Path: []string{"a", "1"}, Old: "1", OldKind: operation.Number},
			{Path: []string{"a"}, New: "[]", NewKind: operation.List}}},
		{"filled", `{"a":{}}`, `{"a":{"b":1}}`, changes{
			{Path: []string{"a"}, Old: "{}", OldKind: operation.Object},
			{Path: []string{"a", "b"}, New: "1", NewKind: operation.Number}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := operation.Changes(terms(t, test.old), terms(t, test.new)); !cmp.Equal(got, test.want) {
				t.Error(cmp.Diff(test.want, got))
			}
		})
	}
}

// Two terms have a change exactly when their hashes differ: what the ledger calls new terms and what the
// User is shown as new are the same thing.
func TestTermsChangeExactlyWhenTheirHashDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := drawTerms(t, "old"), drawTerms(t, "new")
		changed := len(operation.Changes(old, new)) > 0
		if differs := old.Hash() != new.Hash(); changed != differs {
			t.Fatalf("%s and %s: changed %v, hashes differ %v", old.Raw(), new.Raw(), changed, differs)
		}
		if changes := operation.Changes(old, old); changes != nil {
			t.Fatalf("%s differs from itself: %v", old.Raw(), changes)
		}
	})
}

// Every value of a JSON text is in the rows: the text can be had back from them.
func TestTermsCanBeReadBackFromTheirRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawTerms(t, "terms")
		var want any
		if err := json.Unmarshal(drawn.Raw(), &want); err != nil {
			t.Fatal(err)
		}
		if got := rebuild(t, drawn.Rows(), operation.Object); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s reads %v", drawn.Raw(), got)
		}
	})
}

// drawTerms draws small terms of few names and values, so that two of them are often alike.
func drawTerms(t *rapid.T, label string) operation.Terms {
	var value func(depth int) any
	value = func(depth int) any {
		kind := rapid.IntRange(0, 6).Draw(t, label)
		if depth == 0 {
			kind = 5
		} else if depth > 3 {
			kind %= 4
		}
		switch kind {
		case 0:
			return rapid.SampledFrom([]string{"", "x", "1", "[]", "\u202e"}).Draw(t, label)
		case 1:
			return rapid.SampledFrom([]json.Number{"1", "1.0", "-0", "1e2"}).Draw(t, label)
		case 2:
			return rapid.Bool().Draw(t, label)
		case 3:
			return nil
		case 4:
			list := make([]any, rapid.IntRange(0, 2).Draw(t, label))
			for i := range list {
				list[i] = value(depth + 1)
			}
			return list
		}
		object := map[string]any{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "a", "1", "2"}), 0, 2, rapid.ID[string]).Draw(t, label) {
			object[name] = value(depth + 1)
		}
		return object
	}
	text, err := json.Marshal(value(0))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := operation.ParseTerms(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return parsed
}

// rebuild makes the value that rows below one of the given kind hold.
func rebuild(t *rapid.T, rows []operation.Row, kind operation.Kind) any {
	object, list := map[string]any{}, []any{}
	for start := 0; start < len(rows); {
		end := start + 1
		for end < len(rows) && rows[end].Depth > rows[start].Depth {
			end++
		}
		var value any
		switch row := rows[start]; row.Kind {
		case operation.Object, operation.List:
			value = rebuild(t, rows[start+1:end], row.Kind)
		case operation.String:
			value = row.Value
		default:
			if err := json.Unmarshal([]byte(row.Value), &value); err != nil {
				t.Fatal(err)
			}
		}
		object[rows[start].Label] = value
		list = append(list, value)
		start = end
	}
	if kind == operation.List {
		return list
	}
	return object
}

func TestManyTermsCostNoMoreThanTheirBytes(t *testing.T) {
	// One long name over many values: paths that repeated it would take gigabytes.
	many := func(value string) operation.Terms {
		return terms(t, fmt.Sprintf(`{%q:[0%s]}`, strings.Repeat("k", 400_000), strings.Repeat(","+value, 20_000)))
	}
	if got := len(many("1").Rows()); got != 20_002 {
		t.Errorf("%d rows", got)
	}
	if got := len(operation.Changes(many("1"), many("2"))); got != 20_000 {
		t.Errorf("%d changes", got)
	}
	if got := len(operation.Revised(many("1"), many("2"))); got > operation.MaxDifferences+1 {
		t.Errorf("%d lines", got)
	}
}
