package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/recent"
	"github.com/bpfrun/bpfrun/jit/amd64"
	"github.com/bpfrun/bpfrun/jit/arm64"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// TestPiecesFit: no piece of code takes more than half of the room that there is for each, whatever
// the operands.
func TestPiecesFit(t *testing.T) {
	for _, backend := range []struct {
		name    string
		compile func(*plan.Program, plan.Target, *plan.Code) error
	}{{"amd64", amd64.Compile}, {"arm64", arm64.Compile}} {
		t.Run(backend.name, func(t *testing.T) {
			var out plan.Code
			longest := 0
			fits := func(what any, length int) {
				assert.LessOrEqual(t, length, plan.MaxPiece/2, "%v", what)
				longest = max(longest, length)
			}
			all := append(inlines[:len(inlines):len(inlines)], hashes()...)
			for _, in := range demanding(all) {
				p := &plan.Program{
					Used: 1<<11 - 1, MayGoto: true, Calls: true, Timed: true, Insns: make([]plan.Insn, 4), Cells: plan.MaxCells, Inlines: all,
				}
				for i := range p.Insns {
					p.Insns[i].Kind, p.Insns[i].Mark = plan.KindSecond, -1
				}
				p.Insns[1] = in
				out.Reset(len(p.Insns))
				require.NoError(t, backend.compile(p, plan.Target{Base: 1<<63 + 0x123456789, Marks: true}, &out))
				fits(in.Op, int(out.Starts[2]-out.Starts[1]))
				fits("what is out of line", len(out.Text)-int(out.Cold)) // up to three pieces
				assert.LessOrEqual(t, out.Starts[0], uint32(plan.MaxPiece), "what stands in front")
			}
			require.NotZero(t, longest)
			t.Log(longest, "bytes at most")
		})
	}
}

var inlines = []plan.Inline{{Kind: vm.InlineLookup, Map: 1 << 63, Array: vm.Array{
	Elements: 1 << 31, Stride: 1 << 30, CPUStride: 1 << 30, CPUs: 64, Base: 1 << 63, Table: make([]uint64, 1), Shift: 9,
}}, {Kind: vm.InlineBoot}}

// hashes are the largest searches: keys of most words and most parts of words.
func hashes() (out []plan.Inline) {
	for _, size := range []int{plan.MaxKey, plan.MaxKey - 1} {
		for _, trie := range []bool{false, true} {
			h := &vm.Hash{KeySize: size, Tab: new([]uint64), Keys: new([]byte), Bases: new([]uint64), Shift: 9, Stride: 1 << 30, CPUStride: 1 << 30, CPUs: 64, Open: 1 << 29}
			if trie {
				h.Lengths, h.Masks = new([]uint32), new([]uint64)
			} else {
				h.Order = recent.New(64, 1<<20)
			}
			out = append(out, plan.Inline{Kind: vm.InlineLookup, Map: 1 << 63, Hash: h})
		}
	}
	return out
}

// demanding returns instructions of all ops and kinds with what takes most code. They are at 1 of
// 4.
func demanding(inlines []plan.Inline) []plan.Insn {
	var all []plan.Insn
	for op := range decode.NumOps {
		for _, in := range []plan.Insn{
			{Check: plan.CheckNone, Off: -512},
			{Check: plan.CheckRange, Cell: plan.MaxCells - 1, Flags: plan.FlagWord},
			{Check: plan.CheckRange, Cell: -1, Flags: plan.FlagRangeStore | plan.FlagWord},
			{Check: plan.CheckDone, Flags: plan.FlagBack},
			{Check: plan.CheckDone, Flags: plan.FlagSwap},
		} {
			in.Kind, in.Op, in.Size, in.Dst, in.Src, in.Base = plan.KindOf(op), op, max(1, op.Info().Size), 9, 8, 9
			switch in.Lo, in.Hi = -32768, -32768+57; in.Check {
			case plan.CheckRange:
				in.Off = in.Lo
			case plan.CheckDone:
				in.Off = -1 << 21
			}
			in.Taken, in.Next, in.Count, in.Saves, in.Mark, in.Target = 1<<30, 1<<30, 1<<30, 15, 1<<20, 3
			if in.Has(plan.FlagBack) {
				in.Target = 0
			}
			if op != decode.OpLdxW {
				in.Flags &^= plan.FlagWord
			}
			for _, in.Imm = range []uint64{0x123456789abcdef0, 0x7ffffff1, ^uint64(6), 1 << 16} {
				all = append(all, in)
				if in.Has(plan.FlagWord) {
					in.Target = plan.MaxWords - 1
					all = append(all, in)
				}
			}
		}
	}
	for i := range inlines {
		size := uint8(4)
		if h := inlines[i].Hash; h != nil {
			size = uint8(h.KeySize)
		}
		for _, cell := range []int16{-1, 0} {
			all = append(all, plan.Insn{
				Kind: plan.KindCallInline, Imm: uint64(i), Base: 2, Size: size, Check: plan.CheckRange, Cell: cell, Hi: int32(size), Next: 1 << 30, Mark: 1 << 20,
			})
		}
	}
	for _, flags := range []plan.Flag{0, plan.FlagBound, plan.FlagRangeStore} {
		for _, base := range []uint8{9, plan.NoBase} {
			all = append(all, plan.Insn{
				Kind: plan.KindGuard, Flags: flags, Base: base, Off: -512, Cell: plan.MaxCells - 1, Lo: -1 << 30, Hi: 1 << 30, Mark: 1 << 20,
			})
		}
	}
	return all
}
