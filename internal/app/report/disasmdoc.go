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

// DisasmDocument is the JSON of `disasm`. Without a target, Functions are those of the file, in
// file order. With one, they are the functions of each program as the kernel would receive them,
// starting with the program itself.
type DisasmDocument struct {
	Schema    string           `json:"schema"`
	Exit      int              `json:"exit"`
	Object    string           `json:"object"`
	Target    *Target          `json:"target,omitempty"`
	Functions []DisasmFunction `json:"functions"`
}

// DisasmFunction is the code of a function. Program names the program that it is or belongs to; it
// is empty for a subprogram of the file.
type DisasmFunction struct {
	Program   string       `json:"program,omitempty"`
	Name      string       `json:"name"`
	Section   string       `json:"section"`
	Signature string       `json:"signature,omitempty"` // C declaration, if the object has BTF
	Optional  bool         `json:"optional,omitempty"`  // a program that is loaded only on request
	Insns     []DisasmInsn `json:"insns"`
}

// DisasmInsn is an instruction. PC counts slots from the start of the program, as the kernel's
// verifier does, or without a target from the start of the function. Bytes holds 8 or 16 bytes in
// the object's byte order.
type DisasmInsn struct {
	PC         int               `json:"pc"`
	Bytes      string            `json:"bytes"`
	Text       string            `json:"text"`
	Source     *DisasmSource     `json:"source,omitempty"`
	Relocation *DisasmRelocation `json:"relocation,omitempty"`

	slot decode.Insn
}

// DisasmSource is the source line that an instruction was compiled from: Text without white space
// at its ends, and the columns before it.
type DisasmSource struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`

	Indent int `json:"indent,omitempty"`
}

// DisasmRelocation is the effect of CO-RE on an instruction. If Missing is true, the target lacks
// the accessed type or field, and the instruction was made invalid; Old and New are then 0.
type DisasmRelocation struct {
	Kind    string `json:"kind"`
	Local   string `json:"local"`
	Old     int64  `json:"old"`
	New     int64  `json:"new"`
	Missing bool   `json:"missing,omitempty"`
}

// NewDisasmDocument describes the code in an object file. programs limits it to the named programs
// and to subprograms; if empty, all are included.
func NewDisasmDocument(o *loader.Object, programs []string) *DisasmDocument {
	d := &DisasmDocument{Schema: Schema, Object: o.Name, Functions: []DisasmFunction{}}
	for _, f := range o.Functions {
		if f.Program == nil || wanted(programs, f.Program.Name) {
			d.Functions = append(d.Functions, fileFunction(o, f))
		}
	}
	return d
}

// NewLinkedDisasmDocument describes programs as the kernel would receive them.
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
		if f.Start == 0 { // an alias has its own name and type
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

// newDisasmSource returns nil if no line is known. The compiler uses line 0 for code that it
// generates.
func newDisasmSource(line btf.LineInfo, ok bool) *DisasmSource {
	if !ok || line.Line == 0 {
		return nil
	}
	return &DisasmSource{File: line.File, Line: int(line.Line), Text: strings.TrimSpace(line.Text), Indent: indentOf(line.Text)}
}

// indentOf counts the columns of white space that a line begins with; a tab goes to the next
// multiple of eight.
func indentOf(line string) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return 0 // nothing follows
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

// note returns the relocation as a comment for the end of the instruction's line, empty for nil.
func (r *DisasmRelocation) note() string {
	switch {
	case r == nil:
		return ""
	case r.Missing:
		return fmt.Sprintf("  ; CO-RE %s %s: missing", r.Kind, r.Local)
	}
	return fmt.Sprintf("  ; CO-RE %s %s: %d -> %d", r.Kind, r.Local, r.Old, r.New)
}

// signature returns the C declaration of a function, empty without BTF.
func signature(spec *btf.Spec, fn btf.ID) string {
	if spec == nil || fn == 0 {
		return ""
	}
	return spec.Signature(fn)
}
