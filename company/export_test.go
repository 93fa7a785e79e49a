package company

import "time"

// Stored is a stored response as a test sees it.
type Stored struct {
	Body  []byte
	Fresh func(now time.Time) bool
}

// ReadStored reads a file of the cache; nil when it holds nothing that may be used for that URL.
func ReadStored(data []byte, from string) *Stored {
	e := readEntry(data, from)
	if e == nil {
		return nil
	}
	return &Stored{e.Body, e.fresh}
}
