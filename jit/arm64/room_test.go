package arm64

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// TestPiecesFit: no piece of code takes more than half of the room that there is for each, whatever the operands.
func TestPiecesFit(t *testing.T) {
	p := &plan.Program{Used: 1<<11 - 1, MayGoto: true, Calls: true, Insns: make([]plan.Insn, 4), Cells: plan.MaxCells}
	p.Inlines = []plan.Inline{{Kind: vm.InlineLookup, Map: 1 << 63, Array: vm.Array{
		Elements: 1 << 31, Stride: 1 << 30, CPUStride: 1 << 30, CPUs: 64, Base: 1 << 63, Table: make([]uint64, 1), Shift: 9,
	}}, {Kind: vm.InlineBoot}}
	c := &compiler{p: p, out: &plan.Code{Starts: make([]uint32, 4)}, calls: true, pc: 1, base: 1<<63 + 0x123456789}
	c.Room(1 << 16)
	longest := 0
	measure := func(what any, emit func()) {
		c.Start(c.Code())
		c.Room(1 << 14)
		c.colds = c.colds[:0]
		from := c.Len()
		emit()
		longest = max(longest, c.Len()-from)
		assert.LessOrEqual(t, c.Len()-from, maxPiece/2, "%v", what)
		for i := range c.colds {
			cold := c.colds
			c.colds = cold[i : i+1]
			from = c.Len()
			c.coldCode()
			longest = max(longest, c.Len()-from)
			assert.LessOrEqual(t, c.Len()-from, maxPiece/2, "%v out of line", what)
			c.colds = cold
		}
	}
	measure("around", func() {
		c.prologue()
		c.exitCode()
	})
	measure("routines", func() {
		c.subroutines()
	})
	for op := range decode.NumOps {
		for _, in := range []plan.Insn{
			{Check: plan.CheckNone, StackOff: -512},
			{Check: plan.CheckRange, Cell: plan.MaxCells - 1, Flags: plan.FlagWord},
			{Check: plan.CheckRange, Cell: -1, Flags: plan.FlagRangeStore | plan.FlagWord},
			{Check: plan.CheckDone, Flags: plan.FlagBack},
		} {
			info := op.Info()
			in.Op, in.Size, in.Dst, in.Src, in.Base = op, max(1, info.Size), 9, 8, 9
			in.Off, in.Lo, in.Hi = -32768, -32768, -32768+57
			in.Taken, in.Next, in.Count, in.Saves, in.Mark, in.Target = 1<<30, 1<<30, 1<<30, 15, 1<<20, 3
			if in.Has(plan.FlagBack) {
				in.Target = 0
			}
			if op != decode.OpLdxW {
				in.Flags &^= plan.FlagWord
			}
			for _, in.Imm = range []uint64{0x123456789abcdef0, 0x7ffffff1, ^uint64(6), 1 << 16} {
				for _, w := range []int32{0, plan.MaxWords - 1} {
					p.Insns[1] = in
					at := &p.Insns[1]
					if at.Has(plan.FlagWord) {
						at.Target = w
					}
					measure(op, func() {
						c.mark(at)
						if r := &rules[op]; r.emit != nil {
							r.emit(c, at, r)
						}
						c.next(at)
					})
				}
			}
		}
	}
	for i := range p.Inlines {
		for _, cell := range []int16{-1, 0} {
			p.Insns[1] = plan.Insn{Kind: plan.KindCallInline, Imm: uint64(i), Base: 2, Size: 4, Check: plan.CheckRange, Cell: cell, Hi: 4, Next: 1 << 30, Mark: 1 << 20}
			measure(i, func() {
				c.mark(&p.Insns[1])
				c.inline(&p.Insns[1])
			})
		}
	}
	require.NotZero(t, longest)
	t.Log(longest, "bytes at most")
}
