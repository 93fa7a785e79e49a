package shop

import "testing"

// Clauses
func TestOfAnUnknownClause(t *testing.T) {}

// Clauses
func helper(t *testing.T) {}

// Clauses
func Testable(t *testing.T) {}

// Clauses
func TestOfTheWrongType(b *testing.B) {}

// Clauses

func TestApartFromItsComment(t *testing.T) {
	// Clauses
	helper(t)
}

// Clauses, , A-1.01
func TestWithABadList(t *testing.T) {}
