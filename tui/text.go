package tui

// words are our own: text of this program. A string that came from elsewhere does not fit.
type words string
