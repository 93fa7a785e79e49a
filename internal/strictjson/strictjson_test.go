package strictjson_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/papaver-agent/papaver/internal/strictjson"
)

type inner struct {
	Name string `json:"name"`
}

type document struct {
	Revision string            `json:"revision"`
	Inner    inner             `json:"inner"`
	Optional *inner            `json:"optional"`
	Words    map[string]string `json:"words"`
	Raw      json.RawMessage   `json:"raw"`
}

func TestRefusalsNameTheRule(t *testing.T) {
	tests := []struct {
		name, text string
		want       error
	}{
		{"duplicate member", `{"revision":"a","revision":"b"}`, strictjson.ErrDuplicateMember},
		{"duplicate member by escape", `{"revision":"a","\u0072evision":"b"}`, strictjson.ErrDuplicateMember},
		{"duplicate in an ignored member", `{"other":{"a":1,"a":1}}`, strictjson.ErrDuplicateMember},
		{"duplicate in a raw member", `{"raw":[{"a":1,"a":1}]}`, strictjson.ErrDuplicateMember},
		{"invalid UTF-8 in a string", "{\"revision\":\"\xff\"}", strictjson.ErrInvalidUTF8},
		{"invalid UTF-8 in an ignored name", "{\"\xc3\":1}", strictjson.ErrInvalidUTF8},
		{"overlong encoding", "{\"revision\":\"\xc0\xaf\"}", strictjson.ErrInvalidUTF8},
		{"surrogate in UTF-8", "{\"revision\":\"\xed\xa0\x80\"}", strictjson.ErrInvalidUTF8},
		{"high surrogate alone", `{"revision":"\ud800"}`, strictjson.ErrSyntax},
		{"low surrogate alone", `{"revision":"\udc00"}`, strictjson.ErrSyntax},
		{"surrogates in the wrong order", `{"other":"\udc00\ud800"}`, strictjson.ErrSyntax},
		{"second value", `{}{}`, strictjson.ErrTrailing},
		{"second value on a line of its own", "{}\n{}", strictjson.ErrTrailing},
		{"closing brace too many", `{}}`, strictjson.ErrTrailing},
		{"NUL after the value", "{}\x00", strictjson.ErrTrailing},
		{"nothing", ``, strictjson.ErrSyntax},
		{"only space", ` `, strictjson.ErrSyntax},
		{"byte order mark", "\ufeff{}", strictjson.ErrSyntax},
		{"cut short", `{"revision":"a"`, strictjson.ErrSyntax},
		{"comment", `{/**/}`, strictjson.ErrSyntax},
		{"trailing comma", `{"revision":"a",}`, strictjson.ErrSyntax},
		{"raw newline in a string", "{\"revision\":\"a\nb\"}", strictjson.ErrSyntax},
		{"leading zero", `{"other":01}`, strictjson.ErrSyntax},
		{"NaN", `{"other":NaN}`, strictjson.ErrSyntax},
		{"null document", `null`, strictjson.ErrNull},
		{"null struct", `{"inner":null}`, strictjson.ErrNull},
		{"null map", `{"words":null}`, strictjson.ErrNull},
		{"array for an object", `[]`, strictjson.ErrWrongType},
		{"number for a string", `{"revision":1}`, strictjson.ErrWrongType},
		{"33 levels", strings.Repeat(`[`, 33) + strings.Repeat(`]`, 33), strictjson.ErrTooDeep},
		{"33 levels in an ignored member", `{"other":` + strings.Repeat(`[`, 32) + strings.Repeat(`]`, 32) + `}`, strictjson.ErrTooDeep},
		{"a million open brackets", strings.Repeat(`[`, 1_000_000), strictjson.ErrTooDeep},
		{"more than 1 MiB", `{}` + strings.Repeat(" ", strictjson.MaxBytes), strictjson.ErrTooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got document
			err := strictjson.Decode([]byte(test.text), strictjson.Limits{}, &got)
			var typed *strictjson.Error
			if !errors.As(err, &typed) || !errors.Is(err, test.want) {
				t.Fatalf("error %v (%T), want one that wraps %q", err, err, test.want)
			}
		})
	}
}

func TestNamesMatchByExactCase(t *testing.T) {
	var got document
	text := `{"Revision":"wrong","REVISION":"wrong","revision":"right","inner":{"Name":"wrong"}}`
	if err := strictjson.Decode([]byte(text), strictjson.Limits{}, &got); err != nil {
		t.Fatal(err)
	}
	if want := (document{Revision: "right"}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestUnknownMembersAreIgnoredAndRawOnesKept(t *testing.T) {
	var got document
	text := ` {"other":[1,{"x":null}], "optional":null, "raw": {"b": 1.00, "a":"\u0041"}, "words":{"k":"v"}} ` + "\n"
	if err := strictjson.Decode([]byte(text), strictjson.Limits{}, &got); err != nil {
		t.Fatal(err)
	}
	want := document{Words: map[string]string{"k": "v"}, Raw: json.RawMessage(`{"b": 1.00, "a":"\u0041"}`)}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestLimitsCanOnlyBeLowered(t *testing.T) {
	deep := strings.Repeat(`[`, 32) + strings.Repeat(`]`, 32)
	tests := []struct {
		name   string
		text   string
		limits strictjson.Limits
		want   error
	}{
		{"32 levels", deep, strictjson.Limits{}, nil},
		{"lower depth", `[[1]]`, strictjson.Limits{Depth: 1}, strictjson.ErrTooDeep},
		{"depth reached exactly", `[[1]]`, strictjson.Limits{Depth: 2}, nil},
		{"higher depth is ignored", `[` + deep + `]`, strictjson.Limits{Depth: 1000}, strictjson.ErrTooDeep},
		{"lower size", `[1,2]`, strictjson.Limits{Bytes: 4}, strictjson.ErrTooLarge},
		{"size reached exactly", `[1,2]`, strictjson.Limits{Bytes: 5}, nil},
		{"higher size is ignored", `1` + strings.Repeat(" ", strictjson.MaxBytes), strictjson.Limits{Bytes: 1 << 30}, strictjson.ErrTooLarge},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var v any
			if err := strictjson.Decode([]byte(test.text), test.limits, &v); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func TestErrorsRepeatNothingThatCouldHarmATerminal(t *testing.T) {
	for _, text := range []string{
		"{\"\u202e\\u001b]52\":1,\"\u202e\\u001b]52\":2}",
		`{"words":{"\u001b[31m":1}}`,
		`{"words":{"` + strings.Repeat("k", 100) + `":1}}`,
		"{\"words\":{\"k\":\x1b}}",
	} {
		var got document
		err := strictjson.Decode([]byte(text), strictjson.Limits{}, &got)
		if err == nil {
			t.Fatalf("%q was accepted", text)
		}
		for _, r := range err.Error() {
			if r < ' ' || r > '~' {
				t.Errorf("%q: error %q holds %U", text, err, r)
			}
		}
		if len(err.Error()) > 160 {
			t.Errorf("%q: error of %d bytes", text, len(err.Error()))
		}
	}
}

func TestErrorNamesThePlaceOfAWrongValue(t *testing.T) {
	var got document
	err := strictjson.Decode([]byte(`{"inner":{"name":7}}`), strictjson.Limits{}, &got)
	var typed *strictjson.Error
	if !errors.As(err, &typed) || typed.Path != "/inner/name" {
		t.Errorf("error %v, want the path /inner/name", err)
	}
}

func TestReaderIsReadNoFurtherThanOneByteOverTheLimit(t *testing.T) {
	source := strings.NewReader(strings.Repeat(" ", 100))
	if _, err := strictjson.Read(source, strictjson.Limits{Bytes: 10}); !errors.Is(err, strictjson.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
	if read := 100 - source.Len(); read > 11 {
		t.Errorf("%d bytes were read, want at most 11", read)
	}
}

func TestReaderErrorIsNotTheTextsFault(t *testing.T) {
	var v any
	err := strictjson.DecodeReader(iotest.ErrReader(io.ErrClosedPipe), strictjson.Limits{}, &v)
	var typed *strictjson.Error
	if !errors.Is(err, io.ErrClosedPipe) || errors.As(err, &typed) {
		t.Errorf("error %v, want the reader's", err)
	}
	if err := strictjson.DecodeReader(strings.NewReader(`{"a":1}`), strictjson.Limits{}, &v); err != nil {
		t.Error(err)
	}
}

func TestCanonicalSpelling(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"members sorted at every level", `{"b":1,"a":{"d":1,"c":[{"f":1,"e":2}]}}`, `{"a":{"c":[{"e":2,"f":1}],"d":1},"b":1}`},
		{"names sorted by UTF-16 units", `{"` + "\uffff" + `":1,"` + "\U0001F600" + `":2}`, `{"` + "\U0001F600" + `":2,"` + "\uffff" + `":1}`},
		{"names compared unescaped", `{"b":1,"\u0061":2}`, `{"a":2,"b":1}`},
		{"lists keep their order", `[2, 1 ,3]`, `[2,1,3]`},
		{"numbers as sent", `[1.00,1e2,1E+2,-0,0.10,123456789012345678901234567890]`, `[1.00,1e2,1E+2,-0,0.10,123456789012345678901234567890]`},
		{"shortest escapes", `"\u0041\/\u003c\u2028\u001F\u000a\ud83d\ude00\""`, `"A/<` + "\u2028" + `\u001f\n` + "\U0001F600" + `\""`},
		{"no space", " {\t\"a\" :\r\n [ ] } ", `{"a":[]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := strictjson.Canonical([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestCanonicalLeavesItsInputAlone(t *testing.T) {
	text := []byte(`{"b": 1, "a": 2}`)
	if _, err := strictjson.Canonical(text); err != nil {
		t.Fatal(err)
	}
	if string(text) != `{"b": 1, "a": 2}` {
		t.Errorf("input became %s", text)
	}
}

// Whatever order the members are written in, the canonical spelling is one.
func TestCanonicalDoesNotDependOnTheOrderOfMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.String(), 0, 8, rapid.ID[string]).Draw(t, "names")
		write := func(order []string) []byte {
			var b strings.Builder
			b.WriteByte('{')
			for i, name := range order {
				if i > 0 {
					b.WriteByte(',')
				}
				quoted, err := json.Marshal(name)
				if err != nil {
					t.Fatal(err)
				}
				b.Write(quoted)
				b.WriteByte(':')
				b.Write(quoted)
			}
			b.WriteByte('}')
			return []byte(b.String())
		}
		one, err := strictjson.Canonical(write(names))
		if err != nil {
			t.Fatal(err)
		}
		other, err := strictjson.Canonical(write(rapid.Permutation(names).Draw(t, "order")))
		if err != nil {
			t.Fatal(err)
		}
		if string(one) != string(other) {
			t.Fatalf("%s and %s", one, other)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{
		`{"b":1.00,"a":{"c":[true,null,"x"]}}`, `{"a":1,"a":2}`, `"\ud800"`, `[1e400]`, "\xff", `{}{}`, ``, `"\u0041"`,
		strings.Repeat("[", 40),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once, err := strictjson.Canonical(data)
		var v any
		decodeErr := strictjson.Decode(data, strictjson.Limits{}, &v)
		if err != nil {
			var typed *strictjson.Error
			if !errors.As(err, &typed) {
				t.Fatalf("error %T is not ours", err)
			}
			if decodeErr == nil {
				t.Fatalf("decoded, but has no canonical spelling: %v", err)
			}
			return
		}
		// A number can be too large for a Go float, so Decode may still refuse; nothing else may.
		if decodeErr != nil && !errors.Is(decodeErr, strictjson.ErrWrongType) {
			t.Fatalf("canonical, but not decoded: %v", decodeErr)
		}
		twice, err := strictjson.Canonical(once)
		if err != nil || string(twice) != string(once) {
			t.Fatalf("canonical of %q is %q (%v)", once, twice, err)
		}
		if !json.Valid(once) {
			t.Fatalf("%q is not JSON", once)
		}
		if decodeErr == nil {
			var w any
			if err := strictjson.Decode(once, strictjson.Limits{}, &w); err != nil || !cmp.Equal(v, w) {
				t.Fatalf("the canonical spelling means something else: %v %s", err, cmp.Diff(v, w))
			}
		}
	})
}
