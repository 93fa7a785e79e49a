package operation

// Change is one value that differs between two revisions' terms.
type Change struct {
	Path []string // the labels from the outermost to the value's own; Company text
	// Old and New are the values as sent, Company text. The kind is Absent, and the value "", on the side
	// that doesn't have it.
	Old, New         string
	OldKind, NewKind Kind
}

// Changes lists what differs between the terms of an earlier revision and a later one: changed and
// removed values in the order of the old terms, added ones after their neighbours. The order of an
// object's members is no change; lists are compared place by place. Two terms with one hash have none.
func Changes(old, new Terms) []Change {
	return compare(nil, nil, old.rows, new.rows)
}

// compare adds the changes between two groups of siblings: rows of one depth with what they hold.
func compare(changes []Change, path []string, old, new []Row) []Change {
	news := make(map[string][]Row)
	for _, member := range split(new) {
		news[member[0].Label] = member
	}
	olds := make(map[string]bool)
	for _, member := range split(old) {
		label := member[0].Label
		olds[label] = true
		changes = compareValue(changes, below(path, label), member, news[label])
	}
	for _, member := range split(new) {
		if label := member[0].Label; !olds[label] {
			changes = compareValue(changes, below(path, label), nil, member)
		}
	}
	return changes
}

// compareValue adds the changes between two values, each a row and what it holds; nil is no value.
func compareValue(changes []Change, path []string, old, new []Row) []Change {
	switch {
	case len(old) > 1 && len(new) > 1 && old[0].Kind == new[0].Kind:
		return compare(changes, path, old[1:], new[1:])
	case len(old) > 1: // what an object or a list held is gone, value by value
		changes = compare(changes, path, old[1:], nil)
		if len(new) == 0 {
			return changes
		}
		return compareValue(changes, path, nil, new)
	case len(new) > 1:
		if len(old) == 1 {
			changes = compareValue(changes, path, old, nil)
		}
		return compare(changes, path, nil, new[1:])
	}
	change := Change{Path: path}
	if len(old) == 1 {
		change.Old, change.OldKind = old[0].Value, old[0].Kind
	}
	if len(new) == 1 {
		change.New, change.NewKind = new[0].Value, new[0].Kind
	}
	if change.Old == change.New && change.OldKind == change.NewKind {
		return changes
	}
	return append(changes, change)
}

// split cuts rows into siblings, each with the rows below it.
func split(rows []Row) [][]Row {
	var groups [][]Row
	for start := 0; start < len(rows); {
		end := start + 1
		for end < len(rows) && rows[end].Depth > rows[start].Depth {
			end++
		}
		groups = append(groups, rows[start:end])
		start = end
	}
	return groups
}

// below returns path with label behind it, in memory of its own.
func below(path []string, label string) []string {
	return append(path[:len(path):len(path)], label)
}
