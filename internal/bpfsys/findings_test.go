package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestFindingsAreNotedOnce: bytes that leave a program of a tool without having been written are
// one note for each place.
func TestFindingsAreNotedOnce(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	ring := k.must(k.createMap(uapi.MapTypeRingbuf, 0, 0, 4096, 0))
	hash := k.must(k.createMap(uapi.MapTypeHash, 8, 16, 4, 0))
	prog := k.must(k.load(uapi.ProgTypeSocketFilter, []decode.Insn{
		{Code: 0x18, Dst: 1, Src: 1, Imm: int32(ring)}, {}, {Code: 0xb7, Dst: 2, Imm: 16}, {Code: 0xb7, Dst: 3},
		{Code: 0x85, Imm: int32(uapi.FuncRingbufReserve)}, {Code: 0x15, Off: 4},
		{Code: 0x7a, Off: 8, Imm: 7},
		{Code: 0xbf, Dst: 1, Src: 0}, {Code: 0xb7, Dst: 2}, {Code: 0x85, Imm: int32(uapi.FuncRingbufSubmit)},
		{Code: 0x7a, Dst: 10, Off: -16, Imm: 1}, // the key is 8 of the 24 bytes, 8 of the value are never written
		{Code: 0x7a, Dst: 10, Off: -24, Imm: 1},
		{Code: 0x18, Dst: 1, Src: 1, Imm: int32(hash)}, {}, {Code: 0xbf, Dst: 2, Src: 10}, {Code: 0x07, Dst: 2, Imm: -24},
		{Code: 0xbf, Dst: 3, Src: 10}, {Code: 0x07, Dst: 3, Imm: -16}, {Code: 0xb7, Dst: 4},
		{Code: 0x85, Imm: int32(uapi.FuncMapUpdateElem)},
		{Code: 0xb7}, {Code: 0x95},
	}))
	for range 3 {
		_, e, _ := k.call(testRun, field{0, prog}, field{8, 64}, field{16, k.room(64)}, field{68, 0})
		assert.Zero(t, e, "%v", k.notes)
	}
	assert.Len(t, k.notes, 2)
	for i, want := range []string{"bpf_ringbuf_submit sends 8 of 16 bytes", "bpf_map_update_elem stores 8 of 16 bytes in map"} {
		assert.Contains(t, k.notes[min(i, len(k.notes)-1)], want)
	}
}
