package loader

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
)

// begins is EachLine by asking for the line of every instruction.
func begins(lp *LinkedProgram) map[int]btf.LineInfo {
	out, last := map[int]btf.LineInfo{}, -1
	for pc := range lp.Insns {
		li, ok := lp.LineAt(pc)
		if f, is := lp.FuncAt(pc); ok && (int(li.InsnOff) != last || is && f.Start == pc) {
			out[pc], last = li, int(li.InsnOff)
		}
	}
	return out
}

func TestEachLineBeginsWhereLineAtChanges(t *testing.T) {
	target, err := testbtf.Load("../testdata/btf/linux-7.2.13-amd64.btf.xz")
	require.NoError(t, err)
	lines, programs := 0, 0
	for _, pattern := range []string{"../testdata/objects/*/*.o", "../examples/*/*.o"} {
		for _, o := range openAll(t, pattern) {
			l, err := o.Load(NewTarget("6.6", target), LoadOptions{AnyByteOrder: true, CopyCalled: true})
			if err != nil {
				continue
			}
			for _, lp := range l.Programs {
				if len(lp.Insns) == 0 {
					continue
				}
				got, last := map[int]btf.LineInfo{}, -1
				lp.EachLine(func(pc int, li btf.LineInfo) {
					require.Greater(t, pc, last, "%s %s", o.Name, lp.Name)
					last, got[pc] = pc, li
				})
				require.Equal(t, begins(lp), got, "%s %s", o.Name, lp.Name)
				lines += len(got)
				programs++
			}
		}
	}
	assert.Greater(t, programs, 200)
	assert.Greater(t, lines, 5000)
}

// Records that are not in .BTF.ext: two at one instruction, one between two slots, one before the
// function, and one behind its end.
func TestEachLineOfGivenRecords(t *testing.T) {
	fn := &Function{SectionOff: 2}
	record := func(off, line uint32) btf.LineInfo { return btf.LineInfo{InsnOff: off, Line: line} }
	for _, records := range [][]btf.LineInfo{
		{},
		{record(16, 1)},
		{record(0, 1), record(24, 2), record(24, 3), record(36, 4), record(80, 5)},
		{record(20, 1), record(40, 2)},
		{record(48, 1)},
	} {
		lp := &LinkedProgram{Program: &Program{}, Insns: make([]decode.Insn, 6), Funcs: []Func{{Start: 1, Len: 4, Function: fn, Lines: records}}}
		got := map[int]btf.LineInfo{}
		lp.EachLine(func(pc int, li btf.LineInfo) { got[pc] = li })
		assert.Equal(t, begins(lp), got, "%v", records)
	}
}
