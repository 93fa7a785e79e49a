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

// months are the names of months, a list for each: English, German, French, Spanish, Italian, Portuguese, Dutch. A
// name that is a month in one language and another in the next is in neither list.
var months = [12]string{
	"jan january januar janvier enero gennaio janeiro januari jänner",
	"feb february februar février fevrier febrero febbraio fevereiro februari",
	"mar march märz mars marzo março marco maart mrz",
	"apr april avril abril aprile",
	"may mai mayo maggio maio mei",
	"jun june juni juin junio giugno junho",
	"jul july juli juillet julio luglio julho",
	"aug august août aout agosto augustus",
	"sep sept september septembre septiembre settembre setembro",
	"oct october oktober octobre octubre ottobre outubro okt",
	"nov november novembre noviembre novembro",
	"dec december dezember décembre decembre diciembre dicembre dezembro dez",
}

// monthOf finds a month by its name in lower case.
var monthOf = func() map[string]int {
	found := make(map[string]int)
	for i, names := range months {
		for _, name := range strings.Fields(names) {
			found[name] = i + 1
		}
	}
	return found
}()

// The forms of dates that are known. A word in a month's place is looked up in monthOf.
var (
	isoDate   = regexp.MustCompile(`\b([0-9]{4})-([0-9]{2})-([0-9]{2})((?:[Tt ][0-9]{2}:[0-9]{2})?(?::[0-9]{2}(?:\.[0-9]+)?)?(?:[Zz]\b|[+-][0-9]{2}:?[0-9]{2}\b)?)`)
	dayMonth  = regexp.MustCompile(`\b([0-9]{1,2})(?:st|nd|rd|th|er|º)?\.? (?:of |de |di )?(\pL{3,10})\b?\.?(?:(?:,| de| di)? ([0-9]{4})\b)?`)
	monthDay  = regexp.MustCompile(`\b(\pL{3,10})\.? ([0-9]{1,2})(?:st|nd|rd|th)?\b(?:,? ([0-9]{4})\b)?`)
	slashDate = regexp.MustCompile(`\b([0-9]{1,2})([/.-])([0-9]{1,2})[/.-]([0-9]{4})\b`)
	yearFirst = regexp.MustCompile(`\b([0-9]{4})[/.]([0-9]{1,2})[/.]([0-9]{1,2})\b`)
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
	take(yearFirst, func(m []string) dated { return dated{days: []day{{digits(m[1]), digits(m[2]), digits(m[3])}}} })
	take(slashDate, func(m []string) dated {
		a, b, year := digits(m[1]), digits(m[3]), digits(m[4])
		if m[2] == "." { // nobody writes the month first with full stops
			return dated{days: []day{{year, b, a}}}
		}
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

// month is the number of a month by its name; 0 for another word.
func month(name string) int { return monthOf[strings.ToLower(name)] }

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
