package report

import (
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// nativeCode compiles a program as it runs on m. If the program cannot run, or m is nil, it is
// compiled unbound: addresses of maps are 0, and all calls go to the same function. loops selects
// the code of a long-running program, with optimised loops.
func nativeCode(processor string, m *machine.Machine, lp *loader.LinkedProgram, loops bool) (*jit.Compiled, error) {
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
		return jit.CompileFor(processor, img, words, loops, nil)
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
	return jit.CompileFor(processor, img, nil, loops, nil)
}

// NativeDocument is the native code of a program for one processor.
type NativeDocument struct {
	Processor string       `json:"processor"`
	Program   string       `json:"program"`
	Insns     []NativeInsn `json:"insns"`
	// OutOfLine is the code that instructions jump to where a check fails or a call leaves.
	OutOfLine []NativeLine `json:"out_of_line"`
}

// NativeInsn is the native code of an instruction of the program.
type NativeInsn struct {
	PC   int          `json:"pc"`
	Code []NativeLine `json:"code"`
	// Dead means that nobody sees the result, Inline that the code makes the call itself.
	Dead   bool `json:"dead,omitempty"`
	Inline bool `json:"inline,omitempty"`
}

// NativeLine is an instruction of the processor. At is its offset in the code.
type NativeLine struct {
	At   int    `json:"at"`
	Text string `json:"text"`
}

// NewNativeDocument compiles a program as it runs on m, or unbound if m is nil, for one of
// jit.Processors, which need not be that of this machine.
func NewNativeDocument(processor string, m *machine.Machine, lp *loader.LinkedProgram) (*NativeDocument, error) {
	c, err := nativeCode(processor, m, lp, false)
	if err != nil {
		return nil, err
	}
	d := &NativeDocument{Processor: processor, Program: lp.Name, Insns: []NativeInsn{}, OutOfLine: nativeLines(c, int(c.Cold), len(c.Text))}
	for pc := 0; pc < len(lp.Insns); pc += max(lp.Insns[pc].Len(), 1) {
		d.Insns = append(d.Insns, NativeInsn{pc, nativeLines(c, c.Start(pc), c.Start(pc+lp.Insns[pc].Len())), c.Dead(pc), c.Inline(pc)})
	}
	return d, nil
}

// nativeLines disassembles a part of the code.
func nativeLines(c *jit.Compiled, from, to int) []NativeLine {
	out := []NativeLine{}
	for at := from; at < to; {
		text, n := c.Disassemble(at, to)
		out = append(out, NativeLine{at, text})
		at += n
	}
	return out
}

// nativeInsn writes the native code of the instruction at pc, up to the code of the next one.
func (d *Disassembly) nativeInsn(c *jit.Compiled, insns []decode.Insn, pc int) {
	if c.Dead(pc) {
		d.printf("%16s; nobody sees the result\n", "")
	}
	if c.Inline(pc) {
		d.printf("%16s; in line\n", "")
	}
	d.nativeRange(c, c.Start(pc), c.Start(pc+insns[pc].Len()))
}

// copies writes the copies of loops that follow the program.
func (d *Disassembly) copies(c *jit.Compiled, l *loader.Linked, lp *loader.LinkedProgram) {
	inside := false
	for i := len(lp.Insns); i < c.Insns(); i++ {
		slot := c.Slot(i)
		switch {
		case c.Guard(i):
			if inside {
				d.printf("\n")
			}
			inside = false
			d.printf("guard of the loop at %d:\n", slot)
			d.nativeRange(c, c.Start(i), c.Start(i+1))
			continue
		case lp.Insns[slot].Len() == 0: // second slot
			continue
		case !inside:
			inside = true
			d.printf("copy of the loop at %d:\n", slot)
		}
		d.insn(newDisasmInsn(lp.Insns, slot, l.Object.ByteOrder, lp.Symbols()))
		d.nativeRange(c, c.Start(i), c.Start(i+lp.Insns[slot].Len()))
	}
}

func (d *Disassembly) nativeRange(c *jit.Compiled, from, to int) {
	for _, l := range nativeLines(c, from, to) {
		d.printf("%16s%5x  %s\n", "", l.At, l.Text)
	}
}
