package loader

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Raw is a program as passed to BPF_PROG_LOAD: another loader has relocated it, and there is no
// object file.
type Raw struct {
	Name    string
	Type    uapi.ProgType
	Attach  uapi.AttachType
	License string
	Flags   uint32 // prog_flags
	// Section is a section name of the same kind, such as "fentry" or "kprobe/do_unlinkat";
	// AttachTo is the target's name.
	Section, AttachTo string
	// AttachID is the BTF id of the target in AttachModule, or 0.
	AttachID     btf.ID
	AttachModule string
	// Insns contains symbolic references: LD_IMM64 and kfunc calls as in [LinkedProgram.Insns],
	// resolved by Refs.
	Insns []decode.Insn
	Refs  map[int]Ref
	// Types is the program's BTF, or nil. Funcs are its functions by Types (func_info); Lines is
	// its line information, with ascending offsets in bytes from the program's start.
	Types *btf.Spec
	Funcs []Func
	Lines []btf.LineInfo
	// Maps are the maps that Refs refer to.
	Maps []*Map
}

// NewLinked returns an empty object for a target, to hold programs that do not come from an object
// file.
func NewLinked(t *Target) *Linked {
	order := binary.ByteOrder(binary.LittleEndian)
	if t.BTF != nil {
		order = t.BTF.ByteOrder()
	}
	return &Linked{Object: &Object{ByteOrder: order}, Target: t}
}

// Link makes the program part of an object of its own. It checks nothing: see package verifier.
func (r *Raw) Link(t *Target) *LinkedProgram {
	l := NewLinked(t)
	l.Object.Name, l.Object.License, l.Object.BTF = r.Name, r.License, r.Types
	l.Maps = r.Maps
	p := &Program{
		Name: r.Name, Section: r.Section, Type: r.Type, Attach: r.Attach, AttachTo: r.AttachTo, Autoload: true, Known: true,
		Insns: r.Insns, Flags: r.Flags, Sleepable: r.Flags&uapi.ProgSleepable != 0,
	}
	if s, _ := progtype.ParseSection(r.Section); s != nil {
		p.Kind, p.SectionFlags = s.Name, s.Flags
	}
	funcs := r.Funcs
	if len(funcs) == 0 {
		funcs = []Func{{Name: r.Name, Len: len(r.Insns)}}
	}
	p.FuncType = funcs[0].Type
	lp := &LinkedProgram{Program: p, Insns: r.Insns, Refs: r.Refs, Funcs: make([]Func, len(funcs)), AttachID: r.AttachID, AttachModule: r.AttachModule, linked: l}
	for i, f := range funcs {
		f.Function = &Function{Name: f.Name, SectionOff: f.Start, Insns: r.Insns[f.Start : f.Start+f.Len], Type: f.Type, Index: i}
		if f.Lines = r.Lines; f.Lines == nil {
			f.Lines = []btf.LineInfo{}
		}
		lp.Funcs[i] = f
		l.Object.Functions = append(l.Object.Functions, f.Function)
	}
	lp.Funcs[0].Function.Program, p.Function = p, lp.Funcs[0].Function
	l.Object.Programs, l.Programs = []*Program{p}, []*LinkedProgram{lp}
	return lp
}
