package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestTestRunsEndAtATracepoint: writable programs at bpf_test_finish replace the result of a test
// run.
func TestTestRunsEndAtATracepoint(t *testing.T) {
	for _, c := range []struct {
		stored int32
		value  int64
		errno  uapi.Errno
	}{{42, 42, 0}, {-int32(uapi.ENOENT), 0, uapi.ENOENT}, {0, 0, 0}} {
		k := newCaller(t, newestKernel(t))
		writes := []decode.Insn{
			{Code: 0x79, Dst: 6, Src: 1}, {Code: 0x61, Src: 6}, // the kernel's own result
			{Code: 0xb7, Imm: c.stored}, {Code: 0x63, Dst: 6}, {Code: 0x95},
		}
		tp, e := k.load(uapi.ProgTypeRawTracepointWritable, writes)
		require.Zero(t, e)
		filter, e := k.load(uapi.ProgTypeSocketFilter, returning(0))
		require.Zero(t, e)
		run := func() (int64, uapi.Errno) {
			v, e, _ := k.call(testRun, field{0, int(filter)}, field{4, 0}, field{8, 64}, field{16, k.room(64)}, field{32, 1}, field{36, 0})
			return v, e
		}
		v, e := run()
		assert.Zero(t, v)
		assert.Zero(t, e)
		link, e, _ := k.call(rawOpen, field{0, k.text("bpf_test_finish")}, field{8, int(tp)})
		require.Zero(t, e)
		v, e = run()
		assert.Equal(t, c.value, v)
		assert.Equal(t, c.errno, e, "%v", k.notes)
		k.close(link)
		v, e = run()
		assert.Zero(t, v)
		assert.Zero(t, e)
	}
}
