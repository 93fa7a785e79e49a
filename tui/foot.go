package tui

import "slices"

// foot is the lines at the bottom of a screen: what the keys do now, made from the key table alone. A lead stands in
// the place of the answer keys while they don't count, and says why.
func foot(p painter, w int, lead words, keys []binding) []line {
	var entries []line
	if lead != "" {
		entries = append(entries, line{ours(lead, alert)})
	}
	for i := 0; i < len(keys); {
		entry := line{}
		says := keys[i].says
		for ; i < len(keys) && keys[i].says == says; i++ {
			entry = append(entry, ours(p.keyName(keys[i].label)+" ", strong))
		}
		entries = append(entries, append(entry, ours(says, plain)))
	}
	separator := ours(" "+p.marks.dot+" ", faint)
	var out []line
	current := line{}
	for _, e := range entries {
		if len(current) > 0 && current.cells()+separator.cells()+e.cells() > w {
			out, current = append(out, current), line{}
		}
		if len(current) > 0 {
			current = append(current, separator)
		}
		current = append(current, e...)
	}
	out = append(out, current)
	var fitted []line
	for _, l := range out {
		fitted = append(fitted, flow(l, w, nil, nil)...)
	}
	return fitted
}

// keyName is the label of a key in the characters that the terminal has.
func (p painter) keyName(label words) words {
	switch label {
	case "↑":
		return p.marks.up
	case "↓":
		return p.marks.down
	default:
		return label
	}
}

// questionFoot is the foot of a question: the answer keys stand there only while they count. It has as many lines
// whatever it says, so that the lines above it don't move.
func questionFoot(p painter, w int, r readiness) []line {
	keys := questionKeys()
	others := slices.DeleteFunc(questionKeys(), func(b binding) bool { return b.does == actApprove || b.does == actDeny })
	variants := map[readiness][]line{
		ready:    foot(p, w, "", keys),
		notWhole: foot(p, w, wScrollToEnd, others),
		notQuiet: foot(p, w, wWaitAMoment, others),
		// A letter that was meant for a password must not answer.
		interrupted: foot(p, w, wInterrupted, others),
		pressed:     foot(p, w, wSending, nil),
	}
	height := 0
	for _, v := range variants {
		height = max(height, len(v))
	}
	out := variants[r]
	for len(out) < height {
		out = append(out, line{})
	}
	return out
}
