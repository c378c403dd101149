package differ

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestWhatLooksLikeAnAddress: numbers at both ends of the kernel's half, and errors, which are none.
func TestWhatLooksLikeAnAddress(t *testing.T) {
	for v, is := range map[uint64]bool{
		0: false, 7: false, 1 << 47: false, 0xff7f_ffff_ffff_ffff: false, 0xff80_0000_0000_0000: true, 0xffff_8000_0000_0000: true, 0xffff_ffff_8100_0000: true,
		1<<64 - 4096: true, 1<<64 - 4095: false, 1<<64 - 22: false, 1<<64 - 1: false,
	} {
		p := binary.LittleEndian.AppendUint64([]byte{1, 2, 3, 4, 5, 6, 7, 8}, v)
		p = append(p, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x88) // no whole word
		want := bytes.Clone(p)
		if is {
			clear(want[8:16])
		}
		assert.Equal(t, want, withoutAddresses(p), "%#x", v)
	}
}
