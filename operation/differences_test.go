package operation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/papaver-agent/papaver/internal/plaintext"
	"github.com/papaver-agent/papaver/operation"
)

// operationOf makes an operation of a summary and terms.
func operationOf(t *testing.T, summary, terms string) operation.Operation {
	t.Helper()
	parsed, err := operation.ParseTerms([]byte(terms))
	if err != nil {
		t.Fatal(err)
	}
	return operation.Operation{
		ID: "exc_5Rt2", Revision: "r1", Summary: summary, HasSummary: summary != "", Terms: parsed,
		ExpiresAtSent: "2026-10-08T12:20:00-07:00",
	}
}

const (
	jacketSummary = "Exchange the Stormline Jacket (M) on order ord_7Hk2 for the Stormline Insulated Jacket (M), " +
		"for $70.00 more, charged to the card used for the order."
	jacketTerms = `{"order_id":"ord_7Hk2","item_id":"itm_4Qa","replacement_sku":"stormline-insulated-m",` +
		`"price_difference":{"amount":"70.00","currency":"USD"}}`
)

// Clauses: OPS3-5.21
func TestSummaryThatSaysOtherThanTheTermsIsADifference(t *testing.T) {
	tests := []struct {
		name, summary, terms string
		want                 []string
	}{
		{"the specification's example agrees", jacketSummary, jacketTerms, nil},
		{"another amount", strings.Replace(jacketSummary, "70.00", "7.00", 1), jacketTerms,
			[]string{"Differs: the summary says 7.00, the terms say 70.00"}},
		{"no amount in the summary", "Exchange the jacket on order ord_7Hk2.", jacketTerms,
			[]string{"Differs: the terms say 70.00, the summary doesn't"}},
		{"an amount the terms don't have", "Exchange it for $70.00 and a fee of $5.00.", jacketTerms,
			[]string{"Differs: the summary says 5.00, the terms don't"}},
		{"two amounts on each side", "Pay $1.00 and $2.00.", `{"price":"3.00","fee":"4.00"}`, []string{
			"Differs: the summary says 1.00, the terms don't", "Differs: the summary says 2.00, the terms don't",
			"Differs: the terms say 3.00, the summary doesn't", "Differs: the terms say 4.00, the summary doesn't"}},
		{"free in the summary", "Exchange it for $0.00.", `{"price":"70.00"}`,
			[]string{"Differs: the summary says 0.00, the terms say 70.00"}},
		{"another currency", "Exchange it for €70.00.", jacketTerms,
			[]string{"Differs: the summary and the terms name different currencies for 70.00"}},
		{"another currency by its code", "Exchange it for CAD 70.00.", jacketTerms,
			[]string{"Differs: the summary and the terms name different currencies for 70.00"}},
		{"a number the terms don't have", "Cancel with 30 days notice.", `{"subscription":"sub_1"}`,
			[]string{"Differs: the summary says 30, the terms don't"}},
		{"another date", "Ends on November 9, 2026.", `{"ends_on":"2026-12-09"}`,
			[]string{"Differs: the summary says “November 9, 2026”, the terms say “2026-12-09”"}},
		{"the same line once", "It costs $7.00, really $7.00.", `{"item":"a"}`,
			[]string{"Differs: the summary says 7.00, the terms don't"}},
		{"another amount in emphasis", "Pay **$7.00**.", jacketTerms, []string{"Differs: the summary says 7.00, the terms say 70.00"}},
		{"no summary", "", jacketTerms, nil},

		// What must not cry wolf.
		{"no decimals", "For $70 more.", jacketTerms, nil},
		{"code before and after", "USD 70.00, that is 70.00 USD, USD70 or 70USD.", jacketTerms, nil},
		{"thousands", "Pay $1,000.00.", `{"price":"1000.00"}`, nil},
		{"thousands with other marks", "Pay 1.234.567,50 € or 1\u00a0234\u202f567,50 € or CHF 1'234'567.50.", `{"price":1234567.5}`, nil},
		{"thousands without decimals", "Pay $12,500.", `{"price":12500}`, nil},
		{"as in India", "Pay ₹1,00,000.50.", `{"total":"100000.50"}`, nil},
		{"comma as point", "Pay 70,00 €.", `{"total":"70.00"}`, nil},
		{"a refund", "You get $70.00 back.", `{"amount":"-70.00","currency":"USD"}`, nil},
		{"hundredths, said so", "Pay $70.00.", `{"amount_cents":7000}`, nil},
		{"exponent", "Pay $70.", `{"price":7e1}`, nil},
		{"numbers in IDs", "Order ord_7Hk2, SKU-42, v2.1, item #B-9.", `{"x":"y"}`, nil},
		{"numbers in words and times", "2x 1st class at 12:20 or 3 pm, call 555-1234, 42-inch, 3/4.", `{"x":"y"}`, nil},
		{"a number inside a term's text", "Stormline 42 for 2 people.", `{"sku":"stormline-42","guests":"2 adults"}`, nil},
		{"the length of a list", "Return 2 items.", `{"items":["a","b"]}`, nil},
		{"the same date spelled otherwise", "On 8 October 2026, October 8, Oct. 8th, 2026, 2026-10-08 or 10/8/2026.", `{"on":"2026-10-08"}`, nil},
		{"a date in another time zone", "Ends October 9.", `{"ends_at":"2026-10-08T23:30:00-07:00"}`, nil},
		{"a year", "Until 2027.", `{"ends_on":"2027-01-01"}`, nil},
		{"the deadline", "Approve by October 8, 2026.", `{"x":"y"}`, nil},
		{"an identifier that looks like an amount", "Pay $70.00.", `{"price":"70.00","payment_id":"99120","total_nights":3}`, nil},
		{"zero needs no mention", "Pay $70.00.", `{"price":"70.00","fee":"0.00"}`, nil},
		{"keys that only sound like amounts", "Two coffees.", `{"coffee_size":3,"feedback_score":5,"credit_card":"4242","taxi":"7"}`, nil},
		{"emphasis", "Pay **$70.00** or _70.00_ or *$70.00*.", `{"price":"70.00"}`, nil},
		{"key in camel case", "Pay nothing.", `{"unitPrice":"70.00"}`, []string{"Differs: the terms say 70.00, the summary doesn't"}},
		{"the same date in other languages", "Am 8. Oktober 2026, le 8 octobre 2026, el 8 de octubre de 2026, 8 ottobre, 8 oktober.", `{"on":"2026-10-08"}`, nil},
		{"the same date with other marks", "08.10.2026, 8/10/2026, 10/8/2026, 08-10-2026, 2026/10/08, 2026.10.08.", `{"on":"2026-10-08"}`, nil},
		{"another date with full stops", "Am 10.08.2026.", `{"on":"2026-10-08"}`,
			[]string{"Differs: the summary says “10.08.2026”, the terms say “2026-10-08”"}},
		{"another date in March", "Am 9. März 2026.", `{"on":"2026-05-09"}`, []string{"Differs: the summary says “9. März 2026”, the terms say “2026-05-09”"}},
		{"amount paid", "You paid $70.00.", `{"amount_paid":"70.00"}`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := operation.Differences(operationOf(t, test.summary, test.terms), operation.ActFacts{})
			if !cmp.Equal(got, test.want) {
				t.Error(cmp.Diff(test.want, got))
			}
		})
	}
}

// Clauses: OPS3-5.20, OPS3-5.23, OPS3-8.2.07
func TestTermsThatContradictTheActAreADifference(t *testing.T) {
	const terms = `{"orderId":"ord_7Hk2","item":{"sku":"storm-m","quantity":2,"gift":true},"price":{"amount":"70.00","currency":"USD"},` +
		`"notify":["a@x.test","b@x.test"],"ends_on":"2026-10-08","address":{"street":"Main St 1","city":"Berlin"}}`
	tests := []struct {
		name string
		act  operation.ActFacts
		want []string
	}{
		{"the same value", operation.ActFacts{Values: map[string]string{"order_id": "ord_7Hk2"}}, nil},
		{"another value", operation.ActFacts{Values: map[string]string{"order_id": "ord_8", "note": "storm"}},
			[]string{"Differs: the form's “order_id” says “ord_8”, the terms say “ord_7Hk2”"}},
		{"another value of a nested term", operation.ActFacts{Values: map[string]string{"SKU": "storm-l"}},
			[]string{"Differs: the form's “SKU” says “storm-l”, the terms say “storm-m”"}},
		{"a name with its object's", operation.ActFacts{Values: map[string]string{"item[sku]": "storm-l", "item.quantity": "2"}},
			[]string{"Differs: the form's “item[sku]” says “storm-l”, the terms say “storm-m”"}},
		{"the same in other words", operation.ActFacts{Values: map[string]string{
			"amount": "$70", "quantity": "2.0", "gift": "on", "ends-on": "10/8/2026", "sku": " STORM-M ", "notify": "b@x.test", "city": "Berlin"}}, nil},
		{"one of a list", operation.ActFacts{Values: map[string]string{"notify": "c@x.test"}},
			[]string{"Differs: the form's “notify” says “c@x.test”, the terms say “a@x.test”"}},
		{"an empty field gave nothing", operation.ActFacts{Values: map[string]string{"order_id": " "}}, nil},
		{"a field the terms don't know", operation.ActFacts{Values: map[string]string{"csrf": "7f"}, Label: "Berlin"}, nil},
		{"no act", operation.ActFacts{None: true}, []string{"Differs: no act of ours explains this operation"}},
		{"nothing in common", operation.ActFacts{Label: "Delete account", Words: []string{"#delete-account"}},
			[]string{"Differs: the operation shares no word, ID or amount with the act"}},
		{"a word in common", operation.ActFacts{Label: "Notification"}, nil},
		{"an ID in common", operation.ActFacts{Words: []string{"https://shop.test/orders/ord_7Hk2"}}, nil},
		{"an amount in common", operation.ActFacts{Label: "Pay 70.00"}, nil},
		{"a button that says nothing", operation.ActFacts{Label: "Continue"}, nil},
		{"nothing known of the act", operation.ActFacts{}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := operation.Differences(operationOf(t, "", terms), test.act)
			if !cmp.Equal(got, test.want) {
				t.Error(cmp.Diff(test.want, got))
			}
		})
	}
}

func TestAnExchangeOfTheJacketIsExplainedByItsForm(t *testing.T) {
	act := operation.ActFacts{
		Label:  "Exchange",
		Values: map[string]string{"item_id": "itm_4Qa", "replacement_sku": "stormline-insulated-m", "csrf": "abc"},
		Words:  []string{"#exchange-form button"},
	}
	if got := operation.Differences(operationOf(t, jacketSummary, jacketTerms), act); len(got) > 0 {
		t.Errorf("differences %q", got)
	}
	act.Values["replacement_sku"] = "stormline-m"
	want := []string{"Differs: the form's “replacement_sku” says “stormline-m”, the terms say “stormline-insulated-m”"}
	if got := operation.Differences(operationOf(t, jacketSummary, jacketTerms), act); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestWritingWithoutSpacesIsComparedByPairs(t *testing.T) {
	op := operationOf(t, "", `{"動作":"ジャケットを交換する"}`)
	if got := operation.Differences(op, operation.ActFacts{Label: "交換"}); len(got) > 0 {
		t.Errorf("differences %q", got)
	}
	if got := operation.Differences(op, operation.ActFacts{Label: "解約"}); len(got) != 1 {
		t.Errorf("differences %q, want one", got)
	}
}

func TestANewRevisionSaysWhatChanged(t *testing.T) {
	got := operation.Revised(
		terms(t, `{"price":{"amount":"70.00"},"seats":2,"gone":"x","note":null}`),
		terms(t, `{"seats":3,"price":{"amount":"75.00","fee":1},"note":"hi"}`))
	want := []string{
		"Differs: “price amount” changed: “70.00” → “75.00”",
		"Differs: “price fee” is new: 1",
		"Differs: “seats” changed: 2 → 3",
		"Differs: “gone” is gone, it was “x”",
		"Differs: “note” changed: null → “hi”",
	}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if got := operation.Revised(terms(t, `{"a":1,"b":2}`), terms(t, `{"b":2,"a":1}`)); got != nil {
		t.Errorf("another order of members: %q", got)
	}
}

func TestDifferencesAreFewAndShort(t *testing.T) {
	var summary, fields strings.Builder
	for i := range 300 {
		summary.WriteString(" $1.")
		summary.WriteString(strings.Repeat("1", 2))
		summary.WriteByte(byte('0' + i%10))
		summary.WriteString(" und 10")
		summary.WriteString(strings.Repeat("7", i%40))
		fields.WriteString(`,1.5`)
	}
	op := operationOf(t, summary.String(), `{"`+strings.Repeat("k", 3_000)+`":[1`+fields.String()+`],"name":"`+strings.Repeat("\\u202e", 500)+`"}`)
	got := operation.Differences(op, operation.ActFacts{Values: map[string]string{"name": strings.Repeat("x", 100_000)}})
	if len(got) != operation.MaxDifferences+1 {
		t.Fatalf("%d lines, want %d", len(got), operation.MaxDifferences+1)
	}
	if last := got[len(got)-1]; !strings.HasSuffix(last, "more that aren't listed") {
		t.Errorf("last line %q", last)
	}
	for _, line := range got {
		if w := plaintext.Width(plaintext.Whole(line)); w > 3*plaintext.QuoteCells+60 {
			t.Errorf("%d cells: %q", w, line)
		}
	}
}

func TestAQuotedValueCannotEndItsQuotation(t *testing.T) {
	op := operationOf(t, "", `{"size":"L”, as you wanted “M"}`)
	got := operation.Differences(op, operation.ActFacts{Values: map[string]string{"size": "M"}, Words: []string{"wanted"}})
	want := []string{"Differs: the form's “size” says “M”, the terms say “L<U+201D>, as you wanted <U+201C>M”"}
	if !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func FuzzDifferences(f *testing.F) {
	f.Add(jacketSummary, jacketTerms, "replacement_sku", "stormline-m")
	f.Add("Pay 1.234,50 € on 31 February 2026, 1'000", `{"a":[{"b":1e999999999},"2026-10-08T00:00:00Z"],"currency":"EUR"}`, "a[b]", "1e9")
	f.Add("\xff$\xc2", `{"“":"”"}`, "“", "\xff")
	f.Fuzz(func(t *testing.T, summary, text, name, value string) {
		parsed, err := operation.ParseTerms([]byte(text))
		if err != nil {
			return
		}
		op := operation.Operation{ID: "a", Revision: "b", Summary: summary, HasSummary: true, Terms: parsed, ExpiresAtSent: "2026-10-08T12:20:00Z"}
		act := operation.ActFacts{Label: value, Values: map[string]string{name: value}}
		lines := operation.Differences(op, act)
		if len(lines) > operation.MaxDifferences+1 {
			t.Fatalf("%d lines", len(lines))
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "Differs: ") {
				t.Fatalf("line %q", line)
			}
		}
		if again := operation.Differences(op, act); !cmp.Equal(lines, again) {
			t.Fatal(cmp.Diff(lines, again))
		}
		if changed := operation.Revised(parsed, parsed); changed != nil {
			t.Fatalf("terms differ from themselves: %q", changed)
		}
	})
}
