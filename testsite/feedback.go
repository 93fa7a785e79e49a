package testsite

import (
	"net/http"
	"unicode/utf8"

	"github.com/papaver-agent/papaver/testsite/authserver"
	"github.com/papaver-agent/papaver/testsite/wire"
)

// Feedback of agents (draft 0.2, section 8): what an agent looked for and didn't find.
const (
	maxFeedback    = 16 << 10 // bytes of a request
	maxTask        = 200      // characters
	maxDescription = 2000     // characters
)

// feedbackEntry is where feedback goes, in the discovery document.
type feedbackEntry struct {
	Endpoint string `json:"endpoint"`
}

// feedback takes a report from a Session, signed in or not. It is counted and not kept.
func (s *Site) feedback(w http.ResponseWriter, r *http.Request) {
	who, denial := s.caller(w, r)
	if denial != nil {
		denial.Write(w)
		return
	}
	if s.limited(w, who.Client) {
		return
	}
	m, err := authserver.ReadJSON(w, r, maxFeedback)
	kind, okKind := wire.Text(m, "kind")
	task, okTask := wire.Text(m, "task")
	description, okDescription := wire.Text(m, "description")
	if err != nil || !okKind || kind == "" || !okTask || !okDescription ||
		utf8.RuneCountInString(task) > maxTask || utf8.RuneCountInString(description) > maxDescription {
		writeJSON(w, http.StatusBadRequest, errorBody{Error: "invalid_request"})
		return
	}
	s.record.count(func(report *Report) { report.Feedback++ })
	w.WriteHeader(http.StatusAccepted)
}
