package browser

import (
	"encoding/json"
	"slices"
	"strings"
)

const (
	maxDepth    = 200 // levels of indentation; what is deeper stands at the last one
	maxLineName = 300 // characters of a name, a text or a value in a line
	maxLineURL  = 500 // of a link's address
)

// roles are Chromium's own names for what has another one in ARIA.
var roles = map[string]string{
	"Iframe": "iframe", "IframePresentational": "iframe", "DisclosureTriangle": "button", "DisclosureTriangleGrouped": "button",
	"image": "img", "Video": "video", "Audio": "audio", "Canvas": "canvas", "LayoutTable": "table", "LayoutTableRow": "row",
	"LayoutTableCell": "cell", "Details": "group", "gridCell": "gridcell", "splitter": "separator",
}

// unnamed are roles that say nothing of an element.
func unnamed(role string) bool {
	return role == "" || role == "generic" || role == "none" || role == "presentation" || (role[0] >= 'A' && role[0] <= 'Z')
}

// valued are roles of elements that a value is entered in.
func valued(role string) bool {
	return slices.Contains([]string{"textbox", "searchbox", "combobox", "spinbutton", "slider", "Date", "ColorWell", "InputTime", "DateTime"}, role)
}

// children draws what is in an element.
func (p *painter) children(t *tree, n AXNode, depth int) {
	for _, id := range n.Children {
		if child, ok := t.nodes[id]; ok {
			p.node(t, child, depth)
		}
	}
}

// node draws an element and what is in it.
func (p *painter) node(t *tree, n AXNode, depth int) {
	role := n.Role.Text()
	switch {
	case role == "InlineTextBox" || role == "LineBreak" || role == "ListMarker":
		return
	case role == "StaticText" && !n.Ignored:
		if text := p.text(n.Name.Text()); text != "" {
			p.line(depth, "text: "+quoted(text))
		}
		return
	}
	of := ref{p.tab, t.frame.ID, t.frame.Document, n.Node}
	inner, holds := p.below[of]
	given := role
	if aria, ok := roles[role]; ok {
		given = aria
	}
	name := p.text(n.Name.Text())
	if n.Ignored && !holds || unnamed(given) && !valued(role) && name == "" && n.property("focusable") != "true" && !p.hasText(t, n) {
		p.children(t, n, depth) // it says nothing itself
		return
	}
	switch {
	case holds:
		given = "iframe"
	case unnamed(given) && !valued(role):
		given = "generic"
	}
	words := given
	if name != "" {
		words += " " + quoted(name)
	}
	words += n.states()
	if n.Node != 0 {
		words += " [ref=" + p.c.refs.name(of) + "]"
	}
	at := len(p.lines)
	p.line(depth, words)
	if url := n.property("url"); url != "" && role == "link" {
		p.line(depth+1, "/url: "+quoted(first(url, maxLineURL)))
	}
	value := p.value(n)
	switch {
	case holds:
		p.frame(inner, depth+1)
	case valued(role) && role != "combobox":
		// What is in it is its value once more.
	default:
		before := len(p.lines)
		p.children(t, n, depth+1)
		if p.lines[before:] != nil && p.saysName(before, name) {
			p.lines = p.lines[:before]
		}
	}
	switch {
	case value != "":
		p.lines[at] += ": " + value
	case len(p.lines) == at+2 && strings.HasPrefix(strings.TrimLeft(p.lines[at+1], " "), "- text: "):
		// One text alone stands behind its element.
		p.lines[at] += ": " + strings.TrimPrefix(strings.TrimLeft(p.lines[at+1], " "), "- text: ")
		p.lines = p.lines[:at+1]
	case len(p.lines) > at+1:
		p.lines[at] += ":"
	}
}

// saysName reports whether the lines from there on are texts that say the element's name once more.
func (p *painter) saysName(from int, name string) bool {
	if from == len(p.lines) {
		return false
	}
	var all strings.Builder
	for _, line := range p.lines[from:] {
		text, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "- text: ")
		if !ok {
			return false
		}
		var s string
		if json.Unmarshal([]byte(text), &s) != nil {
			return false
		}
		all.WriteString(s)
	}
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	return squeeze(all.String()) == squeeze(name)
}

// hasText reports whether text stands in an element itself.
func (p *painter) hasText(t *tree, n AXNode) bool {
	return slices.ContainsFunc(n.Children, func(id string) bool {
		child := t.nodes[id]
		return child.Role.Text() == "StaticText" && !child.Ignored && strings.TrimSpace(child.Name.Text()) != ""
	})
}

func (p *painter) line(depth int, words string) {
	p.lines = append(p.lines, strings.Repeat("  ", min(depth, maxDepth))+"- "+words)
}

// value is what a field holds, quoted. That of a password field comes as dots, and is left out.
func (p *painter) value(n AXNode) string {
	value := n.Value.Text()
	if value == "" || !valued(n.Role.Text()) {
		return ""
	}
	if strings.Trim(value, "•") == "" {
		return leftOutValue
	}
	return quoted(p.text(value))
}

// text is page text without what was entered as a secret, bounded.
func (p *painter) text(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	return first(p.c.private.leftOut(s), maxLineName)
}

// first is the first n characters of a text; what is cut off is seen to be.
func first(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if short := []rune(s); len(short) > n {
		return string(short[:n]) + "…"
	}
	return s
}

// quoted is a text in quotation marks, on one line whatever is in it.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// property is the value of a state or attribute; empty when it has none.
func (n AXNode) property(name string) string {
	for _, p := range n.Properties {
		if p.Name == name {
			return p.Value.Text()
		}
	}
	return ""
}

// states are what a line says of an element's state.
func (n AXNode) states() string {
	var b strings.Builder
	for _, s := range []struct{ property, name string }{
		{"checked", "checked"}, {"pressed", "pressed"}, {"disabled", "disabled"}, {"expanded", "expanded"}, {"focused", "active"},
		{"selected", "selected"}, {"readonly", "readonly"}, {"required", "required"},
	} {
		switch n.property(s.property) {
		case "true":
			b.WriteString(" [" + s.name + "]")
		case "mixed":
			b.WriteString(" [" + s.name + "=mixed]")
		}
	}
	if level := n.property("level"); level != "" && n.Role.Text() == "heading" {
		b.WriteString(" [level=" + level + "]")
	}
	return b.String()
}
