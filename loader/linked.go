package loader

import (
	"slices"
	"sort"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/btf/check"
	"github.com/bpfrun/bpfrun/corerelo"
	"github.com/bpfrun/bpfrun/decode"
)

// Linked is an object made ready for one target. It is read-only.
type Linked struct {
	Object *Object
	Target *Target
	// Maps are those of the object with sizes and images of this load, in the same
	// order. They are private to it.
	Maps     []*Map
	Programs []*LinkedProgram // one for each of Object.Programs
	// Functions are the functions after CO-RE and before linking, one for each of
	// Object.Functions.
	Functions []*LinkedFunction
	Externs   []*LinkedExtern // one for each of Object.Externs
	StructOps []*LinkedStructOps
	Warnings  []string
	// BTFChanges are what libbpf replaces in the object's BTF for this kernel.
	BTFChanges []check.Change
	// Err is why libbpf would refuse the whole object, or nil. Programs that are
	// not refused for a reason of their own carry it too.
	Err error
}

// LinkedFunction is a function with CO-RE applied.
type LinkedFunction struct {
	*Function
	// Insns shadows Function.Insns: with CO-RE patches and poison, without ELF
	// relocations.
	Insns  []decode.Insn
	Relocs []Reloc // in the order of .BTF.ext; Insn equals FuncInsn
	// Skipped: libbpf leaves the records alone, the program is not loaded.
	Skipped bool

	made []FuncReloc // memory for those of Relocs
}

// Reloc is a CO-RE relocation of an instruction. Programs that contain the same function share its FuncReloc.
type Reloc struct {
	Insn int // in LinkedProgram.Insns
	*FuncReloc
}

// FuncReloc is a CO-RE relocation of an instruction of a function.
type FuncReloc struct {
	FuncInsn    int    // in the ELF function
	SectionInsn int    // in the ELF section
	Func        string // name of the ELF function
	*corerelo.Relocation
	Patch corerelo.Patch
	// Err is why the relocation failed hard, an *[Error] with the place. It
	// shadows Relocation.Err, which Patch errors are not part of.
	Err error
}

// Poisoned reports whether the instruction was replaced by the poison call.
func (r *FuncReloc) Poisoned() bool { return r.Err == nil && r.Patch.Poisoned }

// Changed reports whether the instruction was changed, poison included.
func (r *FuncReloc) Changed() bool { return r.Err == nil && r.Patch.Changed() }

// Status reports whether a program can run on the target.
type Status uint8

// Statuses.
const (
	StatusOK          Status = iota
	StatusAbsent             // the hook does not exist on the target
	StatusUnknownHook        // the hook is not in BTF, which does not list everything
	StatusRefused            // the kernel or libbpf would refuse it; see Err
	StatusDisabled           // not loaded: "?" section, NoLoad, or not in Only
)

// String returns the status as the formats write it.
func (s Status) String() string {
	switch s {
	case StatusOK:
		return "ok"
	case StatusAbsent:
		return "absent"
	case StatusUnknownHook:
		return "unknown-hook"
	case StatusRefused:
		return "refused"
	case StatusDisabled:
		return "disabled"
	}
	return "unknown"
}

// LinkedProgram is a program with everything done that comes before the kernel
// sees it, except that maps, kernel symbols and callbacks are still names.
type LinkedProgram struct {
	*Program
	// Insns shadows Program.Insns: relocated, with the subprograms appended depth
	// first in call order. Calls between them are final. LD_IMM64 instructions of
	// Refs have their source register set (1 map, 2 map value, 3 typed symbol,
	// 4 function) and imm[0] 0; kfunc calls have source register 2, the BTF id as
	// immediate and offset 0.
	Insns []decode.Insn
	// Refs describes what instructions refer to, by index of the LD_IMM64 or kfunc call.
	Refs map[int]Ref
	// Funcs are the functions Insns is made of, ascending; the program is the first.
	Funcs  []Func
	Relocs []Reloc // ascending Insn
	// JumpTables are the instruction arrays made for this program, in the order of
	// use; Refs of kind RefInsnArray lead to them.
	JumpTables []*Map
	// ExceptionCallback is the first instruction of the program's exception
	// callback, 0 if it has none.
	ExceptionCallback int
	// AttachID is the BTF id of the function, typedef or struct the program
	// attaches to, in AttachModule ("vmlinux" or a module's name); 0 if none.
	AttachID     btf.ID
	AttachModule string
	Status       Status
	Err          error // why the status is not ok; nil for ok and disabled

	linked   *Linked
	flowOnce sync.Once
	flow     *flow
}

// Linked returns the object the program belongs to.
func (lp *LinkedProgram) Linked() *Linked { return lp.linked }

// Func is the range of one function in LinkedProgram.Insns.
type Func struct {
	Name       string
	Start, Len int
	Type       btf.ID // FUNC in the object's BTF
	Function   *Function
	// Lines replace the line information of .BTF.ext when they are not nil: ascending offsets in bytes from the section's start, as there.
	Lines []btf.LineInfo
}

// RefKind describes what an instruction refers to.
type RefKind uint8

// Kinds of references.
const (
	RefNone      RefKind = iota
	RefMap               // handle of Map
	RefMapValue          // Map's value + Off
	RefFunc              // address of the instruction Func
	RefKsym              // address of the kernel symbol Name, without a type
	RefKsymBTF           // kernel variable Name of type TypeID
	RefKfunc             // call of the kernel function Name
	RefInsnArray         // Map is an instruction array (jump table)
)

// String returns the kind as a word.
func (k RefKind) String() string {
	switch k {
	case RefMap:
		return "map"
	case RefMapValue:
		return "map_value"
	case RefFunc:
		return "func"
	case RefKsym:
		return "ksym"
	case RefKsymBTF:
		return "ksym_btf"
	case RefKfunc:
		return "kfunc"
	case RefInsnArray:
		return "insn_array"
	}
	return "none"
}

// Ref is the meaning of an LD_IMM64 or kfunc call.
type Ref struct {
	Kind     RefKind
	Map      *Map   // of Linked.Maps or JumpTables
	Off      uint32 // RefMapValue: bytes in the value, arena placement included
	Func     int    // RefFunc: first instruction of the function
	Name     string
	TypeID   btf.ID // VAR or FUNC in the target's BTF
	Module   string // "vmlinux" or the module that has TypeID
	Weak     bool
	Resolved bool   // ksyms and kfuncs: the target has it
	Addr     uint64 // RefKsym: address by Kallsyms, 0 if not known
	Extern   *Extern
}

// LinkedExtern is an extern with what the target supplies.
type LinkedExtern struct {
	*Extern
	Resolved bool
	// Value is the text of a kconfig value, Source where it comes from ("given",
	// "BTF", "default", "kernel version").
	Value, Source string
	TypeID        btf.ID
	Module        string
	Addr          uint64 // of a kernel symbol; the value of LoadOptions.Externs
	Err           error

	given bool // by LoadOptions.Externs
}

// LinkedStructOps is a struct_ops map in terms of the target.
type LinkedStructOps struct {
	Map    *Map // of Linked.Maps
	Absent bool // the target has no such struct_ops type
	// KernType is the struct, ValueType struct bpf_struct_ops_X, in Module.
	KernType, ValueType btf.ID
	Module              string
	// Data is the variable in the target's layout, function pointers 0.
	Data []byte
	// Progs gives the program of each function pointer by member name.
	Progs map[string]string
	Err   error
}

// FuncAt returns the function that holds instruction pc.
func (lp *LinkedProgram) FuncAt(pc int) (Func, bool) {
	i := sort.Search(len(lp.Funcs), func(i int) bool { return lp.Funcs[i].Start > pc }) - 1
	if i < 0 || pc >= lp.Funcs[i].Start+lp.Funcs[i].Len {
		return Func{}, false
	}
	return lp.Funcs[i], true
}

// LineAt returns the source line of instruction pc.
func (lp *LinkedProgram) LineAt(pc int) (btf.LineInfo, bool) {
	fn, ok := lp.FuncAt(pc)
	if !ok {
		return btf.LineInfo{}, false
	}
	if fn.Lines != nil {
		off := uint32(8 * (fn.Function.SectionOff + pc - fn.Start))
		i := sort.Search(len(fn.Lines), func(i int) bool { return fn.Lines[i].InsnOff > off })
		if i == 0 {
			return btf.LineInfo{}, false
		}
		return fn.Lines[i-1], true
	}
	return fn.Function.LineAt(pc - fn.Start)
}

// RelocAt returns the CO-RE relocation of instruction pc.
func (lp *LinkedProgram) RelocAt(pc int) (*Reloc, bool) {
	i := sort.Search(len(lp.Relocs), func(i int) bool { return lp.Relocs[i].Insn >= pc })
	if i == len(lp.Relocs) || lp.Relocs[i].Insn != pc {
		return nil, false
	}
	return &lp.Relocs[i], true
}

// Program returns the program with this name.
func (l *Linked) Program(name string) (*LinkedProgram, bool) {
	for _, p := range l.Programs {
		if p.Name == name {
			return p, true
		}
	}
	return nil, false
}

// Map returns the map with this name.
func (l *Linked) Map(name string) (*Map, bool) {
	for _, m := range l.Maps {
		if m.Name == name {
			return m, true
		}
	}
	return nil, false
}

// mapIndex returns the place of a map in Maps, -1 when it is not there.
func (l *Linked) mapIndex(m *Map) int {
	if i := m.Index; i >= 0 && i < len(l.Maps) && l.Maps[i] == m {
		return i
	}
	return slices.Index(l.Maps, m)
}

// LoadOptions are what a tool does between opening and loading.
type LoadOptions struct {
	// MapSizes sets max_entries by map name.
	MapSizes map[string]uint32
	// Externs gives undefined symbols values, by name: constants that user space writes into the instructions before it loads them.
	Externs map[string]uint64
	// InnerMaps defines the inner maps of maps of maps, by the name of the outer one, in the form of [InnerMapForm].
	InnerMaps map[string]string
	// Globals sets global variables by name or path ("conf.port", "ids[2]"), to
	// text as the variable's type takes it. "section:name" tells apart variables of
	// the same name.
	Globals map[string]string
	// GlobalBytes sets the first bytes of global variables by name, in the object's byte order.
	GlobalBytes map[string][]byte
	// Attach retargets programs: function or tracepoint by program name.
	Attach map[string]string
	// NoLoad switches programs off by name.
	NoLoad map[string]bool
	// Only loads nothing but these programs, also those of "?" sections.
	Only []string
	// Also loads these optional programs, whose section names start with "?", besides those that load by themselves; Optional
	// loads all of them. A CO-RE error in one that only Optional loads is not the object's: no tool need choose it.
	Also     []string
	Optional bool
	// KernelCORE resolves CO-RE records as the kernel does for light skeletons (bpftool gen skeleton -L), not as libbpf.
	KernelCORE bool
	// AsDefined leaves map definitions as they are, so that the kernel refuses what the object's own loader would complete.
	AsDefined bool
	// LinkOnly stops where libbpf does: hooks and instructions are not checked as the kernel would, and a program is
	// refused only when it cannot be linked.
	LinkOnly bool
	// AnyByteOrder links for a target of the other byte order too, as libbpf does with a BTF file. The result can
	// be compared, not run.
	AnyByteOrder bool
}
