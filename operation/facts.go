package operation

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// ActFacts is what is known of the act that an operation should be for: the action our browser just took
// (Operations v3, sections 5 and 8.2). Nothing in it may be a secret, because a difference shows it.
type ActFacts struct {
	None   bool              // no act of ours explains the operation; the other fields are then unused
	Label  string            // the label of the control that was pressed
	Values map[string]string // what the act's form held: field name to value
	Words  []string          // other words of the act: typed text, the flow's selectors, the page's title
}

// againstAct returns how the operation differs from the act.
func (c compared) againstAct(act ActFacts) []string {
	if act.None {
		return []string{"no act of ours explains this operation"}
	}
	var lines []string
	if own := actWords(act); !c.termsCut && len(own) > 0 && !shares(own, operationWords(c.op)) {
		lines = append(lines, "the operation shares no word, ID or amount with the act")
	}
	said := c.all.under(act.Values)
	for _, name := range slices.Sorted(maps.Keys(act.Values)) {
		given, values := act.Values[name], said[name]
		if len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return same(given, v) }) {
			continue
		}
		lines = append(lines, "the form's "+quoted(name)+" says "+quoted(given)+", the terms say "+quoted(values[0]))
	}
	return append(lines, c.againstLabel(act.Label)...)
}

// againstLabel compares the amounts on the pressed control, such as "Pay $70.00", with those of the terms.
func (c compared) againstLabel(label string) []string {
	if c.termsCut || len(label) > maxCompared {
		return nil
	}
	_, rest := dates(label)
	terms := readNumbers(c.op)
	var lines []string
	for _, m := range mentions(rest) {
		if !m.amount {
			continue
		}
		if matched, compatible := terms.use(m); !matched {
			line := "the pressed control says " + m.text + ", the terms "
			if len(terms.told) == 1 {
				line += "say " + terms.told[0].text
			} else {
				line += "don't"
			}
			lines = append(lines, line)
		} else if !compatible {
			lines = append(lines, "the pressed control and the terms name different currencies for "+m.text)
		}
	}
	return lines
}

// maxSame bounds how many values of the terms are compared with one field of a form. Behind that many
// values of one name there is no single one that the field could contradict.
const maxSame = 256

// under returns, for each field of a form that isn't empty, the values of the terms whose key is its
// name, compared without case and punctuation, or whose keys from the outside in are together: item[sku],
// item.sku and itemSku all find sku in item. A key that holds an object or a list stands for each value
// in it.
func (t Terms) under(fields map[string]string) map[string][]string {
	wanted := make(map[string]string) // a field's name to its key
	for name, given := range fields {
		if strings.TrimSpace(given) != "" && key(name) != "" {
			wanted[name] = key(name)
		}
	}
	found := make(map[string][]string)
	var keys []string // of the rows around the present one, and its own; the places of a list have none
	var lists []bool  // which of the rows around are lists
	for _, row := range t.rows {
		keys, lists = keys[:row.Depth], lists[:row.Depth]
		own := ""
		if inList := row.Depth > 0 && lists[row.Depth-1]; !inList && len(row.Label) <= MaxID {
			own = key(row.Label)
		}
		keys, lists = append(keys, own), append(lists, row.Kind == List)
		if !row.Scalar() || row.Kind == Null {
			continue
		}
		for name, k := range wanted {
			if names(keys, k) {
				found[name] = append(found[name], row.Value)
			}
		}
	}
	maps.DeleteFunc(found, func(_ string, values []string) bool { return len(values) > maxSame })
	return found
}

// generic keys say nothing without the keys around them.
const generic = " id key name type kind value action "

// names says whether one of the keys, or a run of them, is the wanted one.
func names(keys []string, wanted string) bool {
	for i, k := range keys {
		if k == wanted && (len(keys) == 1 || !strings.Contains(generic, " "+wanted+" ")) {
			return true
		}
		rest, found := strings.CutPrefix(wanted, k)
		for j := i + 1; k != "" && found && rest != "" && j < len(keys); j++ {
			rest, found = strings.CutPrefix(rest, keys[j])
		}
		if k != "" && found && rest == "" && k != wanted {
			return true
		}
	}
	return false
}

// key spells a form's field name or a member's name without case and punctuation.
func key(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// same says whether a form's value and a term mean the same: but for case and space, as numbers, as
// dates, or as a ticked box.
func same(given, term string) bool {
	if len(given) > maxCompared || len(term) > maxCompared {
		return given == term
	}
	given, term = strings.Join(strings.Fields(given), " "), strings.Join(strings.Fields(term), " ")
	if strings.EqualFold(given, term) || meets(numeric(given), numeric(term)) {
		return true
	}
	if yes, known := ticked(given); known {
		if other, known := ticked(term); known && yes == other {
			return true
		}
	}
	a, restA := dates(given)
	b, restB := dates(term)
	return len(a) == 1 && len(b) == 1 && strings.TrimSpace(restA+restB) == "" && sameDay(a[0], b[0])
}

// numeric returns what a text that is nothing but one number means.
func numeric(s string) []string {
	if value, ok := literal(s); ok && strings.ContainsAny(s, "eE") {
		return []string{value}
	}
	found := mentions(s)
	if len(found) != 1 || strings.ContainsFunc(strings.Replace(s, found[0].text, "", 1), notSign) {
		return nil
	}
	return found[0].values
}

// notSign says whether r is neither a sign nor part of a currency's code or sign.
func notSign(r rune) bool {
	return !strings.ContainsRune(" +-−", r) && !unicode.Is(unicode.Sc, r) && (r < 'A' || r > 'Z')
}

func ticked(s string) (yes, known bool) {
	switch strings.ToLower(s) {
	case "on", "true", "yes", "1":
		return true, true
	case "off", "false", "no", "0":
		return false, true
	}
	return false, false
}
