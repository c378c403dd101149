package report

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/loader"
)

// DisasmDocument is the JSON of `disasm`. Without a target, Functions are those of the file in its order; with one, the functions of each program
// as the kernel would get them, the program itself first.
type DisasmDocument struct {
	Schema    string           `json:"schema"`
	Exit      int              `json:"exit"`
	Object    string           `json:"object"`
	Target    *Target          `json:"target,omitempty"`
	Functions []DisasmFunction `json:"functions"`
}

// DisasmFunction is the code of a function. Program is the program that it is or belongs to, empty for a subprogram of the file.
type DisasmFunction struct {
	Program   string       `json:"program,omitempty"`
	Name      string       `json:"name"`
	Section   string       `json:"section"`
	Signature string       `json:"signature,omitempty"` // as C declares it, if the object has BTF
	Optional  bool         `json:"optional,omitempty"`  // a program that is loaded only when asked for
	Insns     []DisasmInsn `json:"insns"`
}

// DisasmInsn is an instruction. PC counts slots from the program's first, as the kernel's verifier does; without a target, from the
// function's. Bytes are 8 or 16 in the object's byte order.
type DisasmInsn struct {
	PC         int               `json:"pc"`
	Bytes      string            `json:"bytes"`
	Text       string            `json:"text"`
	Source     *DisasmSource     `json:"source,omitempty"`
	Relocation *DisasmRelocation `json:"relocation,omitempty"`

	slot decode.Insn
}

// DisasmSource is the source line an instruction was compiled from.
type DisasmSource struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// DisasmRelocation is what CO-RE did to an instruction. If Missing is true, the target lacks the accessed type or field, and the instruction was made invalid; Old and New are then 0.
type DisasmRelocation struct {
	Kind    string `json:"kind"`
	Local   string `json:"local"`
	Old     int64  `json:"old"`
	New     int64  `json:"new"`
	Missing bool   `json:"missing,omitempty"`
}

// NewDisasmDocument describes the code in an object file. programs limits it to those, by name, and to subprograms; none means all.
func NewDisasmDocument(o *loader.Object, programs []string) *DisasmDocument {
	d := &DisasmDocument{Schema: Schema, Object: o.Name, Functions: []DisasmFunction{}}
	for _, f := range o.Functions {
		if f.Program == nil || wanted(programs, f.Program.Name) {
			d.Functions = append(d.Functions, fileFunction(o, f))
		}
	}
	return d
}

// NewLinkedDisasmDocument describes programs as the kernel would get them.
func NewLinkedDisasmDocument(l *loader.Linked, source string, programs []string) *DisasmDocument {
	d := &DisasmDocument{Schema: Schema, Object: l.Object.Name, Target: NewTarget(l.Target, source), Functions: []DisasmFunction{}}
	for _, lp := range l.Programs {
		if wanted(programs, lp.Name) {
			d.Functions = append(d.Functions, linkedFunctions(l, lp)...)
		}
	}
	return d
}

func wanted(programs []string, name string) bool {
	return len(programs) == 0 || slices.Contains(programs, name)
}

func fileFunction(o *loader.Object, f *loader.Function) DisasmFunction {
	out := DisasmFunction{Name: f.Name, Section: f.Section, Signature: signature(o.BTF, f.Type), Insns: []DisasmInsn{}}
	if f.Program != nil {
		out.Program, out.Optional = f.Program.Name, !f.Program.Autoload
	}
	for pc := 0; pc < len(f.Insns); pc += f.Insns[pc].Len() {
		in := newDisasmInsn(f.Insns, pc, o.ByteOrder, nil)
		in.Source = newDisasmSource(f.LineAt(pc))
		out.Insns = append(out.Insns, in)
	}
	return out
}

func linkedFunctions(l *loader.Linked, lp *loader.LinkedProgram) []DisasmFunction {
	var out []DisasmFunction
	for _, f := range lp.Funcs {
		fn := DisasmFunction{Program: lp.Name, Name: f.Name, Section: f.Function.Section, Signature: signature(l.Object.BTF, f.Type), Insns: []DisasmInsn{}}
		if f.Start == 0 { // an alias has the name and the type of its own
			fn.Name, fn.Section, fn.Signature, fn.Optional = lp.Name, lp.Section, signature(l.Object.BTF, lp.FuncType), !lp.Autoload
		}
		for pc := f.Start; pc < f.Start+f.Len; pc += lp.Insns[pc].Len() {
			in := newDisasmInsn(lp.Insns, pc, l.Object.ByteOrder, lp.Symbols())
			in.Source, in.Relocation = newDisasmSource(lp.LineAt(pc)), newDisasmRelocation(lp, pc)
			fn.Insns = append(fn.Insns, in)
		}
		out = append(out, fn)
	}
	return out
}

func newDisasmInsn(insns []decode.Insn, pc int, order binary.ByteOrder, sym decode.Symbols) DisasmInsn {
	end := min(pc+insns[pc].Len(), len(insns))
	return DisasmInsn{PC: pc, Bytes: hex.EncodeToString(decode.Marshal(insns[pc:end], order)), Text: decode.Disassemble(insns, pc, sym), slot: insns[pc]}
}

// newDisasmSource is nil where no line is known; line 0 stands for code the compiler made up.
func newDisasmSource(line btf.LineInfo, ok bool) *DisasmSource {
	if !ok || line.Line == 0 {
		return nil
	}
	return &DisasmSource{File: line.File, Line: int(line.Line), Text: strings.TrimSpace(line.Text)}
}

func newDisasmRelocation(lp *loader.LinkedProgram, pc int) *DisasmRelocation {
	r, ok := lp.RelocAt(pc)
	switch {
	case !ok || r.Relocation == nil:
		return nil
	case r.Poisoned():
		return &DisasmRelocation{Kind: r.Kind.String(), Local: r.Local.Text(), Missing: true}
	}
	return &DisasmRelocation{Kind: r.Kind.String(), Local: r.Local.Text(), Old: int64(r.Patch.Old), New: int64(r.Patch.New)}
}

// note is the relocation as a comment that follows the instruction; empty for nil.
func (r *DisasmRelocation) note() string {
	switch {
	case r == nil:
		return ""
	case r.Missing:
		return fmt.Sprintf("  ; CO-RE %s %s: missing", r.Kind, r.Local)
	}
	return fmt.Sprintf("  ; CO-RE %s %s: %d -> %d", r.Kind, r.Local, r.Old, r.New)
}

// signature is a function as C declares it; empty when BTF does not tell.
func signature(spec *btf.Spec, fn btf.ID) string {
	if spec == nil || fn == 0 {
		return ""
	}
	return spec.Signature(fn)
}
