package flow

import (
	"slices"
	"strings"
	"unicode"
)

// wrongSelector says why a selector can match nothing in any page; empty when it may. What it does not see, the browser says
// when the step is made.
func wrongSelector(s string) string {
	form, rest, _ := strings.Cut(s, "/")
	switch form {
	case "aria", "text":
		if strings.TrimSpace(rest) == "" {
			return "the name is missing"
		}
		return ""
	case "xpath":
		return unbalanced(rest, "")
	case "pierce":
		s = rest
	}
	return wrongCSS(s)
}

// wrongCSS is wrongSelector for CSS.
func wrongCSS(s string) string {
	trimmed := strings.TrimSpace(s)
	switch {
	case trimmed == "":
		return "it is empty"
	case strings.ContainsRune(">+~,", rune(trimmed[0])), strings.ContainsRune(">+~,", rune(trimmed[len(trimmed)-1])) && !strings.HasSuffix(trimmed[:len(trimmed)-1], `\`):
		return "a part is missing beside " + string(trimmed[len(trimmed)-1])
	}
	return unbalanced(s, "#.")
}

// unbalanced says which bracket or quote has no other one, or after which of the marks no name stands. A backslash takes its
// meaning from the character after it where there are marks: XPath knows none.
func unbalanced(s, marks string) string {
	if strings.TrimSpace(s) == "" {
		return "it is empty"
	}
	pairs := map[rune]rune{')': '(', ']': '['}
	var open []rune
	var quote rune
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; {
		case c == '\\' && marks != "":
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '(' || c == '[':
			open = append(open, c)
		case c == ')' || c == ']':
			if len(open) == 0 || open[len(open)-1] != pairs[c] {
				return string(c) + " closes nothing"
			}
			open = open[:len(open)-1]
		case strings.ContainsRune(marks, c) && !slices.Contains(open, '[') && (i+1 == len(runes) || !named(runes[i+1])):
			return "a name is missing after " + string(c)
		}
	}
	switch {
	case quote != 0:
		return string(quote) + " is not closed"
	case len(open) > 0:
		return string(open[len(open)-1]) + " is not closed"
	}
	return ""
}

// named reports whether a CSS name may begin so.
func named(c rune) bool {
	return c == '-' || c == '_' || c == '\\' || c > unicode.MaxASCII || unicode.IsLetter(c) || unicode.IsDigit(c)
}
