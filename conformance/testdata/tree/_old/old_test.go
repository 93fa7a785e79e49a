package old

import "testing"

// Clauses
func TestOld(t *testing.T) {}
