package tui

import (
	"context"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// The control sequences of a full screen, beside those of suspend.go.
const (
	fullScreenOn, fullScreenOff = "\x1b[?1049h\x1b[2J\x1b[H\x1b[?25l", "\x1b[?25h\x1b[?1049l"
	wipeScreen, wipeLine        = "\x1b[2J", "\x1b[K"
)

// drawnMsg says that the terminal took the last frame.
type drawnMsg struct{}

// drawing is the full screen as a program: a model, and what of it stands in the terminal. A frame is written when the model
// changed and the terminal has taken the one before, so a slow terminal is sent only frames that are true when it gets
// them, and one on which nothing changes is sent nothing. Bubble Tea's own renderer wakes up sixty times a second for as
// long as it runs.
type drawing struct {
	*model
	sheet sheet
	busy  bool // a frame is being written
}

// Update implements tea.Model.
func (p *drawing) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg.(type) {
	case drawnMsg:
		p.busy = false
	case resumedMsg:
		p.sheet = sheet{}
		_, cmd = p.model.Update(msg)
	default:
		_, cmd = p.model.Update(msg)
	}
	return p, tea.Batch(cmd, p.draw())
}

// View implements tea.Model. Frames are written by draw.
func (p *drawing) View() string { return "" }

func (p *drawing) draw() tea.Cmd {
	if p.busy || p.w == 0 {
		return nil
	}
	out := p.sheet.turn(p.model.View(), p.w, p.h)
	if p.titled != p.sheet.title {
		p.sheet.title = p.titled
		out += "\x1b]2;" + string(p.titled) + "\a"
	}
	if out == "" {
		return nil
	}
	p.busy = true
	return p.d.do(func(context.Context) tea.Msg {
		_, _ = p.d.Write([]byte(out)) // a terminal that is gone ends the UI by itself
		return drawnMsg{}
	})
}

// sheet is the screen as it stands in the terminal. Its zero value knows nothing of what is there.
type sheet struct {
	w, h  int
	lines []string
	title words
}

// turn returns what makes the terminal show page, and takes it as shown.
func (s *sheet) turn(page string, w, h int) string {
	lines := strings.Split(page, "\n")
	lines = lines[:min(len(lines), h)]
	var out strings.Builder
	if w != s.w || h != s.h {
		out.WriteString(wipeScreen)
		s.w, s.h, s.lines = w, h, make([]string, h)
	}
	for i := range s.lines {
		next := ""
		if i < len(lines) {
			next = lines[i]
		}
		if next != s.lines[i] {
			// The line is wiped first: behind a character in the last column a terminal would wipe that. The return
			// keeps the lines apart in what a recording makes of it without its sequences.
			out.WriteString("\r\x1b[" + strconv.Itoa(i+1) + ";1H" + wipeLine + next)
			s.lines[i] = next
		}
	}
	return out.String()
}
