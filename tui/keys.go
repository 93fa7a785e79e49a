package tui

import tea "github.com/charmbracelet/bubbletea"

// action is what a key means on a screen. No action but actApprove and actDeny can become an answer.
type action int

const (
	actNone action = iota
	actApprove
	actDeny
	actUp
	actDown
	actPageUp
	actPageDown
	actHelp
	actLeave
	actList
	actOpen
	actStop
	actCompanies
	actSignIn
	actSignOut
	actSure
	actNew
	actMark
	actBackspace
	actClear
	actBrowse
	actSuspend
	actReceipts
	actSearch
)

// binding is one row of the key table: the keys, what they do, and how the key line and the help say it.
type binding struct {
	keys  []string // as tea.Key spells them
	does  action
	label words // as it stands in the key line; bindings with the same says share one entry
	says  words
}

// The keys of each screen. The key line and the help are made from these, so they cannot promise a key that is not
// there. Ctrl+C and Ctrl+Z are none of a screen's keys: see stopKey and suspendKey.
func questionKeys() []binding {
	return append([]binding{
		{[]string{"a"}, actApprove, "a", kApprove},
		{[]string{"d"}, actDeny, "d", kDontApprove},
	}, append(scrollKeys(),
		binding{[]string{"?"}, actHelp, "?", kHelp},
		binding{[]string{"q"}, actLeave, "q", kLeaveItUnanswered},
	)...)
}

func scrollKeys() []binding {
	return []binding{
		{[]string{"up"}, actUp, "↑", kScroll},
		{[]string{"down"}, actDown, "↓", kScroll},
		{[]string{"pgup"}, actPageUp, "PgUp", kScroll},
		{[]string{"pgdown"}, actPageDown, "PgDn", kScroll},
		{[]string{" "}, actPageDown, "space", kScroll},
	}
}

// plainKeys are the keys of a question that is asked line by line.
func plainKeys() []binding {
	return []binding{
		{[]string{"a"}, actApprove, "a", kApprove},
		{[]string{"d"}, actDeny, "d", kDontApprove},
		{[]string{" "}, actPageDown, "space", kGoOnReading},
		{[]string{"?"}, actHelp, "?", kHelp},
		{[]string{"q"}, actLeave, "q", kLeaveItUnanswered},
	}
}

// taskKeys are the keys of the task view. waiting says that a question waits, stays that the UI runs until it is left,
// companies and history that there is a screen of Companies and one of past operations.
func taskKeys(waiting, stays, companies, history bool) []binding {
	keys := scrollKeys()
	if waiting {
		keys = append([]binding{{[]string{"l"}, actList, "l", kWaitingQuestions}}, keys...)
	}
	if companies {
		keys = append(keys, binding{[]string{"c"}, actCompanies, "c", kCompaniesSignInAndOut})
	}
	if history {
		keys = append(keys, binding{[]string{"h"}, actReceipts, "h", wPast})
	}
	return append(keys, endKeys(stays)...)
}

// endKeys are the last keys of a screen from which the UI is left, or the run ended.
func endKeys(stays bool) []binding {
	help := binding{[]string{"?"}, actHelp, "?", kHelp}
	if stays {
		return []binding{help, {[]string{"q"}, actLeave, "q", kLeave}}
	}
	return []binding{help, {nil, actStop, "Ctrl+C", kStopTheRun}}
}

func listKeys() []binding {
	return append(longChooseKeys(),
		binding{[]string{" ", "enter"}, actOpen, "space", kOpenIt},
		binding{[]string{"?"}, actHelp, "?", kHelp},
		binding{[]string{"q"}, actLeave, "q", kBack},
	)
}

// chooseStep is how many entries of a list PgUp and PgDn pass.
const chooseStep = 10

// longChooseKeys are those of a list that can be long.
func longChooseKeys() []binding {
	return []binding{
		{[]string{"up"}, actUp, "↑", kChoose},
		{[]string{"down"}, actDown, "↓", kChoose},
		{[]string{"pgup"}, actPageUp, "PgUp", kChoose},
		{[]string{"pgdown"}, actPageDown, "PgDn", kChoose},
	}
}

func helpKeys() []binding {
	return append(scrollKeys(), binding{[]string{"?", "q"}, actLeave, "?", kBack})
}

// stopKey stops the run or leaves the UI from every screen. It never answers.
const stopKey = tea.KeyCtrlC

// suspendKey puts the UI aside from every screen, for the shell to bring back.
const suspendKey = tea.KeyCtrlZ

// meaning is what one message of the keyboard does under keys. Only a single rune that was neither pasted nor pressed
// with Alt is a key; two runes in one message are text.
func meaning(keys []binding, k tea.KeyMsg) action {
	if !k.Alt && !k.Paste {
		switch k.Type {
		case stopKey:
			return actStop
		case suspendKey:
			return actSuspend
		}
	}
	if k.Paste || k.Alt || len(k.Runes) > 1 {
		return actNone
	}
	name := k.String()
	for _, b := range keys {
		for _, key := range b.keys {
			if key == name {
				return b.does
			}
		}
	}
	return actNone
}
