//go:build !linux

package verdicts

import "time"

var started = time.Now()

// cpuTime returns the time that passed.
func cpuTime() time.Duration { return time.Since(started) }
