package operation

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mention is a number as it stands in a text.
type mention struct {
	text     string   // the digits and separators as sent, without sign or currency
	values   []string // what it can mean, each in one spelling: 1,000 is 1000 or 1
	amount   bool     // it has a currency, or two digits after its separator
	currency []string // the ISO 4217 codes its currency sign or code can mean; none when unknown
}

// numberForm finds digits with separators between them. The spaces among those are the unbreakable ones,
// because a plain space separates two numbers as often as it groups one.
var numberForm = regexp.MustCompile("[0-9](?:[0-9.,'’\u00a0\u202f\u2009]*[0-9])?")

// mentions returns the numbers that stand in text on their own. Digits in an ID, a time, a telephone
// number, a fraction or a word are none, because comparing them would cry wolf.
func mentions(text string) []mention {
	var found []mention
	for _, at := range numberForm.FindAllStringIndex(text, -1) {
		before, token, after := text[:at[0]], text[at[0]:at[1]], text[at[1]:]
		values := meanings(token)
		if len(values) == 0 {
			continue
		}
		signBefore, free := boundBefore(before)
		signAfter, freeAfter := boundAfter(after)
		if !free || !freeAfter {
			continue
		}
		m := mention{text: token, values: values}
		m.currency = append(currencies(signBefore), currencies(signAfter)...)
		m.amount = signBefore != "" || signAfter != "" || twoDecimals.MatchString(token)
		found = append(found, m)
	}
	return found
}

var twoDecimals = regexp.MustCompile(`[.,][0-9]{2}$`)

// The currency before and after a number, and what may not touch it. Underscores alone do not bind: they
// are emphasis in Markdown.
var (
	currencyBefore = regexp.MustCompile(`(?:^|[^\pL\pN_])(\p{Sc}|[A-Z]{3}) ?[-+−]?$|\p{Sc} ?[-+−]?$`)
	currencyAfter  = regexp.MustCompile(`^[ \x{a0}\x{202f}]?(\p{Sc}|[A-Z]{3})(?:$|[^\pL\pN_])`)
	boundToBefore  = regexp.MustCompile(`[\pL\pN]_*$|[\pL\pN_)][-−.,:/@#&=~^\\']$|[:/@&=~^\\]$`)
	boundToAfter   = regexp.MustCompile(`^_*[\pL\pN]|^[-:@\\][\pL\pN]|^/[\pN]|^ ?(?i:[ap]\.?m\b)`)
)

// near is how much of the text around a number matters, in bytes.
const near = 16

func boundBefore(before string) (currency string, free bool) {
	before = tail(before)
	if m := currencyBefore.FindStringSubmatch(before); m != nil {
		sign := m[1]
		if sign == "" {
			sign = strings.Trim(m[0], " -+−")
		}
		if isCurrency(sign) {
			return sign, true
		}
	}
	return "", !boundToBefore.MatchString(before)
}

func boundAfter(after string) (currency string, free bool) {
	after = head(after)
	if m := currencyAfter.FindStringSubmatch(after); m != nil && isCurrency(m[1]) {
		return m[1], true
	}
	return "", !boundToAfter.MatchString(after)
}

// tail and head return the end and the start of s, without the halves of a character.
func tail(s string) string {
	if len(s) <= near {
		return s
	}
	i := len(s) - near
	for !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

func head(s string) string {
	if len(s) <= near {
		return s
	}
	i := near
	for !utf8.RuneStart(s[i]) {
		i--
	}
	return s[:i]
}

// codes are the ISO 4217 codes told from other words in capitals.
const codes = " AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW" +
	" KZT MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN RON RSD SAR SEK SGD THB TND TRY TWD UAH USD UYU VND ZAR "

// meant returns the currencies that a sign can mean, "" for one that says only that it is an amount.
func meant(sign string) string {
	switch sign {
	case "$":
		return "ARS AUD BRL CAD CLP COP HKD MXN NZD SGD TWD USD UYU"
	case "€":
		return "EUR"
	case "£":
		return "EGP GBP"
	case "¥":
		return "CNY JPY"
	case "₹":
		return "INR"
	case "₩":
		return "KRW"
	}
	return ""
}

func isCode(s string) bool { return len(s) == 3 && strings.Contains(codes, " "+s+" ") }

func isCurrency(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n == len(s) && unicode.Is(unicode.Sc, r) || isCode(s)
}

func currencies(s string) []string {
	if isCode(s) {
		return []string{s}
	}
	return strings.Fields(meant(s))
}

// number is a JSON number's literal.
var number = regexp.MustCompile(`^[-+−]?([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?$`)

// literal returns what a number's literal means, in the spelling of meanings: sign left out, because a
// refund of 70.00 can be -70.00 in the terms.
func literal(s string) (string, bool) {
	m := number.FindStringSubmatch(s)
	if m == nil || len(s) > maxNumber {
		return "", false
	}
	exponent := 0
	if m[3] != "" {
		var err error
		exponent, err = strconv.Atoi(m[3])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return "", false
		}
	}
	return shift(m[1], m[2], exponent), true
}

// shift spells the number whole.fraction × 10^by without needless zeros.
func shift(whole, fraction string, by int) string {
	digits, point := whole+fraction, len(whole)+by
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	whole, fraction = strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:], "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

var (
	separators = regexp.MustCompile("[.,'’\u00a0\u202f\u2009]")
	// grouped is a whole number in groups of three, or of two and a last one of three as in India.
	grouped = regexp.MustCompile("^[0-9]{1,3}(?:[.,'’\u00a0\u202f\u2009][0-9]{2,3})*[.,'’\u00a0\u202f\u2009][0-9]{3}$")
)

// meanings returns the numbers that digits with separators can stand for, none when they are no number.
func meanings(token string) []string {
	if len(token) > maxNumber {
		return nil
	}
	at := separators.FindAllStringIndex(token, -1)
	if len(at) == 0 {
		return []string{shift(token, "", 0)}
	}
	last := at[len(at)-1]
	whole, mark, fraction := token[:last[0]], token[last[0]:last[1]], token[last[1]:]
	var values []string
	if grouped.MatchString(token) && oneSeparator(token) && !(len(at) == 1 && strings.HasPrefix(token, "0")) {
		values = append(values, shift(separators.ReplaceAllString(token, ""), "", 0))
	}
	if (mark == "." || mark == ",") && !strings.Contains(whole, mark) && fraction != "" {
		if len(at) == 1 {
			values = append(values, shift(whole, fraction, 0))
		} else if grouped.MatchString(whole) && oneSeparator(whole) {
			values = append(values, shift(separators.ReplaceAllString(whole, ""), fraction, 0))
		}
	}
	return values
}

func oneSeparator(s string) bool {
	found := separators.FindAllString(s, -1)
	return len(slices.Compact(found)) == 1
}

// meets says whether two lists have something in common.
func meets(a, b []string) bool {
	for _, x := range a {
		if slices.Contains(b, x) {
			return true
		}
	}
	return false
}
