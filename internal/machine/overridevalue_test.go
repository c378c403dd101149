package machine

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestWhichCallsAreOverridden: an override of one call leaves those before and after it alone, one
// of all calls gives its values in turn.
func TestWhichCallsAreOverridden(t *testing.T) {
	failed := uapi.EPERM.Ret()
	for _, c := range []struct {
		o    Override
		call int
		want uint64
		ok   bool
	}{
		{Fails(2, uapi.EPERM), 1, 0, false}, {Fails(2, uapi.EPERM), 2, failed, true}, {Fails(2, uapi.EPERM), 3, 0, false},
		{Fails(0, uapi.EPERM), 1, failed, true}, {Fails(0, uapi.EPERM), 9, failed, true},
		{Override{Returns: []uint64{7, 8}}, 1, 7, true}, {Override{Returns: []uint64{7, 8}}, 2, 8, true}, {Override{Returns: []uint64{7, 8}}, 3, 8, true},
		{Override{FailAt: 3, Returns: []uint64{7, 8}}, 3, 7, true}, {Override{}, 1, 0, false},
	} {
		got, ok := c.o.value(c.call)
		assert.Equal(t, c.ok, ok, "%+v", c)
		if ok {
			assert.Equal(t, c.want, got, "%+v", c)
		}
	}
}
