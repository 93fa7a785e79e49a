package agent

// Contexts returns how many browser contexts of the agent are joined to a Session.
func Contexts(a *Agent) int {
	a.visits.mu.Lock()
	defer a.visits.mu.Unlock()
	return len(a.visits.list)
}
