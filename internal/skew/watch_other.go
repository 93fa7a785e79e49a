//go:build !linux

package skew

import (
	"context"
	"errors"
	"time"
)

var never time.Time

// told is an error where no kernel is known that tells.
func told(context.Context, time.Time, func()) error { return errors.ErrUnsupported }
