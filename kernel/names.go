package kernel

import "github.com/bpfrun/bpfrun/kernel/clock"

// Names of the parts that users of a whole kernel need, so that they import this package alone.
type (
	// Clock is simulated time.
	Clock = clock.Clock
	// ClockConfig sets a clock.
	ClockConfig = clock.Config
)
