package bpfsys_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// innerLog returns the verifier's log about a program that looks up an element of a map of maps,
// and then one of that element.
func innerLog(t *testing.T, k *task) string {
	inner, e := k.createMap(uapi.MapTypeArray, 4, 8, 1, 0, field{28, "inside"})
	require.Zero(t, e)
	outer, e := k.createMap(uapi.MapTypeArrayOfMaps, 4, 4, 1, 0, field{20, int(inner)}, field{28, "outside"})
	require.Zero(t, e)
	log := k.room(8192)
	_, e = k.load(uapi.ProgTypeSocketFilter, []decode.Insn{
		{Code: 0x62, Dst: 10, Off: -4}, {Code: 0xbf, Dst: 2, Src: 10}, {Code: 0x07, Dst: 2, Imm: -4}, // r2 = &0
		{Code: 0x18, Dst: 1, Src: 1, Imm: int32(outer)}, {}, {Code: 0x85, Imm: 1}, // r0 = lookup(outer, r2)
		{Code: 0x55, Off: 1}, {Code: 0x95}, // if r0 == 0: exit
		{Code: 0xbf, Dst: 1}, {Code: 0xb7}, {Code: 0x95},
	}, field{24, 2}, field{28, 8192}, field{32, log})
	require.Zero(t, e, "%v", k.notes)
	text, _, _ := strings.Cut(string(k.at(log, 8192)), "\x00")
	return text
}

// TestInnerMapsHaveNoNameInLogs: a map of maps keeps the attributes of the map that it was made
// with, not its name. So it is in the log of Linux 6.18.44.
func TestInnerMapsHaveNoNameInLogs(t *testing.T) {
	text := innerLog(t, newTask(t))
	assert.Contains(t, text, "map_ptr(map=outside,ks=4,vs=4)")
	assert.Contains(t, text, "R1_w=map_ptr(ks=4,vs=8)")
	assert.NotContains(t, text, "inside")
}
