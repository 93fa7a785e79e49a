package operation

import (
	"strings"
	"unicode"
)

// stemLength is how much of a word is compared, in characters, so that exchange meets exchanging.
const stemLength = 5

// common are words that say nothing about what an act is for.
const common = " the and for this that with your you our from will now are not has have was can all any more than into " +
	"please button submit click press continue confirm okay yes next back id ids form page input type name value " +
	"div span body html main section nth child http https www com test true false null web "

// words adds the words of text to set: IDs whole, other words by their stem, and writing without
// spaces by its pairs of characters.
func words(set map[string]bool, text string) {
	for _, chunk := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '_' && r != '-'
	}) {
		chunk = strings.Trim(chunk, "_-")
		if strings.ContainsFunc(chunk, unicode.IsDigit) {
			if strings.ContainsFunc(chunk, unicode.IsLetter) || len(chunk) > 2 {
				set[strings.ToLower(chunk)] = true
			}
			continue
		}
		for _, word := range strings.FieldsFunc(chunk, func(r rune) bool { return r == '_' || r == '-' }) {
			for _, part := range humps(word) {
				addWord(set, strings.ToLower(part))
			}
		}
	}
	for _, m := range mentions(text) {
		if m.amount {
			for _, value := range m.values {
				set[value] = true
			}
		}
	}
}

func addWord(set map[string]bool, word string) {
	if strings.Contains(common, " "+word+" ") {
		return
	}
	runes := []rune(word)
	if unicode.In(runes[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai) {
		for i := 0; i+1 < len(runes); i++ {
			set[string(runes[i:i+2])] = true
		}
		return
	}
	if len(runes) >= 3 {
		set[string(runes[:min(len(runes), stemLength)])] = true
	}
}

// humps divides camelCase.
func humps(word string) []string {
	var parts []string
	start := 0
	lower := false
	for i, r := range word {
		if lower && unicode.IsUpper(r) {
			parts = append(parts, word[start:i])
			start = i
		}
		lower = unicode.IsLower(r)
	}
	return append(parts, word[start:])
}

func actWords(act ActFacts) map[string]bool {
	set := make(map[string]bool)
	words(set, act.Label)
	for _, value := range act.Values {
		words(set, value)
	}
	for _, word := range act.Words {
		words(set, word)
	}
	return set
}

func operationWords(op Operation) map[string]bool {
	set := make(map[string]bool)
	words(set, op.Summary)
	words(set, op.ID)
	for _, row := range op.Terms.rows {
		words(set, row.Label)
		if row.Scalar() {
			words(set, row.Value)
			for _, value := range numeric(row.Value) {
				if len(value) > 1 {
					set[value] = true
				}
			}
		}
	}
	return set
}

func shares(a, b map[string]bool) bool {
	for word := range a {
		if b[word] {
			return true
		}
	}
	return false
}
