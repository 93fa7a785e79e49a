package operation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/operation"
)

// jacket is the operation of Operations v3, section 3.
const jacket = `{
  "operation_id": "exc_5Rt2",
  "revision": "1791487200-k3Jd9Qx2mW8v",
  "summary": "Exchange the Stormline Jacket (M) on order ord_7Hk2 for the Stormline Insulated Jacket (M), for $70.00 more, charged to the card used for the order.",
  "terms": {
    "order_id": "ord_7Hk2",
    "item_id": "itm_4Qa",
    "replacement_sku": "stormline-insulated-m",
    "price_difference": { "amount": "70.00", "currency": "USD" }
  },
  "expires_at": "2026-10-08T12:20:00-07:00"
}`

func TestTheSpecificationsExampleIsRead(t *testing.T) {
	op, err := operation.Decode([]byte(jacket))
	if err != nil {
		t.Fatal(err)
	}
	if op.ID != "exc_5Rt2" || op.Revision != "1791487200-k3Jd9Qx2mW8v" || !op.HasSummary || op.Summary != jacketSummary {
		t.Errorf("read %+v", op)
	}
	if want := time.Date(2026, 10, 8, 19, 20, 0, 0, time.UTC); !op.ExpiresAt.Equal(want) || op.ExpiresAtSent != "2026-10-08T12:20:00-07:00" {
		t.Errorf("expires at %v (%q), want %v", op.ExpiresAt, op.ExpiresAtSent, want)
	}
	if want := terms(t, jacketTerms).Hash(); op.Terms.Hash() != want {
		t.Errorf("hash %s, want %s", op.Terms.Hash(), want)
	}
}

// Clauses: OPS3-3.02, OPS3-3.11, OPS3-3.14
func TestAnOperationMayLackASummaryAndHaveMembersNobodyKnows(t *testing.T) {
	tests := []struct {
		name, text string
		has        bool
		summary    string
	}{
		{"no summary", `{"operation_id":"a","revision":"b","terms":{"x":1},"expires_at":"2026-10-08T12:20:00Z"}`, false, ""},
		{"null summary", `{"operation_id":"a","revision":"b","summary":null,"terms":{"x":1},"expires_at":"2026-10-08T12:20:00Z"}`, false, ""},
		{"empty summary", `{"operation_id":"a","revision":"b","summary":"","terms":{"x":1},"expires_at":"2026-10-08T12:20:00Z"}`, true, ""},
		{"Markdown in the summary", `{"operation_id":"a","revision":"b","summary":"**bold**\n\n- one","terms":{"x":1},"expires_at":"2026-10-08t12:20:00.5z"}`, true, "**bold**\n\n- one"},
		{"other members", `{"v":3,"Revision":"c","operation_id":"a","revision":"b","terms":{"x":1},"expires_at":"2026-10-08T14:20:00+02:00","state":{"a":[]}}`, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			op, err := operation.Decode([]byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if op.HasSummary != test.has || op.Summary != test.summary || op.Revision != "b" {
				t.Errorf("read %+v", op)
			}
			if at := op.ExpiresAt.Truncate(time.Second); !at.Equal(time.Date(2026, 10, 8, 12, 20, 0, 0, time.UTC)) {
				t.Errorf("expires at %v", op.ExpiresAt)
			}
		})
	}
}

// Clauses: OPS3-3.02, OPS3-3.05, OPS3-3.06
func TestWhatIsNoOperationCannotBeDecoded(t *testing.T) {
	long := strings.Repeat("x", operation.MaxID+1)
	const end = `"expires_at":"2026-10-08T12:20:00Z"}`
	tests := []struct {
		name, text string
		why        error // beside ErrUndecodable; nil for a rule of the specification
	}{
		{"no operation_id", `{"revision":"b","terms":{},` + end, nil},
		{"no revision", `{"operation_id":"a","terms":{},` + end, nil},
		{"no terms", `{"operation_id":"a","revision":"b",` + end, nil},
		{"no expires_at", `{"operation_id":"a","revision":"b","terms":{}}`, nil},
		{"revision by another case", `{"operation_id":"a","Revision":"b","terms":{},` + end, nil},
		{"null operation_id", `{"operation_id":null,"revision":"b","terms":{},` + end, nil},
		{"empty operation_id", `{"operation_id":"","revision":"b","terms":{},` + end, nil},
		{"space in operation_id", `{"operation_id":"a b","revision":"b","terms":{},` + end, nil},
		{"newline behind operation_id", `{"operation_id":"a\n","revision":"b","terms":{},` + end, nil},
		{"dot in revision", `{"operation_id":"a","revision":"b.c","terms":{},` + end, nil},
		{"letter outside ASCII in revision", `{"operation_id":"a","revision":"é","terms":{},` + end, nil},
		{"operation_id of 257 characters", `{"operation_id":"` + long + `","revision":"b","terms":{},` + end, nil},
		{"number for a revision", `{"operation_id":"a","revision":7,"terms":{},` + end, strictjson.ErrWrongType},
		{"number for a summary", `{"operation_id":"a","revision":"b","summary":7,"terms":{},` + end, strictjson.ErrWrongType},
		{"list of terms", `{"operation_id":"a","revision":"b","terms":[{}],` + end, nil},
		{"null terms", `{"operation_id":"a","revision":"b","terms":null,` + end, nil},
		{"string of terms", `{"operation_id":"a","revision":"b","terms":"{}",` + end, nil},
		{"a date for a time", `{"operation_id":"a","revision":"b","terms":{},"expires_at":"2026-10-08"}`, nil},
		{"no zone", `{"operation_id":"a","revision":"b","terms":{},"expires_at":"2026-10-08T12:20:00"}`, nil},
		{"comma before the fraction", `{"operation_id":"a","revision":"b","terms":{},"expires_at":"2026-10-08T12:20:00,5Z"}`, nil},
		{"one digit for the hour", `{"operation_id":"a","revision":"b","terms":{},"expires_at":"2026-10-08T1:20:00Z"}`, nil},
		{"a day that isn't", `{"operation_id":"a","revision":"b","terms":{},"expires_at":"2026-02-30T12:20:00Z"}`, nil},
		{"seconds since 1970", `{"operation_id":"a","revision":"b","terms":{},"expires_at":1791487200}`, strictjson.ErrWrongType},
		{"two revisions", `{"operation_id":"a","revision":"b","revision":"c","terms":{},` + end, strictjson.ErrDuplicateMember},
		{"two amounts", `{"operation_id":"a","revision":"b","terms":{"p":{"a":1,"a":2}},` + end, strictjson.ErrDuplicateMember},
		{"invalid UTF-8 in terms", "{\"operation_id\":\"a\",\"revision\":\"b\",\"terms\":{\"x\":\"\xff\"}," + end, strictjson.ErrInvalidUTF8},
		{"terms 32 levels deep", `{"operation_id":"a","revision":"b","terms":{"x":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `},` + end, strictjson.ErrTooDeep},
		{"something behind it", `{"operation_id":"a","revision":"b","terms":{},` + end + "{}", strictjson.ErrTrailing},
		{"too large", `{"operation_id":"a","revision":"b","terms":{"x":"` + strings.Repeat("x", operation.MaxAnswer) + `"},` + end, strictjson.ErrTooLarge},
		{"too large once escaped", `{"operation_id":"a","revision":"b","terms":{"x":"` + strings.Repeat("<", operation.MaxAnswer/4) + `"},` + end, strictjson.ErrTooLarge},
		{"null", `null`, strictjson.ErrNull},
		{"nothing", ``, strictjson.ErrSyntax},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			op, err := operation.Decode([]byte(test.text))
			var typed *operation.DecodeError
			if !errors.Is(err, operation.ErrUndecodable) || !errors.As(err, &typed) {
				t.Fatalf("error %v, want one of ErrUndecodable", err)
			}
			if test.why != nil && !errors.Is(err, test.why) {
				t.Errorf("error %v, want %v in it", err, test.why)
			}
			if op.ID != "" || op.Revision != "" || !op.Terms.Empty() {
				t.Errorf("beside the error stands %+v", op)
			}
		})
	}
}

// Clauses: OPS3-3.09
func TestARevisionIsKeptByteForByte(t *testing.T) {
	for _, revision := range []string{"9", "10", "1791487200-z", "__--", "-0", strings.Repeat("Z", operation.MaxID)} {
		op, err := operation.Decode(fmt.Appendf(nil, `{"operation_id":"a","revision":%q,"terms":{},"expires_at":"2026-10-08T12:20:00Z"}`, revision))
		if err != nil || op.Revision != revision {
			t.Errorf("revision %q was read as %q (%v)", revision, op.Revision, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(jacket))
	f.Add([]byte(`{"operation_id":"a","revision":"b","terms":{"x":[1e9,null,{"":"\u0000"}]},"expires_at":"2026-10-08T12:20:00Z"}`))
	f.Add([]byte(`{"operation_id":"a","operation_id":"b"}`))
	f.Add([]byte("{\"terms\":{\"\xff\":1}}"))
	f.Add([]byte(strings.Repeat(`{"terms":`, 40)))
	f.Fuzz(func(t *testing.T, data []byte) {
		op, err := operation.Decode(data)
		if err != nil {
			if !errors.Is(err, operation.ErrUndecodable) {
				t.Fatalf("error %v isn't ErrUndecodable", err)
			}
			return
		}
		if !operation.ValidID(op.ID) || !operation.ValidID(op.Revision) || op.ExpiresAt.IsZero() && op.ExpiresAtSent == "" {
			t.Fatalf("read %+v", op)
		}
		form, err := op.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := operation.Decode(form)
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if again.Terms.Hash() != op.Terms.Hash() || again.Summary != op.Summary || again.Revision != op.Revision {
			t.Fatalf("%s came back as %+v", form, again)
		}
		rows := op.Terms.Rows()
		for i, row := range rows {
			if row.Depth > 0 && (i == 0 || row.Depth > rows[i-1].Depth+1) {
				t.Fatalf("row %d is at depth %d without a parent", i, row.Depth)
			}
		}
	})
}
