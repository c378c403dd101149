package configs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

// The least value is that which counting from the range's start finds first.
func TestLeastValue(t *testing.T) {
	const most = 32
	for value := range uint64(most) {
		for mask := range uint64(most) {
			for lo := range uint64(most) {
				for hi := lo; hi < most; hi += 3 {
					v := Values{lo, hi, num.Tnum{Value: value &^ mask, Mask: mask}}
					want, found := uint64(0), false
					for x := lo; x <= hi && !found; x++ {
						want, found = x, v.Holds(x)
					}
					got, ok := v.least()
					if assert.Equal(t, found, ok, "%+v", v); ok {
						assert.Equal(t, want, got, "%+v", v)
					}
				}
			}
		}
	}
	top := Values{1 << 63, ^uint64(0), num.Tnum{Value: 5, Mask: ^uint64(7)}}
	x, ok := top.least()
	assert.True(t, ok)
	assert.Equal(t, uint64(1)<<63|5, x)
}
