package operation

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// againstSummary compares the numbers and dates of the summary with those of the terms.
func (c compared) againstSummary() []string {
	summaryDates, rest := dates(c.op.Summary)
	terms := readNumbers(c.op)
	var lines []string
	if !c.termsCut {
		lines = terms.unknownDates(summaryDates)
	}

	var amounts, numbers []mention // those the terms don't have
	for _, m := range mentions(rest) {
		matched, compatible := terms.use(m)
		switch {
		case matched && !compatible:
			lines = append(lines, "the summary and the terms name different currencies for "+m.text)
		case matched:
		case m.amount:
			amounts = append(amounts, m)
		case !slices.ContainsFunc(m.values, func(v string) bool { return terms.loose[v] }):
			numbers = append(numbers, m)
		}
	}
	untold := terms.untold()
	if c.termsCut {
		amounts, numbers = nil, nil
	}
	if c.summaryCut {
		untold = nil
	}
	if len(amounts) == 1 && len(untold) == 1 {
		lines = append(lines, "the summary says "+amounts[0].text+", the terms say "+untold[0].text)
		amounts, untold = nil, nil
	}
	for _, m := range append(amounts, numbers...) {
		lines = append(lines, "the summary says "+m.text+", the terms don't")
	}
	for _, m := range untold {
		lines = append(lines, "the terms say "+m.text+", the summary doesn't")
	}
	return lines
}

// termNumbers is what the numbers and dates of a summary may be found among.
type termNumbers struct {
	values map[string]*termValue
	told   []mention // amounts that a summary should mention: all but zero
	// loose holds whole numbers that stand in the terms in another way: within an ID, as a year, as the
	// length of a list.
	loose map[string]bool
	dates []dated // those of the terms
	days  map[calendarDay][]int
}

// termValue is one number, however often the terms have it.
type termValue struct {
	used       bool     // the summary mentions it
	currencies []string // those it has where it stands
	bare       bool     // somewhere it has none
}

// calendarDay is a date without its year.
type calendarDay struct{ month, day int }

// use marks the numbers of the terms that m can be. compatible is false when all of them have other
// currencies than m.
func (t *termNumbers) use(m mention) (matched, compatible bool) {
	for _, value := range m.values {
		if v := t.values[value]; v != nil {
			v.used, matched = true, true
			compatible = compatible || v.bare || len(m.currency) == 0 || meets(v.currencies, m.currency)
		}
	}
	return matched, compatible
}

// untold returns the amounts that the summary should have mentioned and didn't.
func (t *termNumbers) untold() []mention {
	return slices.DeleteFunc(slices.Clone(t.told), func(m mention) bool {
		return slices.ContainsFunc(m.values, func(v string) bool { return t.values[v].used })
	})
}

// unknownDates returns the lines about dates of a summary that the terms don't have.
func (t *termNumbers) unknownDates(summary []dated) []string {
	var lines []string
	for _, d := range summary {
		if slices.ContainsFunc(d.around(), t.hasDay) {
			continue
		}
		line := "the summary says " + quoted(d.text) + ", the terms "
		if len(t.dates) == 1 {
			line += "say " + quoted(t.dates[0].text)
		} else {
			line += "don't"
		}
		lines = append(lines, line)
	}
	return lines
}

func (t *termNumbers) hasDay(d day) bool {
	years := t.days[calendarDay{d.month, d.day}]
	return len(years) > 0 && (d.year == 0 || slices.Contains(years, d.year) || slices.Contains(years, 0))
}

// amountWord finds the keys of amounts, in the words that a key is made of.
var amountWord = regexp.MustCompile(`amount|price|\b(?:sub)?totals?\b|\bcosts?\b|\bfees?\b|\b(?:sur)?charges?\b|\brefunds?\b|` +
	`\bdeposits?\b|\btax(?:es)?\b|\bbalance\b|\bpayments?\b|\bfares?\b|\bcredits?\b|\bdifference\b`)

// The last words of keys whose numbers are no amounts though the rest looks so (payment_id), or are
// amounts in hundredths.
const (
	otherWords = " id no number ref reference code date at count quantity qty type method nights days items rate percent card account last4 "
	minorWords = " cent cents minor pence "
)

// readNumbers collects the numbers and dates of an operation's terms. Its deadline counts as one of their
// dates, because a summary may say it.
func readNumbers(op Operation) *termNumbers {
	t := &termNumbers{values: make(map[string]*termValue), loose: make(map[string]bool), days: make(map[calendarDay][]int)}
	deadline, _ := dates(op.ExpiresAtSent)
	t.addDates(deadline)
	rows, currency := op.Terms.rows, op.Terms.currencies()
	for i, row := range rows {
		if row.Scalar() {
			t.addValue(row, currency[i])
			continue
		}
		if row.Kind == List {
			t.loose[strconv.Itoa(len(children(rows[i:])))] = true
		}
	}
	return t
}

// children returns the rows one level below the first.
func children(rows []Row) []Row {
	var found []Row
	for _, row := range rows[1:] {
		if row.Depth <= rows[0].Depth {
			break
		}
		if row.Depth == rows[0].Depth+1 {
			found = append(found, row)
		}
	}
	return found
}

// currencyOf returns the currency that a member among the siblings at the start of rows names.
func currencyOf(rows []Row, depth int) []string {
	for _, row := range rows {
		if row.Depth < depth {
			return nil
		}
		code := strings.ToUpper(row.Value)
		if row.Depth == depth && isCode(code) && strings.HasPrefix(strings.ToLower(row.Label), "currency") {
			return []string{code}
		}
	}
	return nil
}

func (t *termNumbers) addDates(found []dated) {
	for _, d := range found {
		for _, one := range d.days {
			t.loose[strconv.Itoa(one.year)] = true
		}
		for _, one := range d.around() {
			at := calendarDay{one.month, one.day}
			if !slices.Contains(t.days[at], one.year) {
				t.days[at] = append(t.days[at], one.year)
			}
		}
	}
}

// addValue adds the numbers and dates of one scalar, which stands beside a currency or none.
func (t *termNumbers) addValue(row Row, currency []string) {
	if row.Kind == Bool || row.Kind == Null || !strings.ContainsAny(row.Value, "0123456789") {
		return
	}
	for _, run := range digitRun.FindAllString(row.Value, -1) {
		t.loose[shift(run, "", 0)] = true
	}
	amount, hundredths := isAmount(row.Label, currency)
	if value, ok := literal(row.Value); ok {
		m := mention{text: row.Value, values: append(numeric(row.Value), value), currency: currency}
		if hundredths {
			m.values = append(m.values, hundredth(value))
		}
		t.add(m, amount && value != "0")
		return
	}
	found, rest := dates(row.Value)
	t.dates = append(t.dates, found...)
	t.addDates(found)
	whole := len(numeric(row.Value)) > 0
	for _, m := range mentions(rest) {
		if len(m.currency) == 0 {
			m.currency = currency
		}
		t.add(m, whole && (amount || m.amount) && m.values[0] != "0")
	}
}

var digitRun = regexp.MustCompile(`[0-9]{1,18}`)

func hundredth(value string) string {
	whole, fraction, _ := strings.Cut(value, ".")
	return shift(whole, fraction, -2)
}

func (t *termNumbers) add(m mention, told bool) {
	for _, value := range m.values {
		v := t.values[value]
		if v == nil {
			v = new(termValue)
			t.values[value] = v
		}
		v.bare = v.bare || len(m.currency) == 0
		for _, code := range m.currency {
			if !slices.Contains(v.currencies, code) {
				v.currencies = append(v.currencies, code)
			}
		}
	}
	if told {
		t.told = append(t.told, m)
	}
}

// keyWords returns the words of a key such as price_amount or priceAmount, in lower case with spaces
// between. A key too long to be one has none.
func keyWords(label string) string {
	if len(label) > MaxID {
		return ""
	}
	var found []string
	for _, part := range strings.FieldsFunc(label, func(r rune) bool { return strings.ContainsRune("_-. /", r) }) {
		found = append(found, humps(part)...)
	}
	return strings.ToLower(strings.Join(found, " "))
}
