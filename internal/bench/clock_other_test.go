//go:build !linux

package bench

import "time"

var began = time.Now()

// clock is the time since the tests began: threads have no clock of their own here.
func clock() time.Duration { return time.Since(began) }
