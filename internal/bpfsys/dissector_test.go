package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestDissectorsOfTestRunsHaveNoSkb: bpf_skb_load_bytes fails there, whatever the packet.
func TestDissectorsOfTestRunsHaveNoSkb(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	p := k.must(k.load(uapi.ProgTypeFlowDissector, []decode.Insn{
		{Code: 0x7a, Dst: 10, Off: -8, Imm: -1},                                                                          // a word of the stack
		{Code: 0xb7, Dst: 2}, {Code: 0xbf, Dst: 3, Src: 10}, {Code: 0x07, Dst: 3, Imm: -8}, {Code: 0xb7, Dst: 4, Imm: 8}, // offset 0, 8 bytes
		{Code: 0x85, Imm: 26},                  // bpf_skb_load_bytes
		{Code: 0x79, Dst: 1, Src: 10, Off: -8}, // which clears what it cannot fill
		{Code: 0x55, Dst: 0, Imm: -14, Off: 3}, // EFAULT
		{Code: 0x55, Dst: 1, Off: 2},           // and zero
		{Code: 0xb7, Imm: 0}, {Code: 0x95},     // BPF_OK
		{Code: 0xb7, Imm: 2}, {Code: 0x95}, // BPF_DROP
	}, field{68, int(uapi.AttachFlowDissector)}))
	packet := make([]byte, 64)
	packet[12], packet[13] = 8, 0
	for i := range 12 {
		packet[i] = 0xaa
	}
	_, e, a := k.call(testRun, field{0, p}, field{8, 64}, field{16, k.put(packet)}, field{68, 0})
	require.Zero(t, e, "%v", k.notes)
	assert.EqualValues(t, 0, le.Uint32(a[4:]))
}
