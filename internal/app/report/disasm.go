package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/visible"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
)

// Disassembly writes the code of programs with their source lines.
type Disassembly struct {
	W        io.Writer
	Raw      bool           // also print the bytes of each instruction
	Native   string         // show the native code of this processor below each instruction, one of jit.Processors
	Loops    bool           // compile with optimised loops
	Bpftool  bool           // write programs as JSON in bpftool's form
	Config   machine.Config // for native code
	Programs []string       // by name; none means all

	last string // the last source line shown
	err  error  // from writing
}

func (d *Disassembly) printf(format string, args ...any) {
	if d.err == nil {
		_, d.err = visible.Fprintf(d.W, format, args...)
	}
}

func (d *Disassembly) document(doc any) {
	if d.err == nil {
		d.err = WriteJSON(d.W, doc)
	}
}

// Object writes the code as stored in the file. The error is that of the writer.
func (d *Disassembly) Object(o *loader.Object) error {
	for _, f := range NewDisasmDocument(o, d.Programs).Functions {
		d.function(f, true, nil)
		d.printf("\n")
	}
	return d.err
}

// Linked writes programs as the kernel would receive them, with CO-RE's changes. The error names
// programs without native code.
func (d *Disassembly) Linked(l *loader.Linked) error {
	var m *machine.Machine
	if d.Native != "" {
		var err error
		if m, err = machine.New(l, d.Config); err == nil {
			defer m.Close()
		}
	}
	var failed error
	for _, lp := range l.Programs {
		if !wanted(d.Programs, lp.Name) {
			continue
		}
		var code *jit.Compiled
		if d.Native != "" {
			var err error
			if code, err = nativeCode(d.Native, m, lp, d.Loops); err != nil { // other programs may have native code
				failed = errors.Join(failed, fmt.Errorf("%s has no native code: %w", lp.Name, err))
			}
		}
		switch {
		case !d.Bpftool:
			d.program(l, lp, code)
		case code != nil:
			d.document(NewBpftoolJited(l, lp, code, d.Raw))
		case d.Native == "":
			d.document(NewBpftoolXlated(l, lp, d.Raw))
		}
	}
	return errors.Join(failed, d.err)
}

// program writes one program. If code is nil, it has no native code to show.
func (d *Disassembly) program(l *loader.Linked, lp *loader.LinkedProgram, code *jit.Compiled) {
	for i, f := range linkedFunctions(l, lp) {
		d.function(f, i == 0, func(pc int) {
			if code != nil {
				d.nativeInsn(code, lp.Insns, pc)
			}
		})
	}
	if code != nil {
		d.copies(code, l, lp)
		d.printf("out of line:\n")
		d.nativeRange(code, int(code.Cold), len(code.Text))
	}
	d.printf("\n")
}

// function writes a function and calls more after each instruction. The header of a program's first
// function names its section.
func (d *Disassembly) function(f DisasmFunction, first bool, more func(pc int)) {
	head := f.Name
	if first {
		head += " (" + f.Section + ")"
	}
	if f.Optional {
		head += " optional"
	}
	head += ":"
	if f.Signature != "" {
		head += " " + f.Signature
	}
	d.printf("%s\n", head)
	for _, in := range f.Insns {
		if in.Source != nil {
			d.source(in.Source)
		}
		d.insn(in)
		if more != nil {
			more(in.PC)
		}
	}
}

func (d *Disassembly) source(line *DisasmSource) {
	s := fmt.Sprintf("; %s @ %s:%d", line.Text, line.File, line.Line)
	if s != d.last {
		d.printf("%s\n", s)
		d.last = s
	}
}

func (d *Disassembly) insn(in DisasmInsn) {
	if s := in.slot; d.Raw {
		d.printf("%6d: %02x %x%x %04x %08x  %s%s\n", in.PC, s.Code, s.Src, s.Dst, uint16(s.Off), uint32(s.Imm), in.Text, in.Relocation.note())
		return
	}
	d.printf("%6d: %s%s\n", in.PC, in.Text, in.Relocation.note())
}
