//go:build linux && (amd64 || arm64)

package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// A request to the listener that a signal interrupts is made again; any other answer counts.
func TestInterruptedRequestsAreRepeated(t *testing.T) {
	for _, last := range []unix.Errno{0, unix.ENOENT} {
		made := 0
		got := again(func() unix.Errno {
			if made++; made < 3 {
				return unix.EINTR
			}
			return last
		})
		assert.Equal(t, last, got)
		assert.Equal(t, 3, made)
	}
}
