package shop

import "testing"

// An order is kept.
//
// Clauses, B-1.01
func TestOrderIsKept(t *testing.T) {}

/*
An order is shown.

Clauses
Clauses
*/
func TestOrderIsShown(t *testing.T) {}

// Clauses: B-1.01
func FuzzOrder(f *testing.F) {}

// An example of a mark is none:
//
//	// Clauses
//	Clauses
//
// and neither is a sentence about Clauses.
func TestWithoutAMark(t *testing.T) {}
