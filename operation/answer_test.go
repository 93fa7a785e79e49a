package operation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/internal/strictjson"
	"github.com/papaver-agent/papaver/operation"
)

// Clauses: OPS3-2.16, OPS3-4.51, OPS3-6.59, OPS3-6.87
func TestEachAnswerHasItsKind(t *testing.T) {
	const jsonType, problemType, html = "application/json", "application/problem+json; charset=utf-8", "text/html"
	returned := `{"error":"approval_required","message":"x","status":403,"operation":` + jacket + `}`
	declined := `{"error":"approval_declined","operation_id":"a","revision":"b"}`
	tests := []struct {
		name        string
		status      int
		contentType string
		body        string
		want        operation.AnswerKind
	}{
		{"operation", 403, jsonType, returned, operation.Returned},
		{"operation under another JSON type", 403, problemType, returned, operation.Returned},
		{"operation with another status", 200, jsonType, returned, operation.Other},
		{"operation said to be a page", 403, html, returned, operation.Other},
		{"operation without a type", 403, "", returned, operation.Other},
		{"decline", 403, jsonType, declined, operation.Declined},
		{"decline with another status", 400, jsonType, declined, operation.Other},
		{"recorded", 204, "", "", operation.Recorded},
		{"recorded with a body", 204, jsonType, declined, operation.Recorded},
		{"approved", 200, jsonType, `{"operation_id":"a","status":"approved"}`, operation.Known},
		{"state as a page", 200, html, `{"operation_id":"a","status":"performed"}`, operation.Other},
		{"state as created", 201, jsonType, `{"operation_id":"a","status":"performed"}`, operation.Other},
		{"invalid reference", 400, jsonType, `{"error":"invalid_request","error_description":"x"}`, operation.InvalidReference},
		{"another 400", 400, jsonType, `{"error":"invalid_target"}`, operation.Other},
		{"invalid_request with another status", 403, jsonType, `{"error":"invalid_request"}`, operation.Other},
		{"400 as a page", 400, html, `no`, operation.Other},
		{"challenge", 401, "", "", operation.Challenge},
		{"challenge with a body", 401, jsonType, `{"error":"invalid_token"}`, operation.Challenge},
		{"invalid session", 403, jsonType, `{"error":"invalid_session"}`, operation.InvalidSession},
		{"invalid session as 401", 401, jsonType, `{"error":"invalid_session"}`, operation.InvalidSession},
		{"invalid session as 500", 500, jsonType, `{"error":"invalid_session"}`, operation.Other},
		{"extension required", 403, jsonType, `{"error":"extension_required","extension":"operations"}`, operation.ExtensionRequired},
		{"too many requests", 429, jsonType, `{"error":"invalid_request"}`, operation.Busy},
		{"unavailable", 503, html, `later`, operation.Busy},
		{"server error", 500, jsonType, declined, operation.Other},
		{"redirect", 307, jsonType, declined, operation.Other},
		{"error that is no string", 403, jsonType, `{"error":{"code":"approval_declined"}}`, operation.Other},
		{"Error in another case", 403, jsonType, `{"Error":"approval_declined","operation_id":"a","revision":"b"}`, operation.Other},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := operation.ReadAnswer(test.status, test.contentType, []byte(test.body))
			if got.Kind != test.want || got.Status != test.status {
				t.Errorf("kind %v of %d, want %v (error %v)", got.Kind, got.Status, test.want, err)
			}
			if wantErr := test.name == "operation with another status"; (err != nil) != wantErr {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Clauses: OPS3-4.51
func TestAReturnedOperationIsTheBodysOperation(t *testing.T) {
	got, err := operation.ReadAnswer(403, "application/json", []byte(`{"operation":`+jacket+`,"error":"approval_required"}`))
	if err != nil || got.Operation.ID != "exc_5Rt2" || got.Operation.Terms.Hash() != terms(t, jacketTerms).Hash() {
		t.Errorf("answer %+v, error %v", got, err)
	}
}

// Clauses: OPS3-6.59
func TestOnlyTheThreeStatesAreStates(t *testing.T) {
	for _, state := range []operation.State{operation.Approved, operation.Performing, operation.Performed} {
		got, err := operation.ReadAnswer(200, "application/json", []byte(`{"operation_id":"exc_5Rt2","status":"`+string(state)+`","more":1}`))
		if err != nil || got.Kind != operation.Known || got.State != state || got.OperationID != "exc_5Rt2" {
			t.Errorf("%s: %+v, %v", state, got, err)
		}
	}
	for _, body := range []string{
		`{"operation_id":"exc_5Rt2","status":"Performed"}`, `{"operation_id":"exc_5Rt2","status":"done"}`, `{"operation_id":"exc_5Rt2","status":""}`,
		`{"operation_id":"exc_5Rt2","status":200}`, `{"operation_id":"exc_5Rt2"}`, `{"status":"performed"}`, `{"operation_id":"a b","status":"performed"}`,
		`{"operation_id":"a","operation_id":"exc_5Rt2","status":"performed"}`, `{"operation_id":"a","status":"approved","status":"performed"}`,
		`[]`, `null`, ``, `"performed"`,
	} {
		got, err := operation.ReadAnswer(200, "application/json", []byte(body))
		if !errors.Is(err, operation.ErrUndecodable) || got.Kind != operation.Other || got.State != "" {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

// Clauses: OPS3-6.78, OPS3-6.79
func TestADeclineHoldsWhateverItsExplanationLooksLike(t *testing.T) {
	const start = `{"error":"approval_declined","operation_id":"cls_2Wq8","revision":"r-1"`
	tests := []struct {
		name, more string
		reason     string
		want       *operation.Alternative
	}{
		{"nothing more", ``, "", nil},
		{"the specification's example", `,"reason":"Only the account holder can close this account.","alternative":{` +
			`"instructions":"Use the app.","references":[{"type":"web","url":"https://example.com/account/close"}]}`,
			"Only the account holder can close this account.",
			&operation.Alternative{Instructions: "Use the app.", References: []operation.AlternativePlace{{Type: "web", URL: "https://example.com/account/close"}}}},
		{"a type nobody knows", `,"alternative":{"references":[{"type":"phone","number":"1"},{"type":"web","url":"javascript:alert(1)"}]}`, "",
			&operation.Alternative{References: []operation.AlternativePlace{{Type: "phone"}, {Type: "web", URL: "javascript:alert(1)"}}}},
		{"wrong types", `,"reason":{"x":1},"alternative":"app"`, "", nil},
		{"null", `,"reason":null,"alternative":null`, "", nil},
		{"references of another form", `,"alternative":{"references":{"type":"web"}}`, "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := operation.ReadAnswer(403, "application/json", []byte(start+test.more+`}`))
			if err != nil {
				t.Fatal(err)
			}
			want := operation.Decline{OperationID: "cls_2Wq8", Revision: "r-1", Reason: test.reason, Alternative: test.want}
			if got.Kind != operation.Declined || !cmp.Equal(got.Decline, want) {
				t.Errorf("kind %v: %s", got.Kind, cmp.Diff(want, got.Decline))
			}
		})
	}
}

// A decline that lacks what it must have is an error, and is still no answer after which the approval
// may be sent again.
//
// Clauses: OPS3-6.87
func TestAnUndecodableAnswerSaysWhatItClaimsToBe(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		want       operation.AnswerKind
	}{
		{"decline without a revision", `{"error":"approval_declined","operation_id":"a"}`, 403, operation.Declined},
		{"decline with a number for an ID", `{"error":"approval_declined","operation_id":7,"revision":"b"}`, 403, operation.Declined},
		{"no operation", `{"error":"approval_required"}`, 403, operation.Returned},
		{"null operation", `{"error":"approval_required","operation":null}`, 403, operation.Returned},
		{"operation of two revisions", `{"error":"approval_required","operation":{"revision":"a","revision":"b"}}`, 403, operation.Other},
		{"operation without terms", `{"error":"approval_required","operation":{"operation_id":"a","revision":"b","expires_at":"2026-10-08T12:20:00Z"}}`, 403, operation.Returned},
		{"cut short", `{"error":"approval_required","operation":{`, 403, operation.Other},
		{"challenge", `{"error":`, 401, operation.Challenge},
		{"two errors", `{"error":"approval_required","error":"approval_declined"}`, 403, operation.Other},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := operation.ReadAnswer(test.status, "application/json", []byte(test.body))
			var typed *operation.DecodeError
			if !errors.Is(err, operation.ErrUndecodable) || !errors.As(err, &typed) || got.Kind != test.want {
				t.Errorf("kind %v, want %v; error %v", got.Kind, test.want, err)
			}
			if got.Operation.ID != "" || got.Decline.OperationID != "" {
				t.Errorf("beside the error stands %+v", got)
			}
		})
	}
}

func TestOnlyPlainCodesReachAMessage(t *testing.T) {
	for _, code := range []string{`\u001b[31m`, `two words`, ``, strings.Repeat("x", 65), `é`} {
		got, err := operation.ReadAnswer(403, "application/json", []byte(`{"error":"`+code+`","extension":"`+code+`"}`))
		if err != nil || got.Code != "" || got.Extension != "" {
			t.Errorf("%q: %+v, %v", code, got, err)
		}
	}
	got, err := operation.ReadAnswer(403, "application/json", []byte(`{"error":"extension_required","extension":"operations"}`))
	if err != nil || got.Code != "extension_required" || got.Extension != "operations" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnAnswerOverTheLimitCannotBeDecoded(t *testing.T) {
	body := `{"error":"approval_declined","operation_id":"a","revision":"b","reason":"` + strings.Repeat("x", operation.MaxAnswer) + `"}`
	if _, err := operation.ReadAnswer(403, "application/json", []byte(body)); !errors.Is(err, strictjson.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
}

func FuzzReadAnswer(f *testing.F) {
	f.Add(403, "application/json", []byte(`{"error":"approval_required","operation":`+jacket+`}`))
	f.Add(403, "application/json; x", []byte(`{"error":"approval_declined","operation_id":"a","revision":"b","alternative":{"references":[{}]}}`))
	f.Add(200, "application/json", []byte(`{"operation_id":"a","status":"performed"}`))
	f.Add(204, "", []byte(nil))
	f.Add(400, "text/html", []byte("\xff"))
	f.Fuzz(func(t *testing.T, status int, contentType string, body []byte) {
		got, err := operation.ReadAnswer(status, contentType, body)
		if err != nil {
			if !errors.Is(err, operation.ErrUndecodable) {
				t.Fatalf("error %v isn't ErrUndecodable", err)
			}
			return
		}
		switch got.Kind {
		case operation.Returned:
			if status != 403 || !operation.ValidID(got.Operation.ID) || !operation.ValidID(got.Operation.Revision) {
				t.Fatalf("%d: %+v", status, got)
			}
		case operation.Declined:
			if status != 403 || !operation.ValidID(got.Decline.OperationID) || !operation.ValidID(got.Decline.Revision) {
				t.Fatalf("%d: %+v", status, got)
			}
		case operation.Known:
			if status != 200 || !operation.ValidID(got.OperationID) || got.State == "" {
				t.Fatalf("%d: %+v", status, got)
			}
		case operation.Recorded:
			if status != 204 {
				t.Fatalf("%d: %+v", status, got)
			}
		}
	})
}
