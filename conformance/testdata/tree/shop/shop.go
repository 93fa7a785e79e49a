package shop

// Clauses
func TestInNoTestFile() {}
