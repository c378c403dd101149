package plan_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/cpu"

	"github.com/bpfrun/bpfrun/conformance/verdicts"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/jit/amd64"
	"github.com/bpfrun/bpfrun/jit/arm64"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// TestCodeStaysTheSame compares the code that both processors get for single instructions with
// operands at limits, and for programs with loops, calls and accesses of all kinds, some of them
// changed. That the code is right, other tests show by running it.
func TestCodeStaysTheSame(t *testing.T) {
	backends := map[string]func(*plan.Program, plan.Target, *plan.Code) error{"amd64": amd64.Compile, "arm64": arm64.Compile}
	if !cpu.X86.HasBMI2 {
		t.Skip("the code for amd64 was recorded on a processor with BMI2")
	}
	var all rewrite.Outcomes
	var out plan.Code
	code := func(name string, p *plan.Program, target plan.Target) {
		for backend, compile := range backends {
			out.Reset(len(p.Insns))
			err := compile(p, target, &out)
			h := fnv.New64a()
			_, _ = h.Write(out.Text)
			fmt.Fprint(h, out.Starts, out.Cold, err)
			all.Add(name, fmt.Sprintf("%s\t%x", backend, h.Sum64()))
		}
	}
	boot := []plan.Inline{{Kind: vm.InlineBoot}}
	rng := rand.New(rand.NewPCG(7, 7))
	for i, in := range demanding(boot) {
		for _, imm := range []uint64{in.Imm, uint64(rng.IntN(70)), 1 << rng.UintN(64), -uint64(rng.IntN(5000))} {
			in.Imm = imm
			if i%3 == 0 {
				in.Off, in.Dst, in.Src = int32(rng.IntN(8))*8-32, uint8(rng.IntN(10)), uint8(rng.IntN(10))
			}
			p := &plan.Program{Used: 1<<11 - 1, MayGoto: true, Calls: true, Timed: true, Insns: make([]plan.Insn, 4), Cells: plan.MaxCells, Inlines: boot}
			for i := range p.Insns {
				p.Insns[i].Kind, p.Insns[i].Mark = plan.KindSecond, -1
			}
			if in.Kind == plan.KindCallInline {
				in.Imm = 0
			}
			p.Insns[1] = in
			code(fmt.Sprint("piece ", i, imm), p, plan.Target{Base: 1<<63 + 0x123456789, Marks: i%2 == 0})
		}
	}
	call := func(int, decode.Insn) (*vm.Func, error) {
		return &vm.Func{Fn: func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil }}, nil
	}
	programs := 0
	require.NoError(t, verdicts.ReadFile("../../conformance/verdicts/testdata/border-6.18.jsonl.gz", func(l *verdicts.Line) error {
		insns, err := l.Generated.Insns()
		if err != nil {
			return err
		}
		for n := range 3 {
			changed := insns
			if n > 0 {
				if changed, err = verdicts.Apply(insns, verdicts.Mutate(rng, insns, func(int) bool { return false })); err != nil {
					return err
				}
			}
			img, err := vm.Lower(vm.LowerConfig{Insns: changed, Call: call})
			if err != nil {
				continue
			}
			programs++
			p := plan.New(img, nil, nil)
			name := fmt.Sprint("program ", l.Program, n)
			h := fnv.New64a()
			fmt.Fprint(h, p.Insns, p.Used, p.Calls, p.MayGoto, p.Slack())
			all.Add(name, fmt.Sprintf("plan\t%x", h.Sum64()))
			code(name, p, plan.Target{Base: 1 << 40})
		}
		return nil
	}))
	require.Greater(t, programs, 300)
	all.Compare(t, filepath.Join("testdata", "code.txt"))
}
