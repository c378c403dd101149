package report

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
)

// Disassembly writes the code of programs with its source lines.
type Disassembly struct {
	W        io.Writer
	Raw      bool           // also print the bytes of each instruction
	Native   bool           // below each instruction what the JIT makes of it
	Loops    bool           // with its loops optimised
	Config   machine.Config // for native code
	Programs []string       // by name; none means all

	last string // the source line shown last
	err  error  // of writing
}

func (d *Disassembly) want(name string) bool {
	return len(d.Programs) == 0 || slices.Contains(d.Programs, name)
}

func (d *Disassembly) printf(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.W, format, args...)
	}
}

// Object shows the code as it is in the file. The error is that of the writer.
func (d *Disassembly) Object(o *loader.Object) error {
	for _, f := range o.Functions {
		if f.Program != nil && !d.want(f.Program.Name) {
			continue
		}
		d.printf("%s (%s)%s:%s\n", f.Name, f.Section, optionalMark(f.Program), prototype(o.BTF, f.Type))
		for pc := 0; pc < len(f.Insns); pc += f.Insns[pc].Len() {
			if line, ok := f.LineAt(pc); ok {
				d.source(line.File, int(line.Line), line.Text)
			}
			d.insn(f.Insns, pc, nil, "")
		}
		d.printf("\n")
	}
	return d.err
}

// Linked shows programs as the kernel would get them, with what CO-RE changed. The error names programs without native code.
func (d *Disassembly) Linked(l *loader.Linked) error {
	var m *machine.Machine
	if d.Native {
		var err error
		if m, err = machine.New(l, d.Config); err == nil {
			defer m.Close()
		}
	}
	var failed error
	for _, lp := range l.Programs {
		if !d.want(lp.Name) {
			continue
		}
		var code *jit.Compiled
		if d.Native {
			var err error
			if code, err = nativeCode(m, lp, d.Loops); err != nil { // the others have some
				failed = errors.Join(failed, fmt.Errorf("%s has no native code: %w", lp.Name, err))
			}
		}
		d.program(l, lp, code)
	}
	return errors.Join(failed, d.err)
}

// program shows one program; code is nil to show no native code.
func (d *Disassembly) program(l *loader.Linked, lp *loader.LinkedProgram, code *jit.Compiled) {
	d.printf("%s (%s)%s:%s\n", lp.Name, lp.Section, optionalMark(lp.Program), prototype(l.Object.BTF, lp.FuncType))
	for _, f := range lp.Funcs {
		if f.Start > 0 {
			d.printf("%s:%s\n", f.Name, prototype(l.Object.BTF, f.Type))
		}
		for pc := f.Start; pc < f.Start+f.Len; pc += lp.Insns[pc].Len() {
			if line, ok := lp.LineAt(pc); ok {
				d.source(line.File, int(line.Line), line.Text)
			}
			d.insn(lp.Insns, pc, lp.Symbols(), relocationNote(lp, pc))
			if code != nil {
				d.nativeInsn(code, lp.Insns, pc)
			}
		}
	}
	if code != nil {
		d.copies(code, lp)
		d.printf("out of line:\n")
		d.nativeRange(code, int(code.Cold), len(code.Text))
	}
	d.printf("\n")
}

// relocationNote is what CO-RE did to an instruction, to stand after it.
func relocationNote(lp *loader.LinkedProgram, pc int) string {
	r, ok := lp.RelocAt(pc)
	switch {
	case !ok || r.Relocation == nil:
		return ""
	case r.Poisoned():
		return fmt.Sprintf("  ; CO-RE %s %s: missing", r.Kind, r.Local.Text())
	}
	return fmt.Sprintf("  ; CO-RE %s %s: %d -> %d", r.Kind, r.Local.Text(), int64(r.Patch.Old), int64(r.Patch.New))
}

// optionalMark marks a program that tools load only when they choose to; p is nil for a subprogram.
func optionalMark(p *loader.Program) string {
	if p == nil || p.Autoload {
		return ""
	}
	return " optional"
}

// prototype is a function as C declares it, with a blank before; empty when BTF does not tell.
func prototype(spec *btf.Spec, fn btf.ID) string {
	if spec == nil || fn == 0 {
		return ""
	}
	return " " + spec.Signature(fn)
}

func (d *Disassembly) source(file string, line int, text string) {
	s := fmt.Sprintf("; %s @ %s:%d", strings.TrimSpace(text), file, line)
	if s != d.last && line != 0 { // line 0 stands for code the compiler made up
		d.printf("%s\n", s)
		d.last = s
	}
}

func (d *Disassembly) insn(insns []decode.Insn, pc int, sym decode.Symbols, note string) {
	text := decode.Disassemble(insns, pc, sym)
	if d.Raw {
		in := insns[pc]
		d.printf("%6d: %02x %x%x %04x %08x  %s%s\n", pc, in.Code, in.Src, in.Dst, uint16(in.Off), uint32(in.Imm), text, note)
		return
	}
	d.printf("%6d: %s%s\n", pc, text, note)
}
