package record

import (
	"fmt"

	"github.com/bpfrun/bpfrun/decode"
)

// Version returns the version of the running kernel, or 0 if it cannot be determined.
func Version() decode.Version {
	var major, minor int
	if n, _ := fmt.Sscanf(Release(), "%d.%d", &major, &minor); n != 2 {
		return 0
	}
	return decode.KernelVersion(major, minor, 0)
}
