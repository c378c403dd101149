package loader

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Programs of type syscall always may sleep, whichever way they get the type.
func TestTypeSyscallSleeps(t *testing.T) {
	for typ, sleeps := range map[uapi.ProgType]bool{uapi.ProgTypeSyscall: true, uapi.ProgTypeXDP: false} {
		p := &Program{Section: "xyz/blah"}
		p.override(typ)
		assert.Equal(t, sleeps, p.Sleepable, "%s", typ)
		assert.Equal(t, sleeps, p.Flags&uapi.ProgSleepable != 0, "%s", typ)
	}
}
