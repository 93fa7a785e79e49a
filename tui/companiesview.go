package tui

import (
	"time"

	"github.com/papaver-agent/papaver/internal/plaintext"
)

// labelled is one of our lines with a label before it, and what goes on below the text.
func labelled(label words, l line, w int) []line {
	return flow(l, w, line{ours(label, faint)}, say(repeatSpace(label)))
}

func repeatSpace(label words) words { return repeat(" ", label.cells()) }

// view is the screen, of h lines.
func (c *companies) view(p painter, cs charset, w, h int, note words, keys []binding, now time.Time) []line {
	bottom := c.bottom(p, cs, w, h, note, keys)
	room := roomFor(h, bottom)
	body, from, to := c.body(p, w, room, now)
	top := min(c.top, max(len(body)-room, 0))
	if to > top+room { // what is chosen is on the screen
		top = min(from, max(len(body)-room, 0))
	} else if from < top {
		top = from
	}
	out := scrolled(p, w, h, c.title(), body, bottom, top)
	if c.stage == stageSigning && !c.signing.ends.IsZero() {
		out[0] = spread(line{ours(c.title(), strong)}, line{ours(timeLeft(c.signing.ends.Sub(now)), plain)}, w)
	}
	return out
}

func (c *companies) title() words {
	switch c.stage {
	case stageList, stageConfirm:
		return wTitleCompanies
	default:
		return wTitleSignIn
	}
}

// last is the largest top.
func (c *companies) last(p painter, cs charset, w, h int, note words, keys []binding, now time.Time) int {
	room := roomFor(h, c.bottom(p, cs, w, h, note, keys))
	body, _, _ := c.body(p, w, room, now)
	return max(len(body)-room, 0)
}

// bottom is what stands below the rule: what happened last, the field, the keys.
func (c *companies) bottom(p painter, cs charset, w, h int, note words, keys []binding) []line {
	var out []line
	if note != "" {
		out = append(out, flow(line{ours(note, strong)}, w, nil, nil)...)
	}
	if len(c.said) > 0 {
		out = append(out, flow(c.said, w, nil, nil)...)
	}
	switch {
	case c.stage == stageConfirm:
		if at, ok := c.at(); ok {
			out = append(out, flow(append(line{ours(wConfirm1, alert), theirs(at.known.company.domain, strong)}, ours(wConfirm2, alert)), w, nil, nil)...)
		}
	case c.stage == stageSigning && c.signing.warned:
		out = append(out, flow(line{ours(wStopSurely, alert)}, w, nil, nil)...)
	}
	lead := words("")
	if c.stage == stageStopping {
		lead = wStopping
	}
	under := foot(p, w, lead, keys)
	if c.stage == stageSigning && c.signing.refused != (plaintext.Text{}) {
		out = append(out, flow(line{ours(wNotTaken, alert), theirs(c.signing.refused, alert), ours(wPasteAgain, plain)}, w, nil, nil)...)
	}
	if c.typing() {
		label := line{ours(wAddressField, strong)}
		if c.stage == stageSigning {
			label = c.signing.prompt()
		}
		out = append(out, flow(label, w, nil, nil)...)
		out = append(out, c.field.lines(cs, w, max(h/2-len(out)-len(under), 1))...)
	}
	return append(out, under...)
}

// body is what scrolls, and which of its lines are chosen.
func (c *companies) body(p painter, w, room int, now time.Time) (body []line, from, to int) {
	switch c.stage {
	case stageAddress:
		return flow(say(wTypeAddress), w, nil, nil), 0, 0
	case stageBusy:
		return flow(line{ours(c.doing, strong)}, w, nil, nil), 0, 0
	case stageType:
		return c.typeLines(p, w)
	case stageScope:
		return c.scopeLines(p, w)
	case stageSigning, stageStopping:
		return c.signing.body(p, w, room), 0, 0
	case stageEnded:
		return c.endLines(w, now), 0, 0
	default:
		return c.listLines(p, w, now)
	}
}

// listLines are the Companies the home knows, each with its sign-ins.
func (c *companies) listLines(p painter, w int, now time.Time) (out []line, from, to int) {
	switch {
	case !c.loaded && c.failed == nil:
		return flow(say(wReadingKnown), w, nil, nil), 0, 0
	case len(c.known) == 0 && c.failed == nil:
		return flow(say(wNoCompany), w, nil, nil), 0, 0
	}
	chosen := min(c.chosen, len(c.entries())-1) // -1 where nothing can be chosen
	n := 0
	lead := func() line {
		n++
		if n-1 == chosen {
			from = len(out)
			return line{ours(p.marks.doing+" ", strong)}
		}
		return say("  ")
	}
	for i, k := range c.known {
		if i > 0 {
			out = append(out, line{})
		}
		if k.company.domain == (plaintext.Text{}) {
			out = append(out, flow(line{ours(wIssuer, plain), theirs(k.issuer, strong)}, w, nil, say("  "))...)
		} else {
			out = append(out, flow(k.company.introduce(), w, nil, say("  "))...)
		}
		if len(k.accounts) == 0 {
			out = append(out, flow(say(wSignedOut), w, lead(), say("  "))...)
		}
		for _, a := range k.accounts {
			state := line{ours(wSignedIn, good)}
			if a.label != (plaintext.Text{}) {
				state = append(state, ours(wAs, plain), theirs(a.label, strong))
			}
			state = append(state, ours(", "+a.until(now), plain))
			out = append(out, flow(state, w, lead(), say("  "))...)
			out = append(out, a.lines(w, "    ")...)
		}
		if k.userID != (plaintext.Text{}) {
			out = append(out, flow(line{theirs(k.userID, plain)}, w, say("  "+wKnowsYou), say("    "))...)
		}
		if from < len(out) && to <= from {
			to = len(out)
		}
	}
	return append(out, c.failed.lines(w)...), from, to
}

// until says how long the access lasts.
func (a accountText) until(now time.Time) words {
	switch {
	case a.expires.IsZero():
		return wUntilSignOut
	case !a.expires.After(now):
		return wTimeOver
	default:
		return wUntil + moment(a.expires, now)
	}
}

// lines are what an access reaches and what is left to say of it.
func (a accountText) lines(w int, indent words) []line {
	var out []line
	add := func(l line) { out = append(out, flow(l, w, say(indent), say(indent+"  "))...) }
	add(append(line{ours(wAccess, faint)}, listed(a.scopes)...))
	if a.kind != "" {
		how := wKeptFile
		if a.keyring {
			how = wKeptKeyring
		}
		add(line{ours(a.kind+how, faint)})
	}
	if !a.cut.IsZero() {
		add(line{ours(wCutShort, alert)})
	}
	if a.waits > 0 {
		add(line{ours(waitsWords(a.waits), alert)})
	}
	return out
}

// listed puts texts beside each other.
func listed(texts []plaintext.Text) line {
	if len(texts) == 0 {
		return say(wNoScope)
	}
	var out line
	for i, t := range texts {
		if i > 0 {
			out = append(out, ours(" ", plain))
		}
		out = append(out, theirs(t, plain))
	}
	return out
}

// typeLines are the types that a Company offers.
func (c *companies) typeLines(p painter, w int) (out []line, from, to int) {
	out = append(labelled(wCompany, c.who.introduce(), w), line{})
	if len(c.offers) == 0 {
		return append(out, flow(say(wNoOffer), w, nil, nil)...), 0, 0
	}
	for i, o := range c.offers {
		lead := say("  ")
		if i == c.picked {
			lead, from = line{ours(p.marks.doing+" ", strong)}, len(out)
		}
		out = append(out, flow(line{ours(typeWords(o.kind), strong), ours(typeAbout(o.kind), plain)}, w, lead, say("  "))...)
		var names []plaintext.Text
		for _, s := range o.scopes {
			names = append(names, s.name)
		}
		out = append(out, flow(append(line{ours(wGrants, faint)}, listed(names)...), w, say("    "), say("      "))...)
		if i == c.picked {
			to = len(out)
		}
	}
	return out, from, to
}

// scopeLines are the scopes of a type, with a mark at each that is asked for.
func (c *companies) scopeLines(p painter, w int) (out []line, from, to int) {
	out = append(labelled(wCompany, c.who.introduce(), w), line{})
	out = append(out, flow(say(wChooseScope), w, nil, nil)...)
	o := c.offers[c.picked]
	for i, s := range o.scopes {
		lead := words("  ")
		if i == c.mark {
			lead, from = p.marks.doing+" ", len(out)
		}
		box := words("[ ] ")
		if o.wanted[i] {
			box = "[x] "
		}
		out = append(out, flow(s.line(), w, line{ours(lead+box, strong)}, say("      "))...)
		if i == c.mark {
			to = len(out)
		}
	}
	return out, from, to
}

// endLines say what came of a sign-in.
func (c *companies) endLines(w int, now time.Time) []line {
	out := labelled(wCompany, c.who.introduce(), w)
	if c.result == nil {
		return append(out, c.failed.lines(w)...)
	}
	r := c.result
	state := line{ours(wSignedIn, good)}
	if r.account.label != (plaintext.Text{}) {
		state = append(state, ours(wAs, plain), theirs(r.account.label, strong))
	}
	out = append(out, flow(append(state, ours(", "+r.account.until(now), plain)), w, nil, say("  "))...)
	out = append(out, labelled(wAsked, listed(r.asked), w)...)
	out = append(out, labelled(wGranted, listed(r.account.scopes), w)...)
	if len(r.missing) > 0 {
		out = append(out, flow(append(line{ours(wMissing, alert)}, listed(r.missing)...), w, nil, say("  "))...)
	}
	switch {
	case r.unrevoked != (plaintext.Text{}):
		out = append(out, flow(line{ours(wUnrevoked, alert), theirs(r.unrevoked, plain)}, w, nil, say("  "))...)
	case r.replaced:
		out = append(out, flow(say(wReplaced), w, nil, nil)...)
	}
	return out
}
