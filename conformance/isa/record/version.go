package record

import (
	"fmt"

	"github.com/bpfrun/bpfrun/decode"
)

// Version returns the running kernel's, 0 when it cannot be told.
func Version() decode.Version {
	var major, minor int
	if n, _ := fmt.Sscanf(Release(), "%d.%d", &major, &minor); n != 2 {
		return 0
	}
	return decode.KernelVersion(major, minor, 0)
}
