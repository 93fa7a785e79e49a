package testdata

// Clauses
