package main

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/vm"
)

// nativeCode compiles a program as it is when it runs in a machine. What cannot be run, or for which there is no machine (nil), is compiled bound to nothing: addresses
// of maps are 0, and all calls go to the same function.
func nativeCode(m *machine.Machine, lp *loader.LinkedProgram) (*jit.Compiled, error) {
	var img *vm.Image
	if m != nil {
		img, _ = m.ImageOf(lp.Name)
	}
	if img != nil {
		var words []*uint64
		if s, _, err := m.Begin(lp.Name, machine.Input{}); err == nil && s != nil {
			_, words = m.Thread().Context()
			s.Leave()
		}
		return jit.Compile(img, words, false, nil)
	}
	none := &vm.Func{Name: "none", Fn: func(*vm.Thread, *[5]uint64) (uint64, *vm.Action) { return 0, nil }}
	img, err := vm.Lower(vm.LowerConfig{
		Name: lp.Name, Insns: lp.Insns, ExceptionCallback: lp.ExceptionCallback,
		Imm64: func(int) (uint64, error) { return 0, nil },
		Call:  func(int, decode.Insn) (*vm.Func, error) { return none, nil },
	})
	if err != nil {
		return nil, err
	}
	return jit.Compile(img, nil, false, nil)
}

// nativeInsn shows the native code of the instruction at pc, up to where that of the next one begins.
func (d *disassembly) nativeInsn(c *jit.Compiled, insns []decode.Insn, pc int) {
	end := int(c.Cold)
	if next := pc + insns[pc].Len(); next < len(insns) {
		end = int(c.Starts[next])
	}
	if c.Dead(pc) {
		d.printf("%16s; nobody sees the result\n", "")
	}
	if c.Inline(pc) {
		d.printf("%16s; in line\n", "")
	}
	d.nativeRange(c, int(c.Starts[pc]), end)
}

func (d *disassembly) nativeRange(c *jit.Compiled, from, to int) {
	for at := from; at < to; {
		text, n := jit.Disassemble(c.Text[at:to], at)
		d.printf("%16s%5x  %s\n", "", at, text)
		at += n
	}
}
