package browser

import "github.com/papaver-agent/papaver/internal/secret"

// Secret is a text that every printed form shows as "redacted", such as the value that an act enters. Its zero value is
// empty. It is immutable and safe for concurrent use.
type Secret = secret.Text

// NewSecret wraps a text.
func NewSecret(text string) Secret { return secret.New(text) }
