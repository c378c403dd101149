package perfattr

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFieldsAreWhereTheKernelHasThem(t *testing.T) {
	raw := make([]byte, Size)
	le := binary.LittleEndian
	le.PutUint32(raw, 8)
	le.PutUint32(raw[4:], 136)
	le.PutUint64(raw[8:], 3)
	le.PutUint64(raw[16:], 1000)
	le.PutUint64(raw[40:], 1|1<<12|2<<15|1<<27)
	le.PutUint64(raw[56:], 0x1234)
	a := New(raw)
	assert.Equal(t, uint32(8), a.Type())
	assert.Equal(t, uint32(136), a.Size())
	assert.Equal(t, uint64(3), a.Config())
	assert.Equal(t, uint64(1000), a.SamplePeriod())
	assert.Equal(t, a.SamplePeriod(), a.SampleFreq(), "members of a union")
	assert.Equal(t, []bool{true, false, true, false, true}, []bool{a.Disabled(), a.Inherit(), a.EnableOnExec(), a.Watermark(), a.WriteBackward()})
	assert.Equal(t, uint64(2), a.PreciseIp())
	assert.Equal(t, uint64(0x1234), a.KprobeFunc())
	assert.Equal(t, uint64(0x1234), a.UprobePath())
}

func TestWhatIsNotPassedIsZero(t *testing.T) {
	raw := make([]byte, MinSize)
	raw[56] = 1
	a := New(raw)
	assert.Equal(t, uint64(1), a.Config1())
	assert.Zero(t, a.Config2())
	assert.Zero(t, a.SigData())
	assert.Equal(t, New(append(make([]byte, Size), 1)), New(nil), "what is longer than the struct is of no field")
}
