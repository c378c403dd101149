package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/machine"
	"github.com/bpfrun/bpfrun/report"
)

// disasmCommand is bpfrun disasm.
type disasmCommand struct {
	*console
	linker
	sim *machineFlags

	progs              []string
	raw, native, loops bool
}

func newDisasmCommand(a *app) *cobra.Command {
	c := &disasmCommand{console: &a.console, linker: a.linker(), sim: &a.sim}
	cmd := &cobra.Command{
		Use:   "disasm OBJECT [--btf KERNEL] [-p PROGRAM]",
		Short: "Disassemble programs with source lines, relocated for a target when --btf is given",
		Args:  oneObject,
		RunE: func(_ *cobra.Command, args []string) error {
			obj, err := c.objects.open(args[0])
			if err != nil {
				return err
			}
			for _, name := range c.progs {
				if _, ok := obj.Program(name); !ok {
					return usagef("-p %s: %s has no such program (it has %s)", name, obj.Name, programNames(obj))
				}
			}
			if c.loops && !c.native {
				return usagef("--loops is about native code: it needs --jit")
			}
			d := disassembly{w: c.stdout, raw: c.raw, native: c.native, loops: c.loops, want: func(name string) bool { return len(c.progs) == 0 || slices.Contains(c.progs, name) }}
			if c.native && !machine.NativeCode() {
				return codeError{exitNotSimulated, errors.New("--jit: there is no native code on this system")}
			}
			if c.native && report.ByteOrderName(obj.ByteOrder) == "big" {
				return codeError{exitNotSimulated, errors.New("--jit: execution of big-endian programs is not simulated, there is no native code for them")}
			}
			if len(c.kernels.btf) == 0 && !c.native {
				d.object(obj)
				return nil
			}
			if d.config, err = c.sim.config(false); err != nil {
				return err
			}
			linked, _, err := c.link(obj)
			if err != nil {
				return err
			}
			return d.linked(linked)
		},
	}
	cmd.Flags().StringArrayVarP(&c.progs, "prog", "p", nil, "`PROGRAM` to show; repeatable")
	cmd.Flags().BoolVar(&c.raw, "raw", false, "also the bytes of each instruction")
	cmd.Flags().BoolVar(&c.native, "jit", false, "also the native code of each instruction")
	cmd.Flags().BoolVar(&c.loops, "loops", false, "with --jit: native code of programs that have run for long, with copies of loops that need fewer checks")
	return cmd
}

// disassembly writes code to standard output.
type disassembly struct {
	w      io.Writer
	config machine.Config // for native code
	raw    bool
	native bool // below each instruction what the JIT makes of it
	loops  bool // with its loops optimised
	want   func(program string) bool
	last   string // the source line shown last
}

func (d *disassembly) printf(format string, args ...any) {
	fmt.Fprintf(d.w, format, args...)
}

// object shows the code as it is in the file.
func (d *disassembly) object(o *loader.Object) {
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
}

// linked shows programs as the kernel would get them, with what CO-RE changed.
func (d *disassembly) linked(l *loader.Linked) error {
	var m *machine.Machine
	var failed error
	if d.native {
		var err error
		if m, err = machine.New(l, d.config); err == nil {
			defer m.Close()
		}
	}
	for _, lp := range l.Programs {
		if !d.want(lp.Name) {
			continue
		}
		var code *jit.Compiled
		if d.native {
			var err error
			if code, err = nativeCode(m, lp, d.loops); err != nil { // the others have some
				failed = errors.Join(failed, fmt.Errorf("%s has no native code: %w", lp.Name, err))
			}
		}
		d.printf("%s (%s)%s:%s\n", lp.Name, lp.Section, optionalMark(lp.Program), prototype(l.Object.BTF, lp.FuncType))
		for _, f := range lp.Funcs {
			if f.Start > 0 {
				d.printf("%s:%s\n", f.Name, prototype(l.Object.BTF, f.Type))
			}
			for pc := f.Start; pc < f.Start+f.Len; pc += lp.Insns[pc].Len() {
				if line, ok := lp.LineAt(pc); ok {
					d.source(line.File, int(line.Line), line.Text)
				}
				note := ""
				if r, ok := lp.RelocAt(pc); ok && r.Relocation != nil {
					note = fmt.Sprintf("  ; CO-RE %s %s: %d -> %d", r.Kind, r.Local.Text(), int64(r.Patch.Old), int64(r.Patch.New))
					if r.Poisoned() {
						note = fmt.Sprintf("  ; CO-RE %s %s: missing", r.Kind, r.Local.Text())
					}
				}
				d.insn(lp.Insns, pc, lp.Symbols(), note)
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
	if failed != nil {
		return codeError{exitLoad, failed}
	}
	return nil
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

func (d *disassembly) source(file string, line int, text string) {
	s := fmt.Sprintf("; %s @ %s:%d", strings.TrimSpace(text), file, line)
	if s != d.last && line != 0 { // line 0 stands for code the compiler made up
		d.printf("%s\n", s)
		d.last = s
	}
}

func (d *disassembly) insn(insns []decode.Insn, pc int, sym decode.Symbols, note string) {
	text := decode.Disassemble(insns, pc, sym)
	if d.raw {
		in := insns[pc]
		d.printf("%6d: %02x %x%x %04x %08x  %s%s\n", pc, in.Code, in.Src, in.Dst, uint16(in.Off), uint32(in.Imm), text, note)
		return
	}
	d.printf("%6d: %s%s\n", pc, text, note)
}
