package skew

import "time"

// wall is the wall clock as a time since a moment.
func wall() time.Duration { return time.Duration(time.Now().UnixNano()) }
