package operation

import "github.com/papaver-agent/papaver/internal/strictjson"

// From Operations v3 and the draft it builds on.
const (
	// MaxReference is the length of a Poppy-Operation reference, in characters (Operations v3, section 4).
	MaxReference = 2048
	// MaxID is the length of an operation ID, a revision, or the reference of an approval, in characters
	// (draft 0.1, section 7.2; a guess for 1.0).
	MaxID = 256
)

// Ours.
const (
	// MaxAnswer is the size of one whole answer of the operations endpoint, in bytes: more than a person
	// can read before they approve.
	MaxAnswer = strictjson.MaxBytes
	// MaxDepth is the number of nested objects and arrays of one whole answer: more than a person can
	// follow, and few enough to recurse over.
	MaxDepth = strictjson.MaxDepth
	// MaxInputType is the length of an input_type, in characters. The specification says "a short string".
	MaxInputType = 32
	// MaxDifferences is the number of differences that are spelled out; how many more there are is one
	// further difference. A summary of a thousand numbers must not push the terms out of sight.
	MaxDifferences = 20
	// maxExponent bounds the exponent of a number literal that is compared by value. A literal beyond it
	// is compared as text, so that 1e999999999 costs nothing.
	maxExponent = 30
	// maxNumber is the length of a number that is compared by value, in characters.
	maxNumber = 64
)

func answerLimits() strictjson.Limits {
	return strictjson.Limits{Bytes: MaxAnswer, Depth: MaxDepth}
}
