package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestRingsThatOverwrite: user space sees how far the oldest records were given up, in the
// producer's page, and what poll(2) says follows.
func TestRingsThatOverwrite(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	ring := k.must(k.createMap(uapi.MapTypeRingbuf, 0, 0, 4096, uapi.MapRbOverwrite))
	prog := k.must(k.load(uapi.ProgTypeSocketFilter, sends(int64(ring))))
	object := k.files[int32(ring)].Object
	require.Zero(t, k.s.MapRange(object, bpfsys.ReadWrite, 4096, 4096+2*4096, false, true))
	mem := bpfsys.Shared(object).Bytes()
	run := func(n int) {
		for range n {
			_, e, _ := k.call(testRun, field{0, prog}, field{8, 64}, field{16, k.room(64)}, field{68, 0})
			require.Zero(t, e, "%v", k.notes)
		}
	}
	positions := func() []uint64 { return []uint64{le.Uint64(mem), le.Uint64(mem[4096:]), le.Uint64(mem[4096+16:])} }
	run(255)
	assert.Equal(t, []uint64{0, 4080, 0}, positions(), "consumer, producer, overwritten")
	run(1)
	assert.Equal(t, []uint64{0, 4096, 16}, positions())
	run(255)
	assert.Equal(t, []uint64{0, 2*4096 - 16, 4096}, positions())
	assert.True(t, k.s.Readable(object))
	le.PutUint64(mem, 2*4096-16)
	assert.False(t, k.s.Readable(object), "everything was read")
	run(1)
	assert.True(t, k.s.Readable(object))
}
