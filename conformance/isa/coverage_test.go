package isa

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/conformance/isa/generate"
	"github.com/bpfrun/bpfrun/decode"
)

// recorded are the vectors of this package, taken from a kernel with `bpfrun conformance record
// isa` (testdata/README.md).
const recorded = "testdata/kernel-6.18-vectors.jsonl.gz"

// wantTimes is how often every instruction has to occur.
const wantTimes = 20

// opCoverage is how an instruction was seen.
type opCoverage struct {
	places map[string]bool // program and slot
	runs   map[string]bool // program and run
	marks  map[string]int  // boundary cases
}

type coverage [decode.NumOps]opCoverage

// collect runs all vectors on the reference evaluator and watches.
func collect(t *testing.T, path string) *coverage {
	var cov coverage
	for i := range cov {
		cov[i] = opCoverage{map[string]bool{}, map[string]bool{}, map[string]int{}}
	}
	it, err := NewInterpreter(Modes[0])
	require.NoError(t, err)
	defer it.Close()
	l, err := it.Layout()
	require.NoError(t, err)
	ref := NewReference(l)
	require.NoError(t, ReadFile(path, func(l Line) error {
		p, err := l.program()
		require.NoError(t, err)
		require.NoError(t, ref.Load(p))
		for i, run := range l.Runs {
			ref.SetTrace(func(pc int, regs *[11]uint64) {
				in := p.Insns[pc]
				c := &cov[in.Op()]
				c.places[fmt.Sprint(p.Name, pc)] = true
				c.runs[fmt.Sprint(p.Name, "/", i)] = true
				for _, m := range marks(in, regs) {
					c.marks[m]++
				}
			})
			in, err := ParseValue(run.In)
			require.NoError(t, err)
			o := ref.Run(&in)
			require.Empty(t, o.Fault, "%s: %s", p.Name, o.Text)
			assert.Equal(t, run.Ret, uint32(o.Ret), p.Name)
			assert.Equal(t, run.Out, o.Value.String(), "%s run %d", p.Name, i)
		}
		return nil
	}))
	return &cov
}

// marks names the boundary cases an execution is one of.
func marks(in decode.Insn, regs *[11]uint64) []string {
	info := in.Info()
	a, b := regs[in.Dst], uint64(int64(in.Imm))
	switch info.Form {
	case decode.FormALUReg, decode.FormJumpReg:
		b = regs[in.Src]
	case decode.FormALUImm, decode.FormJumpImm:
	default:
		return nil
	}
	sa, sb := int64(a), int64(b)
	if info.Width == 32 {
		a, b = uint64(uint32(a)), uint64(uint32(b))
		sa, sb = int64(int32(a)), int64(int32(b))
	}
	var out []string
	mark := func(name string, yes bool) {
		if yes {
			out = append(out, name)
		}
	}
	mark("equal", a == b)
	mark("less", a < b)
	mark("greater", a > b)
	mark("signed less", sa < sb)
	mark("signed greater", sa > sb)
	mark("signs differ", sa < 0 != (sb < 0))
	mark("common bit", a&b != 0)
	mark("no common bit", a&b == 0)
	mark("zero", b == 0)
	mark("minus one", sb == -1)
	mark("smallest", sa == -1<<(info.Width-1) && sb == -1)
	mark("negative dividend", sa < 0)
	mark("count 0", b == 0)
	mark("count masked", b >= uint64(info.Width))
	mark("negative", sa < 0)
	return out
}

// boundaries are the cases that every instruction with that operator must have met.
func boundaries(info *decode.Info) []string {
	reg := info.Form == decode.FormALUReg
	switch info.Form {
	case decode.FormJumpImm, decode.FormJumpReg:
		switch {
		case info.Text == "&":
			return []string{"common bit", "no common bit"}
		case info.Signed():
			return []string{"equal", "signed less", "signed greater", "signs differ"}
		}
		return []string{"equal", "less", "greater"}
	case decode.FormALUImm, decode.FormALUReg:
		switch info.Text {
		case "/", "%", "s/", "s%":
			want := []string{"minus one", "negative dividend"}
			if info.Text[0] == 's' {
				want = append(want, "smallest")
			}
			if reg {
				want = append(want, "zero")
			}
			return want
		case "<<", ">>", "s>>":
			want := []string{"count 0", "negative"}
			if reg {
				want = append(want, "count masked")
			}
			return want
		}
	}
	return nil
}

// TestEveryInstructionRecorded fails when the recorded vectors lack an instruction or one of its
// boundary cases.
func TestEveryInstructionRecorded(t *testing.T) {
	cov := collect(t, recorded)
	gen := generate.New(0, generate.Config{Kernel: true, Version: RecordedKernel})
	for op := decode.OpInvalid + 1; op < decode.NumOps; op++ {
		c := &cov[op]
		if why := gen.Missing(op); why != "" {
			assert.Empty(t, c.runs, "%v is recorded although %s", op, why)
			continue
		}
		if op == decode.OpExit || op == decode.OpLdMapValue { // every program has one
			continue
		}
		assert.GreaterOrEqual(t, len(c.places), wantTimes, "%v: places", op)
		assert.GreaterOrEqual(t, len(c.runs), wantTimes, "%v: runs", op)
		for _, mark := range boundaries(op.Info()) {
			assert.NotZero(t, c.marks[mark], "%v: %s", op, mark)
		}
	}
}

// TestGeneratorCoversEveryInstruction: whatever cannot be recorded is at least generated, or has a
// reason not to be.
func TestGeneratorCoversEveryInstruction(t *testing.T) {
	gen := generate.New(1, generate.Config{})
	forms := map[decode.Op]bool{}
	for _, op := range gen.Forms() {
		forms[op] = true
	}
	for op := decode.OpInvalid + 1; op < decode.NumOps; op++ {
		assert.Equal(t, gen.Missing(op) == "", forms[op], op)
	}
	n := uint64(len(forms))
	for i := range n {
		c := generate.New(1, generate.Config{Only: generate.Form}).Case(i)
		found := false
		for pc := 0; pc < len(c.Insns); pc += c.Insns[pc].Len() {
			found = found || c.Insns[pc].Op().String() == c.Form
		}
		assert.True(t, found, "%s: program %d has none", c.Form, i)
	}
}
