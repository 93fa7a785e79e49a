package tui

import tea "github.com/charmbracelet/bubbletea"

// minWidth and minHeight are the smallest terminal, in cells, in which a question is shown and answered.
const minWidth, minHeight = 40, 12

type model struct{ ending error }

func newModel(Config, *device) *model { return &model{} }

func (m *model) Init() tea.Cmd                       { return nil }
func (m *model) Update(tea.Msg) (tea.Model, tea.Cmd) { return m, nil }
func (m *model) View() string                        { return "" }
func (m *model) lastScreen(int) string               { return "" }
