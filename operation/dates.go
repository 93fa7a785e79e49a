package operation

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// day is a date without a time; year 0 is a year that isn't said.
type day struct{ year, month, day int }

// dated is a date as it stands in a text.
type dated struct {
	text  string
	days  []day // what it can mean: 10/12/2026 is in October or in December
	clock bool  // a time of day stands with it, so another time zone can make it the day before or after
}

const monthNames = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`

// The forms of dates that are known. A month's name is English: other languages' dates aren't
// compared.
var (
	isoDate   = regexp.MustCompile(`\b([0-9]{4})-([0-9]{2})-([0-9]{2})((?:[Tt ][0-9]{2}:[0-9]{2})?(?::[0-9]{2}(?:\.[0-9]+)?)?(?:[Zz]\b|[+-][0-9]{2}:?[0-9]{2}\b)?)`)
	dayMonth  = regexp.MustCompile(`(?i)\b([0-9]{1,2})(?:st|nd|rd|th)?\.? (?:of )?` + monthNames + `\b\.?(?:,? ([0-9]{4})\b)?`)
	monthDay  = regexp.MustCompile(`(?i)\b` + monthNames + `\.? ([0-9]{1,2})(?:st|nd|rd|th)?\b(?:,? ([0-9]{4})\b)?`)
	slashDate = regexp.MustCompile(`\b([0-9]{1,2})[/.]([0-9]{1,2})[/.]([0-9]{4})\b`)
)

// dates returns the dates of text, and text with each one blanked out so that its digits aren't taken
// for numbers.
func dates(text string) (found []dated, rest string) {
	rest = text
	take := func(form *regexp.Regexp, read func(m []string) dated) {
		rest = form.ReplaceAllStringFunc(rest, func(s string) string {
			d := read(form.FindStringSubmatch(s))
			d.text = s
			valid := d.days[:0]
			for _, one := range d.days {
				if one.month >= 1 && one.month <= 12 && one.day >= 1 && one.day <= 31 {
					valid = append(valid, one)
				}
			}
			if d.days = valid; len(valid) == 0 {
				return s
			}
			found = append(found, d)
			return " "
		})
	}
	take(isoDate, func(m []string) dated {
		return dated{days: []day{{digits(m[1]), digits(m[2]), digits(m[3])}}, clock: m[4] != ""}
	})
	take(dayMonth, func(m []string) dated { return dated{days: []day{{digits(m[3]), month(m[2]), digits(m[1])}}} })
	take(monthDay, func(m []string) dated { return dated{days: []day{{digits(m[3]), month(m[1]), digits(m[2])}}} })
	take(slashDate, func(m []string) dated {
		a, b, year := digits(m[1]), digits(m[2]), digits(m[3])
		return dated{days: []day{{year, a, b}, {year, b, a}}}
	})
	return found, rest
}

// digits reads at most four digits; "" is 0.
func digits(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func month(name string) int {
	const starts = "janfebmaraprmayjunjulaugsepoctnovdec"
	return strings.Index(starts, strings.ToLower(name[:3]))/3 + 1
}

// around returns the days that d can be, and with a time of day their neighbours.
func (d dated) around() []day {
	days := slices.Clone(d.days)
	if d.clock {
		for _, one := range d.days {
			days = append(days, one.add(-1), one.add(1))
		}
	}
	return days
}

// sameDay says whether two dates can be the same one.
func sameDay(a, b dated) bool {
	for _, x := range a.around() {
		if slices.ContainsFunc(b.days, x.is) {
			return true
		}
	}
	return slices.ContainsFunc(b.around(), func(y day) bool { return slices.ContainsFunc(a.days, y.is) })
}

func (d day) is(other day) bool {
	return d.month == other.month && d.day == other.day && (d.year == other.year || d.year == 0 || other.year == 0)
}

func (d day) add(days int) day {
	year := d.year
	if year == 0 {
		year = 2000 // a leap year, so that 29 February keeps its neighbours
	}
	t := time.Date(year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC).AddDate(0, 0, days)
	if d.year == 0 {
		return day{0, int(t.Month()), t.Day()}
	}
	return day{t.Year(), int(t.Month()), t.Day()}
}
