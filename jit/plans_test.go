//go:build linux && (amd64 || arm64)

package jit

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/testing/rewrite"
	"github.com/bpfrun/bpfrun/jit/amd64"
	"github.com/bpfrun/bpfrun/jit/arm64"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/vm"
)

// TestPlansStayTheSame compares what is planned for random programs with loops and calls, and the
// code for both processors: which checks are left out, made before a loop, or kept is a question of
// speed where other tests see no difference.
func TestPlansStayTheSame(t *testing.T) {
	call := func(int, decode.Insn) (*vm.Func, error) {
		return &vm.Func{Fn: func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil }}, nil
	}
	if !cpu.X86.HasBMI2 {
		t.Skip("the code for amd64 was recorded on a processor with BMI2")
	}
	var all rewrite.Outcomes
	r := newTurnsRig(t)
	loops := func(_ int, in decode.Insn) (*vm.Func, error) { return r.helper(in.Imm), nil }
	planned := func(kind string, seed uint64, text string) {
		h := fnv.New64a()
		if kind == "turns" { // helpers that call back have addresses in their code
			p := plan.New(lower(t, text, loops), nil, nil)
			p.Optimise(func(int32) bool { return false }, nil)
			fmt.Fprint(h, p.Insns, p.Used, p.Calls, p.MayGoto, p.Cells, p.Slack())
		}
		for _, optimise := range []func(p *plan.Program){
			func(*plan.Program) {},
			func(p *plan.Program) { p.Optimise(func(slot int32) bool { return slot%2 == 0 }, nil) },
			func(p *plan.Program) {
				by := &plan.Profile{Seen: make([]uint32, p.Len()+1), Taken: make([]uint32, p.Len()+1)}
				for i := range by.Seen {
					by.Seen[i], by.Taken[i] = uint32(i*7%30), uint32(i*3%10)
				}
				p.Optimise(func(int32) bool { return true }, by)
			},
			func(p *plan.Program) { p.MarkWays(); p.Optimise(func(int32) bool { return false }, nil) },
		} {
			p := plan.New(lower(t, text, call), nil, nil)
			optimise(p)
			fmt.Fprint(h, p.Insns, p.Used, p.Calls, p.MayGoto, p.Cells, p.Slack())
			for _, compile := range []func(*plan.Program, plan.Target, *plan.Code) error{amd64.Compile, arm64.Compile} {
				var out plan.Code
				out.Reset(len(p.Insns))
				fmt.Fprint(h, compile(p, plan.Target{Base: 1 << 40}, &out), out.Starts, out.Cold)
				_, _ = h.Write(out.Text)
			}
		}
		all.Add(fmt.Sprint(kind, seed), fmt.Sprintf("%s\t%x", kind, h.Sum64()))
	}
	for seed := range uint64(60) {
		m := &loopMaker{Rand: rand.New(rand.NewPCG(seed, 1))}
		planned("loops", seed, m.program())
		planned("turns", seed, turnsProgram(seed))
	}
	all.Compare(t, filepath.Join("testdata", "plans.txt"))
}
