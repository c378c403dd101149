package jit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/vm"
)

func TestZZRun(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var plain, all []*decode.Info
	for op := decode.Op(1); op < decode.NumOps; op++ {
		f := op.Info().Form
		switch f {
		case decode.FormALUImm, decode.FormALUReg, decode.FormNeg, decode.FormMovSX, decode.FormEnd, decode.FormImm64:
			if op == decode.OpLdImm64 || f != decode.FormImm64 {
				plain = append(plain, op.Info())
			}
		}
		if op != decode.OpCallX && op != decode.OpGotoX && f != decode.FormInvalid {
			all = append(all, op.Info())
		}
	}
	fn := &vm.Func{Name: "f", ID: 7, Fn: func(_ *vm.Thread, a *[5]uint64) (uint64, *vm.Action) { return a[0]*3 + a[1], nil }}
	m1, m2 := newRig(t), newRig(t)
	m2.thread.SetEngine(nil)
	a1, _ := m1.mem.Alloc(4096, mem.Region{Name: "a"})
	a2, _ := m2.mem.Alloc(4096, mem.Region{Name: "a"})
	if a1.Base != a2.Base {
		t.Fatal("bases")
	}
	total := uint64(0)
	stops := map[vm.Stop]int{}
	for i := range 20000 {
		set := plain
		if i%2 == 0 {
			set = all
		}
		insns := zzRandom(r, false, set)
		insns = append(insns, decode.Insn{Code: decode.OpExit.Info().Code})
		img, err := vm.Lower(vm.LowerConfig{Insns: insns, Fuse: true, Call: func(int, decode.Insn) (*vm.Func, error) { return fn, nil }, Text: vm.NewText(1 << 40)})
		if err != nil {
			continue
		}
		var regs [10]uint64
		for k := range regs {
			switch r.IntN(3) {
			case 0:
				regs[k] = a1.Base + uint64(r.IntN(4000))
			case 1:
				regs[k] = a1.Base + uint64(r.IntN(400))*8
			default:
				regs[k] = r.Uint64() >> r.IntN(64)
			}
		}
		step := uint64(1 + r.IntN(5000))
		before := m1.engine.Executed()
		m1.thread.Start(img)
		m2.thread.Start(img)
		copy(m1.thread.Regs()[:10], regs[:])
		copy(m2.thread.Regs()[:10], regs[:])
		for round := range 8 {
			s1, s2 := m1.thread.Run(step), m2.thread.Run(step)
			if s1 != s2 || m1.thread.Snapshot().Diff(m2.thread.Snapshot()) != "" || string(m1.mem.Bytes(a1)) != string(m2.mem.Bytes(a2)) {
				t.Fatal(i, round, s1, s2, m1.thread.Snapshot().Diff(m2.thread.Snapshot()), m1.thread.Fault(), m2.thread.Fault())
			}
			if s1 != vm.Budget {
				stops[s1]++
				break
			}
			for k := range 10 {
				if r.IntN(10) == 0 {
					v := r.Uint64()
					m1.thread.Regs()[k], m2.thread.Regs()[k] = v, v
				}
			}
			step = uint64(1 + r.IntN(300))
		}
		total += m1.engine.Executed() - before
	}
	fmt.Println("RUN native", total, stops)
}
