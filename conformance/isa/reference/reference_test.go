package reference

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
)

const (
	valueAddr = 0x1000
	ctxAddr   = 0x2000
	mapAddr   = 0x3000
	textBase  = 0x10000
	small     = 0x8000000000000000 // the smallest number
)

func machine(t *testing.T, text string) *Machine {
	t.Helper()
	insns, err := decode.Assemble(text)
	require.NoError(t, err)
	m := &Machine{
		Insns: insns, MapAddr: mapAddr, TextBase: textBase, NetworkHeader: 14, Limit: 10_000,
		Value:   Segment{valueAddr, make([]byte, 256)},
		Context: Segment{ctxAddr, make([]byte, 64)},
		Packet:  []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17},
	}
	for i := range m.Stacks {
		m.Stacks[i] = 0x5000 + 0x1000*uint64(i)
	}
	return m
}

// TestValues has the cases that RFC 9669 and the kernel state in words.
func TestValues(t *testing.T) {
	for _, tt := range []struct {
		text string
		want uint64
	}{
		{"r0 = 7; r1 = 0; r0 /= r1", 0},
		{"r0 = 7; r1 = 0; r0 %= r1", 7},
		{"r0 = -7; w1 = 0; w0 %= w1", 0xfffffff9},
		{"r0 = -7; w1 = 0; w0 /= w1", 0},
		{"r0 = -13; r0 s/= 3", 0xfffffffffffffffc},
		{"r0 = -13; r0 s%= 3", 0xffffffffffffffff},
		{"r0 = 13; r0 s%= -3", 1},
		{"r0 = 0x8000000000000000 ll; r0 s/= -1", small},
		{"r0 = 0x8000000000000000 ll; r0 s%= -1", 0},
		{"w0 = -2147483648; w0 s/= -1", 0x80000000},
		{"r0 = 10; r0 /= -1", 0},
		{"r0 = -1; w0 += 1", 0},
		{"r0 = -1; w0 = w0", 0xffffffff},
		{"r0 = 1; r1 = 65; r0 <<= r1", 2},
		{"r0 = 1; r1 = 33; w0 <<= w1", 2},
		{"r0 = -8; r0 s>>= 1", 0xfffffffffffffffc},
		{"w0 = -8; w0 s>>= 1", 0xfffffffc},
		{"r1 = 128; r0 = (s8)r1", 0xffffffffffffff80},
		{"r1 = 128; w0 = (s8)w1", 0xffffff80},
		{"r0 = 0x1122334455667788 ll; r0 = be16 r0", 0x8877},
		{"r0 = 0x1122334455667788 ll; r0 = le32 r0", 0x55667788},
		{"r0 = 0x1122334455667788 ll; r0 = bswap64 r0", 0x8877665544332211},
		{"r1 = map_value(0, 8); *(u64 *)(r1 + 0) = -2; r0 = *(s8 *)(r1 + 0)", 0xfffffffffffffffe},
		{"r1 = map_value(0, 8); *(u32 *)(r1 + 0) = -1; r0 = *(u64 *)(r1 + 0)", 0xffffffff},
		{"r1 = map_value(0, 0); *(u64 *)(r1 + 0) = 5; r2 = 3; r2 = atomic_fetch_add((u64 *)(r1 + 0), r2); r0 = *(u64 *)(r1 + 0); r0 <<= 8; r0 |= r2", 0x805},
		{"r1 = map_value(0, 0); r0 = 0x100000000 ll; r2 = 9; r0 = cmpxchg32_32(r1 + 0, r0, w2); r3 = *(u32 *)(r1 + 0); r0 <<= 8; r0 |= r3", 9},
		{"r6 = r1; r0 = *(u16 *)skb[2]", 0x0203},
		{"r6 = r1; r7 = -1; r0 = *(u8 *)skb[r7 + 5]", 4},
		{"r6 = r1; r0 = *(u8 *)skb[-1048576]", 14},
		{"r6 = r1; r0 = *(u8 *)skb[-2097152]", 0},
		{"r6 = r1; r0 = 77; r0 = *(u32 *)skb[15]; r0 = 78", 0},
		{"r0 = 0; r1 = 3; L: r0 += 2; r1 -= 1; may_goto +1; goto +1; if r1 != 0 goto -5", 2},
		{"r0 = 1; gotol +1; r0 = 2; r0 += 4", 5},
		{"w0 = -1; r1 = 1; if w0 s< w1 goto +1; r0 = 2", 0xffffffff},
		{"w0 = -1; r1 = 1; if w0 < w1 goto +1; r0 = 2", 2},
		{"r6 = 9; r7 = 8; call pc+3; r0 += r6; exit; exit; r6 = 100; r0 = 1", 10},
		{"*(u32 *)(r10 - 4) = 0; r1 = map_fd(0); r2 = r10; r2 += -4; call 1", valueAddr},
		{"*(u32 *)(r10 - 4) = 1; r1 = map_fd(0); r2 = r10; r2 += -4; call 1", 0},
	} {
		t.Run(tt.text, func(t *testing.T) {
			m := machine(t, tt.text+"; exit")
			got, f := m.Run()
			if f != nil {
				t.Fatal(f)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		text, kind string
		pc         int
	}{
		{"r1 = 0; r0 = *(u8 *)(r1 + 0)", FaultMemory, 1},
		{"r2 = r10; *(u8 *)(r2 + 0) = 1", FaultMemory, 1},
		{"r1 = map_value(0, 249); *(u64 *)(r1 + 0) = 1", FaultMemory, 2},
		{"r1 = map_value(0, 2); r2 = 1; lock *(u32 *)(r1 + 0) += w2", FaultMemory, 3},
		{"call pc-1", FaultCallDepth, 0},
		{"goto -1", FaultBudget, 0},
		{"r1 = 1; call 1", FaultBadArgument, 1},
		{"call 2", FaultNotSimulated, 0},
		{"call kfunc#7", FaultNotSimulated, 0},
		{"r1 = 1; r2 = 5; r3 = 0; r4 = 0; call 181", FaultBadTarget, 4},
		{"r0 = addr_space_cast(r1, 0, 1)", FaultNotSimulated, 0},
		{".insn 0xff, 0, 0, 0, 0", FaultInvalid, 0},
	} {
		t.Run(tt.text, func(t *testing.T) {
			m := machine(t, tt.text+"; exit")
			_, f := m.Run()
			if assert.NotNil(t, f) {
				assert.Equal(t, tt.kind, f.Kind, f.Text)
				assert.Equal(t, tt.pc, f.PC, f.Text)
			}
		})
	}
}
