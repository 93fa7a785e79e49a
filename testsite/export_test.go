package testsite

// RuleIDs lists the ids of the website's table of rules.
func RuleIDs() []string {
	var ids []string
	for _, r := range ruleTable {
		ids = append(ids, r.id)
	}
	return ids
}

// NewestRevision gives the name of the operation's newest revision, which no answer may have carried.
func (s *Site) NewestRevision(operationID string) string {
	s.ops.mu.Lock()
	defer s.ops.mu.Unlock()
	op := s.ops.operationLocked(operationID)
	return op.revisions[len(op.revisions)-1].id
}

// SwitchNames lists the switches of the control port.
func SwitchNames() []string {
	var names []string
	for _, row := range switches {
		names = append(names, row.name)
	}
	return names
}
