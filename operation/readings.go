package operation

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// Reading is what we read in one value of the terms. It is for showing beside the value, in another spelling, and never
// in its place: what is approved are the characters that were sent.
type Reading struct {
	// Amount is a decimal number, its sign included, and Currency the ISO 4217 code that goes for it; both or neither.
	Amount, Currency string
	// Moment is set for a date with a time and a zone (RFC 3339).
	Moment time.Time
	// Days are what a date without a zone can mean, at 00:00 UTC: 10/12/2026 is in October or in December.
	Days []time.Time
}

// plainAmount is a number that needs no reading of its separators.
var plainAmount = regexp.MustCompile(`^[-+]?[0-9]{1,15}(?:\.[0-9]{1,4})?$`)

// Readings returns one Reading for each of Rows, zero where we read nothing.
func (t Terms) Readings() []Reading {
	readings := make([]Reading, len(t.rows))
	currency := t.currencies()
	for i, row := range t.rows {
		if !row.Scalar() || len(row.Value) > maxNumber {
			continue
		}
		if amount, hundredths := isAmount(row.Label, currency[i]); amount && len(currency[i]) == 1 && plainAmount.MatchString(row.Value) {
			readings[i].Amount, readings[i].Currency = row.Value, currency[i][0]
			if hundredths {
				sign := row.Value[:len(row.Value)-len(strings.TrimLeft(row.Value, "-+"))]
				readings[i].Amount = sign + hundredth(strings.TrimLeft(row.Value, "-+"))
			}
			continue
		}
		if row.Kind != String {
			continue
		}
		if at, err := time.Parse(time.RFC3339, strings.ToUpper(row.Value)); err == nil {
			readings[i].Moment = at
			continue
		}
		found, rest := dates(row.Value)
		if len(found) == 1 && !found[0].clock && strings.TrimSpace(rest) == "" {
			readings[i].Days = found[0].whole()
		}
	}
	return readings
}

// whole returns the days that d can be as moments; none when a year isn't said or a day isn't in the calendar.
func (d dated) whole() []time.Time {
	var days []time.Time
	for _, one := range d.days {
		at := time.Date(one.year, time.Month(one.month), one.day, 0, 0, 0, 0, time.UTC)
		if one.year == 0 || at.Day() != one.day {
			continue
		}
		if !slices.ContainsFunc(days, at.Equal) {
			days = append(days, at)
		}
	}
	return days
}

// currencies returns for each row the currency that goes for it: the one that a member beside it names, or beside an
// object or a list around it; none when no member does.
func (t Terms) currencies() [][]string {
	found := make([][]string, len(t.rows))
	stack := [][]string{currencyOf(t.rows, 0)}
	for i, row := range t.rows {
		found[i] = stack[row.Depth]
		if row.Scalar() {
			continue
		}
		inner := currencyOf(t.rows[i+1:], row.Depth+1)
		if inner == nil {
			inner = stack[row.Depth]
		}
		stack = append(stack[:row.Depth+1], inner)
	}
	return found
}

// isAmount says whether the value of a key is an amount, and one in hundredths.
func isAmount(label string, currency []string) (amount, hundredths bool) {
	inKey := keyWords(label)
	last := inKey[strings.LastIndex(inKey, " ")+1:]
	hundredths = last != "" && strings.Contains(minorWords, " "+last+" ")
	amount = !strings.Contains(otherWords, " "+last+" ") && (amountWord.MatchString(inKey) || len(currency) > 0 && last == "value")
	return amount, hundredths
}
