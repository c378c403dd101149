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

// Linked is an object linked for one target. It is immutable.
type Linked struct {
	Object *Object
	Target *Target
	// Maps are copies of the object's maps, with the sizes and images of this load, in the same
	// order.
	Maps     []*Map
	Programs []*LinkedProgram // one for each of Object.Programs
	// Functions are the functions after CO-RE and before linking, one for each of
	// Object.Functions.
	Functions []*LinkedFunction
	Externs   []*LinkedExtern // one for each of Object.Externs
	StructOps []*LinkedStructOps
	Warnings  []string
	// BTFChanges are libbpf's replacements in the object's BTF for this kernel.
	BTFChanges []check.Change
	// NoBTF is the reason why the kernel refuses the object's BTF, a *[check.Problem], or nil.
	// libbpf then creates maps and loads programs without types
	// (bpf_object__sanitize_and_load_btf).
	NoBTF error
	// Err is the reason why libbpf would refuse the whole object, or nil. It is also the error of
	// programs that are not refused for a reason of their own.
	Err error
}

// LinkedFunction is a function with CO-RE applied.
type LinkedFunction struct {
	*Function
	// Insns shadows Function.Insns. It has CO-RE patches and poison, but no ELF relocations.
	Insns  []decode.Insn
	Relocs []Reloc // in the order of .BTF.ext; Insn equals FuncInsn
	// Skipped: libbpf ignores the records because the program is not loaded.
	Skipped bool

	made []FuncReloc // memory for those of Relocs
}

// Reloc is a CO-RE relocation of an instruction. Programs that contain the same function share its
// FuncReloc.
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
	// Err is a hard failure of the relocation, an *[Error] with its position. It shadows
	// Relocation.Err, which does not include errors of Patch.
	Err error
}

// Poisoned reports whether the poison call replaced the instruction.
func (r *FuncReloc) Poisoned() bool { return r.Err == nil && r.Patch.Poisoned }

// Changed reports whether the instruction was changed or poisoned.
func (r *FuncReloc) Changed() bool { return r.Err == nil && r.Patch.Changed() }

// Status tells whether a program can run on the target, and if not, why.
type Status uint8

// Statuses.
const (
	StatusOK          Status = iota
	StatusAbsent             // the hook does not exist on the target
	StatusUnknownHook        // the hook is not in BTF, which is not complete
	StatusRefused            // libbpf would refuse it, or the kernel before it verifies programs; see Err
	StatusDisabled           // not loaded: "?" section, NoLoad, or not in Only
)

// String returns the status as in JSON and reports.
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

// LinkedProgram is a program as passed to the kernel, except that maps, kernel symbols and
// callbacks are still symbolic.
type LinkedProgram struct {
	*Program
	// Insns shadows Program.Insns. It is relocated, with the subprograms appended depth first in
	// call order; calls between them are final. LD_IMM64 instructions in Refs have their source
	// register set (1 map, 2 map value, 3 typed symbol, 4 function) and an imm[0] of 0; kfunc calls
	// have source register 2, the BTF id as immediate and offset 0.
	Insns []decode.Insn
	// Refs resolves references by the index of the LD_IMM64 or kfunc call.
	Refs map[int]Ref
	// Funcs are the functions that Insns consists of, ascending; the program itself is the first.
	Funcs  []Func
	Relocs []Reloc // ascending Insn
	// JumpTables are the instruction arrays created for this program, in order of use; Refs of kind
	// RefInsnArray refer to them.
	JumpTables []*Map
	// ExceptionCallback is the first instruction of the program's exception callback, or 0.
	ExceptionCallback int
	// AttachID is the BTF id of the attach target (a function, typedef or struct) in AttachModule
	// ("vmlinux" or a module's name), or 0.
	AttachID     btf.ID
	AttachModule string
	// AttachProg is the program whose function AttachTo the program extends or traces; nil for
	// hooks of the kernel. AttachStart is the slot at which that function begins, AttachID its type
	// in that program's BTF.
	AttachProg  *LinkedProgram
	AttachStart int
	// Reliable are the slots at which static functions of the program begin whose types programs
	// that trace them may rely on, as the verifier found; nil until it did.
	Reliable []int
	// Untyped says that they may not rely on the type of the first function.
	Untyped bool
	Status  Status
	Err     error // reason for the status; nil for ok and disabled
	// Static is what the program does that the target's verifier refuses in code that it reaches,
	// found without walking the program; nil for nothing. Whether it counts is for
	// [LinkedProgram.Refusal] to say.
	Static *Error

	linked     *Linked
	flowOnce   sync.Once
	flow       *flow
	verifyOnce sync.Once
	ways       waysOf
}

// Verified sets what the verifier found about the types of the program's functions, Reliable and
// Untyped. The first call counts; it may be called concurrently, before Reliable and Untyped are
// read.
func (lp *LinkedProgram) Verified(reliable []int, untyped bool) {
	lp.verifyOnce.Do(func() { lp.Reliable, lp.Untyped = reliable, untyped })
}

// Linked returns the object the program belongs to.
func (lp *LinkedProgram) Linked() *Linked { return lp.linked }

// Func is the range of one function in LinkedProgram.Insns.
type Func struct {
	Name       string
	Start, Len int
	Type       btf.ID // FUNC in the object's BTF
	Function   *Function
	// Lines, if not nil, replaces the line information of .BTF.ext. Offsets are in bytes from the
	// section's start, ascending.
	Lines []btf.LineInfo
	// Copy means that it is there before, for another call ([LoadOptions.CopyCalled]).
	Copy bool
}

// RefKind is the kind of a reference from an instruction.
type RefKind uint8

// Kinds of references.
const (
	RefNone      RefKind = iota
	RefMap               // the map itself
	RefMapValue          // the map's value + Off
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

// Ref is the target of an LD_IMM64 or kfunc call.
type Ref struct {
	Kind     RefKind
	Map      *Map   // of Linked.Maps or JumpTables
	Off      uint32 // RefMapValue: byte offset in the value, arena placement included
	Func     int    // RefFunc: first instruction of the function
	Name     string
	TypeID   btf.ID // VAR or FUNC in the target's BTF
	Module   string // "vmlinux" or the module that has TypeID
	Weak     bool
	Resolved bool   // ksyms and kfuncs: the target has it
	Addr     uint64 // RefKsym: address from Kallsyms, 0 if not known
	Extern   *Extern
}

// LinkedExtern is an extern with the value or address from the target.
type LinkedExtern struct {
	*Extern
	Resolved bool
	// Value is a kconfig value as text; Source is its origin ("given", "BTF", "default", "kernel
	// version").
	Value, Source string
	TypeID        btf.ID
	Module        string
	Addr          uint64 // of a kernel symbol; or the value of LoadOptions.Externs
	Err           error

	given bool // set by LoadOptions.Externs
}

// LinkedStructOps is a struct_ops map in terms of the target.
type LinkedStructOps struct {
	Map    *Map // of Linked.Maps
	Absent bool // the target has no such struct_ops type
	// KernType is the struct and ValueType its struct bpf_struct_ops_X, both in Module.
	KernType, ValueType btf.ID
	Module              string
	// Data is the variable in the target's layout, with function pointers 0.
	Data []byte
	// Progs maps function pointer members to program names.
	Progs map[string]string
	Err   error
}

// FuncAt returns the function that contains instruction pc.
func (lp *LinkedProgram) FuncAt(pc int) (Func, bool) {
	i := sort.Search(len(lp.Funcs), func(i int) bool { return lp.Funcs[i].Start > pc }) - 1
	if i < 0 || pc >= lp.Funcs[i].Start+lp.Funcs[i].Len {
		return Func{}, false
	}
	return lp.Funcs[i], true
}

// Plain returns the number that each instruction has without copies ([LoadOptions.CopyCalled]), nil
// if there are none.
func (lp *LinkedProgram) Plain() []int {
	if !slices.ContainsFunc(lp.Funcs, func(f Func) bool { return f.Copy }) {
		return nil
	}
	out := make([]int, len(lp.Insns))
	first, next := map[*Function]int{}, 0
	for _, f := range lp.Funcs {
		if !f.Copy {
			first[f.Function] = next
			next += f.Len
		}
		for i := range f.Len {
			out[f.Start+i] = first[f.Function] + i
		}
	}
	return out
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

// EachLine calls f for the instructions at which a line begins, ascending: those of its records,
// and the first one of each function. Up to the next one, LineAt stays the same.
func (lp *LinkedProgram) EachLine(f func(pc int, line btf.LineInfo)) {
	for i := range lp.Funcs {
		fn := &lp.Funcs[i]
		records, known, first := &lines{sorted: fn.Lines}, fn.Len, fn.Function.SectionOff
		if fn.Lines == nil {
			records, known = &fn.Function.sec.lines, len(fn.Function.Insns)
		}
		end := min(first+fn.Len, first+known, first+len(lp.Insns)-fn.Start)
		starts := func(r int) int { return (int(records.insnOff(r)) + insnSize - 1) / insnSize } // its first slot in the section
		next := sort.Search(records.len(), func(r int) bool { return starts(r) > first })
		for at := first; at < end; next++ {
			if r := next - 1; r >= 0 && (fn.Lines != nil || int(records.insnOff(r)/insnSize) >= first) {
				if next == records.len() || starts(next) > at { // of several at one instruction, the last one counts
					f(fn.Start+at-first, records.at(r))
				}
			}
			if next == records.len() {
				break
			}
			at = starts(next)
		}
	}
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

// mapIndex returns the index of a map in Maps, or -1.
func (l *Linked) mapIndex(m *Map) int {
	if i := m.Index; i >= 0 && i < len(l.Maps) && l.Maps[i] == m {
		return i
	}
	return slices.Index(l.Maps, m)
}

// LoadOptions are the settings that a tool changes between opening and loading.
type LoadOptions struct {
	// MapSizes sets max_entries by map name.
	MapSizes map[string]uint32
	// Externs sets undefined symbols by name: constants that user space writes into instructions
	// before loading.
	Externs map[string]uint64
	// InnerMaps defines the inner maps of maps of maps by the outer map's name, in the form of
	// [InnerMapForm].
	InnerMaps map[string]string
	// Globals sets global variables by name or path ("conf.port", "ids[2]") to a value in the
	// notation of the variable's type. "section:name" distinguishes variables with the same name.
	Globals map[string]string
	// GlobalBytes sets the first bytes of global variables, by name, in the object's byte order.
	GlobalBytes map[string][]byte
	// Attach changes attach targets: function or tracepoint by program name.
	Attach map[string]string
	// AttachProgs attaches extensions and tracing programs to functions of other programs:
	// "PROGRAM" or "PROGRAM:FUNCTION" by program name, see [LinkedProgram.AttachToProgram].
	AttachProgs map[string]string
	// NoLoad excludes programs by name.
	NoLoad map[string]bool
	// Only loads only these programs, including those of "?" sections.
	Only []string
	// Also loads these optional programs, whose section names start with "?", in addition to the
	// others; Optional loads all of them. A CO-RE error in a program loaded only because of
	// Optional is not an error of the object, because tools need not load it.
	Also     []string
	Optional bool
	// KernelCORE resolves CO-RE records as the kernel does for light skeletons (bpftool gen
	// skeleton -L), instead of as libbpf does.
	KernelCORE bool
	// AsDefined leaves map definitions unchanged, so that the kernel refuses those which the
	// object's own loader would complete.
	AsDefined bool
	// CopyCalled appends a function once more for each further call of it, within limits, so that
	// each call has instructions of its own ([LinkedProgram.Plain]). Programs do what they did; a
	// verifier may count other numbers. With AttachProgs there are no copies.
	CopyCalled bool
	// LinkOnly stops where libbpf does: hooks and instructions are not checked against the kernel's
	// rules, and a program is refused only if it cannot be linked.
	LinkOnly bool
	// NoHints leaves out which hooks the kernel has in place of missing ones: finding them takes
	// most of the time of linking for a kernel without the hooks.
	NoHints bool
	// AnyByteOrder allows a target with the other byte order, as libbpf does with a BTF file. The
	// result can be compared but not run.
	AnyByteOrder bool
}
