package tui

// helpView is the help: every screen's keys from the key table, and the rules of an answer.
type helpView struct {
	top       int
	stays     bool // the UI stays until it is left
	companies bool // there is a screen of them
	history   bool // there is a screen of past operations
}

func (v helpView) body(p painter, w int) []line {
	var out []line
	type part struct {
		title words
		keys  []binding
	}
	parts := []part{
		{wOnQuestion, questionKeys()},
		{wOnTasks, taskKeys(true, v.stays, v.companies, v.history)},
		{wOnList, listKeys()},
	}
	if v.companies {
		parts = append(parts, part{wOnCompanies, companiesKeys(true, true, true)}, part{wOnTyping, fieldKeys(true, "stop")})
	}
	if v.history {
		one := receipts{loaded: true, all: []receiptText{{}}}
		parts = append(parts, part{wOnReceipts, one.keys()})
	}
	for _, part := range parts {
		out = append(out, line{ours(part.title, strong)})
		for _, l := range foot(p, w-2, "", part.keys) {
			out = append(out, append(say("  "), l...))
		}
		out = append(out, line{})
	}
	texts := helpText()
	if v.companies {
		texts = append(texts, wHelpSignIn)
	}
	for _, text := range texts {
		out = append(out, flow(say(text), w, nil, nil)...)
		out = append(out, line{})
	}
	return out
}

func (v helpView) view(p painter, w, h int) []line {
	bottom := foot(p, w, "", helpKeys())
	body := v.body(p, w)
	return scrolled(p, w, h, wTitleHelp, body, bottom, min(v.top, max(len(body)-roomFor(h, bottom), 0)))
}
