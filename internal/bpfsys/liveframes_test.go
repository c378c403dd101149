package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// counting is a program that counts its runs in the only element of an array and returns a number.
func counting(array int, ret int32) []decode.Insn {
	return []decode.Insn{
		{Code: 0x18, Dst: 1, Src: 2, Imm: int32(array)}, {}, // r1 = &array[0]
		{Code: 0xb7, Dst: 2, Imm: 1}, {Code: 0xdb, Dst: 1, Src: 2}, // lock *r1 += 1
		{Code: 0xb7, Imm: ret}, {Code: 0x95},
	}
}

// TestLiveFramesReachTC checks that frames that an XDP program passes reach the tc program of their
// device, others do not, and that the verdicts are not reported.
func TestLiveFramesReachTC(t *testing.T) {
	const live = 2
	k := newCaller(t, newestKernel(t))
	runs, seen := k.must(k.createMap(uapi.MapTypeArray, 4, 8, 1, 0)), k.must(k.createMap(uapi.MapTypeArray, 4, 8, 1, 0))
	tc := k.must(k.load(uapi.ProgTypeSchedCls, counting(seen, 0), field{68, int(uapi.AttachTcxIngress)}))
	_, r := k.try(uapi.CmdLinkCreate, field{0, tc}, field{4, 1}, field{8, int(uapi.AttachTcxIngress)}, field{12, 0})
	k.must(0, r.errno)
	count := func(m int) uint64 { v, _ := k.read(int64(m), k.word(0)); return v }
	for _, tt := range []struct {
		verdict int32
		passed  uint64
	}{{2, 5}, {1, 0}, {3, 0}} {
		before, was := count(runs), count(seen)
		p := k.must(k.load(uapi.ProgTypeXDP, counting(runs, tt.verdict)))
		_, e, out := k.call(uint32(uapi.CmdProgTestRun), field{0, p}, field{4, 77}, field{8, 64}, field{16, k.room(64)}, field{32, 5}, field{64, live}, field{68, 0}, field{72, 3})
		assert.Zero(t, e)
		assert.Zero(t, le.Uint32(out[4:]), "no verdict")
		assert.Equal(t, uint64(5), count(runs)-before)
		assert.Equal(t, tt.passed, count(seen)-was, "verdict %d", tt.verdict)
	}
	p := k.must(k.load(uapi.ProgTypeXDP, counting(runs, 2)))
	for name, tt := range map[string]struct {
		size, batch int
		want        uapi.Errno
	}{
		"largest frame": {3408, 0, 0}, "larger": {3409, 0, uapi.EINVAL}, "largest batch": {64, 256, 0}, "larger batch": {64, 257, uapi.E2BIG}, "too short": {13, 0, uapi.EINVAL},
	} {
		_, e, _ := k.call(uint32(uapi.CmdProgTestRun), field{0, p}, field{8, tt.size}, field{16, k.room(tt.size)}, field{64, live}, field{68, 0}, field{72, tt.batch})
		assert.Equal(t, tt.want, e, name)
	}
}

// TestLengthsOfPacketsInTestRuns: XDP programs take 17 pages after the linear part, others of the
// older kernel one page. Both have no limit before those are full.
func TestLengthsOfPacketsInTestRuns(t *testing.T) {
	const linear, pages = 4096 - 256 - 320, 17
	for _, tt := range []struct {
		typ  uapi.ProgType
		size int
		want uapi.Errno
	}{
		{uapi.ProgTypeXDP, 0, uapi.EINVAL}, {uapi.ProgTypeXDP, 13, uapi.EINVAL}, {uapi.ProgTypeXDP, 14, 0},
		{uapi.ProgTypeXDP, linear + pages*4096, 0}, {uapi.ProgTypeXDP, linear + pages*4096 + 1, uapi.ENOMEM},
		{uapi.ProgTypeXDP, (pages + 1) * 4096, uapi.ENOMEM}, {uapi.ProgTypeXDP, (pages+1)*4096 + 1, uapi.ENOMEM}, {uapi.ProgTypeXDP, (pages + 2) * 4096, uapi.ENOMEM},
		{uapi.ProgTypeSchedCls, 4096 - 64 - 320, 0}, {uapi.ProgTypeSchedCls, 4096 - 64 - 320 + 1, uapi.EINVAL}, {uapi.ProgTypeSchedCls, (pages + 2) * 4096, uapi.EINVAL},
	} {
		k := newTask(t) // Linux 6.12
		p, e := k.load(tt.typ, returning(2))
		require.Zero(t, e)
		_, e, _ = k.call(testRun, field{0, int(p)}, field{8, tt.size}, field{16, k.room(tt.size)}, field{32, 1}, field{36, 0})
		assert.Equal(t, tt.want, e, "%v of %d bytes: %v", tt.typ, tt.size, k.notes)
	}
}
