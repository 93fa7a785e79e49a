// Package retryafter reads how long a server asks to wait.
package retryafter

import (
	"net/http"
	"strconv"
	"time"
)

// Read returns how long from now a Retry-After header's value asks to wait, in either of its forms, seconds or a date,
// and at most longest (RFC 9110, section 10.2.3). A value that is neither, or a date that is past, is 0.
func Read(value string, now time.Time, longest time.Duration) time.Duration {
	d := time.Duration(0)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), longest)
}
