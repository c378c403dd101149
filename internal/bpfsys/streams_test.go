package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestStreamsAreRead: what a program wrote to a stream is read once, in parts (bpf_stream_read).
func TestStreamsAreRead(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	text := k.must(k.createMap(uapi.MapTypeArray, 4, 8, 1, uapi.MapRdonlyProg))
	_, e, _ := k.call(uint32(uapi.CmdMapUpdateElem), field{0, text}, field{8, k.room(4)}, field{16, k.put([]byte("foo\x00\x00\x00\x00\x00"))}, field{24, uint64(0)})
	require.Zero(t, e)
	_, e, _ = k.call(mapFreeze, field{0, text})
	require.Zero(t, e)
	prog := k.must(k.load(uapi.ProgTypeSyscall, []decode.Insn{
		{Code: 0xb7, Dst: 1, Imm: 1},                       // BPF_STDOUT
		{Code: 0x18, Dst: 2, Src: 2, Imm: int32(text)}, {}, // "foo"
		{Code: 0x7a, Dst: 10, Off: -8}, {Code: 0xbf, Dst: 3, Src: 10}, {Code: 0x07, Dst: 3, Imm: -8}, {Code: 0xb7, Dst: 4, Imm: 8}, // an argument that it does not print
		{Code: 0x85, Src: 2, Imm: int32(k.typeID(btf.KindFunc, "bpf_stream_vprintk"))},
		{Code: 0xb7}, {Code: 0x95},
	}, field{44, 1 << 4}))
	const stdout, stderr, noStream = 1, 2, 3
	to := k.room(64)
	read := func(stream int, at uint64, n int) (string, uapi.Errno) {
		got, e, _ := k.call(uint32(uapi.CmdProgStreamReadByFd), field{0, at}, field{8, n}, field{12, stream}, field{16, prog})
		if e != 0 {
			return "", e
		}
		return string(k.at(to, int(got))), 0
	}
	check := func(stream int, at uint64, n int, want string, errno uapi.Errno) {
		t.Helper()
		got, e := read(stream, at, n)
		assert.Equal(t, want, got)
		assert.Equal(t, errno, e)
	}
	check(stdout, to, 64, "", 0)
	for range 2 {
		_, e, _ = k.call(uint32(uapi.CmdProgTestRun), field{0, prog}, field{4, 0})
		require.Zero(t, e)
	}
	check(noStream, to, 64, "", uapi.ENOENT)
	check(stdout, 0, 64, "", uapi.EFAULT)
	check(stdout, to, 2, "fo", 0)
	check(stderr, to, 64, "", 0)
	check(stdout, to, 64, "ofoo", 0)
	check(stdout, 0, 64, "", 0)
}
