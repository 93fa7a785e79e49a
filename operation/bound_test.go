package operation_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/papaver-agent/papaver/operation"
)

// longest are the largest texts that an answer can hold, made to cost the comparison as much as they can.
func longest() map[string]operation.Operation {
	many := strings.Repeat("$1.23 12 May 2026, 4/5/2026 ", operation.MaxAnswer/28-100)
	numbers := make([]byte, 0, operation.MaxAnswer)
	for i := 0; len(numbers) < operation.MaxAnswer-1000; i++ {
		numbers = append(append(numbers, " $"...), strconv.Itoa(i)+".07"...)
	}
	of := func(summary, terms string) operation.Operation {
		parsed, err := operation.ParseTerms([]byte(terms))
		if err != nil {
			panic(err)
		}
		return operation.Operation{ID: "op", Revision: "1", Summary: summary, HasSummary: true, Terms: parsed}
	}
	small := `{"amount":"7.00","currency":"USD"}`
	return map[string]operation.Operation{
		"dates and amounts in the summary": of(many, small),
		"amounts in the summary":           of(string(numbers), small),
		"one word":                         of(strings.Repeat("x", operation.MaxAnswer-1000), small),
		"one term":                         of("You pay $7.00.", `{"amount":"`+many+`","currency":"USD"}`),
		"many terms":                       of("You pay $7.00.", `{"amount":[`+strings.Repeat(`"1.23",`, operation.MaxAnswer/7-200)+`"7.00"]}`),
	}
}

func BenchmarkDifferences(b *testing.B) {
	for name, op := range longest() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				operation.Differences(op, operation.ActFacts{Label: "Exchange for $7.00", Values: map[string]string{"amount": "7.00"}})
			}
		})
	}
}

// The question waits for the comparison, so what a Company can make it cost is bounded, and said.
func TestOnlyTheBeginningOfAVeryLongTextIsComparedAndThatIsSaid(t *testing.T) {
	for name, op := range longest() {
		got := operation.Differences(op, operation.ActFacts{})
		last := got[len(got)-1]
		if !strings.Contains(last, "longer than what we compare") && !strings.Contains(last, "more that aren't listed") {
			t.Errorf("%s: the last line is %q", name, last)
		}
	}
	op := longest()["one term"]
	for _, line := range operation.Differences(op, operation.ActFacts{Label: "Pay $9.00"}) {
		if strings.Contains(line, "7.00") || strings.Contains(line, "9.00") {
			t.Errorf("of terms that were not compared whole: %q", line)
		}
	}
}

// Clauses: OPS3-5.20
func TestAnAmountOnThePressedControlIsComparedWithTheTerms(t *testing.T) {
	terms, err := operation.ParseTerms([]byte(`{"item":"jacket","price":{"amount":"70.00","currency":"USD"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{
		"Buy the jacket for $7.00": "Differs: the pressed control says 7.00, the terms say 70.00",
		"Buy the jacket for €70":   "Differs: the pressed control and the terms name different currencies for 70",
		"Buy the jacket for $70":   "", "Buy jacket (2 left)": "", "Buy the jacket": "",
	} {
		got := operation.Differences(operation.Operation{Terms: terms}, operation.ActFacts{Label: label})
		if strings.Join(got, "\n") != want {
			t.Errorf("%q: %q, want %q", label, got, want)
		}
	}
}
