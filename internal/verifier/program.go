package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Release is a release of Linux.
type Release = since.Release

// Kernel is the kernel to verify for.
type Kernel struct {
	Release Release
	// Patch is the third number of the version; some rules were backported to stable releases.
	Patch int
	// Vendor is the distribution whose kernel it is, if its rules are not those of Release: then no
	// verdict is possible.
	Vendor string
	// Rules are the rules of the kernel; nil uses those of Release and Patch.
	Rules *since.Set
	// BTF describes the kernel's types. If nil, everything that needs them is Unknown.
	BTF *btf.Spec
	// Modules are BTF of modules that programs may refer to.
	Modules []Module
	// Kfuncs are those that the kernel's image declares; nil uses the built-in table.
	Kfuncs *proto.Declared
	// Arch is "x86", "arm64", ...; empty is "x86".
	Arch string
	// CPUs is the kernel's number of possible processors (nr_cpu_ids); 0 is 2.
	CPUs int
	// Lockdown is how much the kernel is locked down, which decides whether it has some helpers.
	Lockdown proto.Lockdown
	// Kconfig decides what depends on the configuration; options that are not set default to a
	// distribution's value.
	Kconfig map[string]string
}

// Module is the BTF of a kernel module.
type Module struct {
	Name   string
	BTF    *btf.Spec
	Kfuncs *proto.Declared
}

// Program is a program as passed to the kernel.
type Program struct {
	Name   string
	Type   uapi.ProgType
	Attach uapi.AttachType
	// AttachTo is the attach target by name, as in the section name; AttachID is its BTF id in
	// AttachModule ("" and "vmlinux" are the kernel itself).
	AttachTo     string
	AttachID     btf.ID
	AttachModule string
	// Reliable are the slots at which static functions begin whose types programs that trace them
	// may rely on: [Verdict.Reliable].
	Reliable []int
	// Untyped says that they may not rely on the type of its first function: [Verdict.Untyped].
	Untyped bool
	// AttachProg is the program that an extension replaces or a tracing program traces
	// (BPF_PROG_TYPE_EXT and attach_prog_fd), or nil. If set, AttachID is an id in its BTF. Of the
	// program that it attaches to itself, Type and Attach are enough.
	AttachProg *Program
	// OrTargets are others that AttachProg may be, if it is not known: the program is accepted if
	// it is with one of them.
	OrTargets []*Program
	// StructOps is the member that a struct_ops program implements.
	StructOps *StructOpsMember
	License   string
	Flags     uint32 // prog_flags of the load
	Sleepable bool

	// Insns are relocated; Refs resolve LD_IMM64 and kfunc calls, by the index of the first slot.
	Insns []decode.Insn
	Refs  map[int]Ref
	// BTF has the types of FuncInfo and of map values; may be nil.
	BTF *btf.Spec
	// Funcs is func_info: one entry for each function, ascending.
	Funcs []FuncInfo
	// Lines is line_info, ascending.
	Lines []Line
	// ExceptionCallback is the first slot of the exception callback, or 0.
	ExceptionCallback int
	// HasFrags is BPF_F_XDP_HAS_FRAGS.
	HasFrags bool
}

// StructOpsMember is a member of a struct_ops type in the kernel's BTF.
type StructOpsMember struct {
	Struct string // "tcp_congestion_ops"
	Member string
	Type   btf.ID // struct in the kernel's or the module's BTF
	Index  int
	Module string
}

// FuncInfo is the type of a function.
type FuncInfo struct {
	Insn int
	Type btf.ID // FUNC in Program.BTF
	Name string
	// Static means that the function is static, whatever its type says: libbpf changes the types of
	// hidden functions (bpf_object__sanitize_btf, mark_btf_static), so that the kernel verifies
	// them with each call.
	Static bool
}

// Line is the source line of the instructions starting at Insn.
type Line struct {
	Insn int
	File string
	Line int
	Text string
}

// RefKind is the kind of a reference from an instruction.
type RefKind uint8

// Kinds of references.
const (
	RefNone     RefKind = iota
	RefMap              // the map itself
	RefMapValue         // the map's value + Off
	RefFunc             // the function at instruction Func
	RefKsym             // a kernel symbol without a type: a scalar
	RefBTF              // kernel variable Name of VAR TypeID in Module
	RefKfunc            // kernel function Name of FUNC TypeID in Module
)

// Ref is what an LD_IMM64 or a call of a kernel function refers to.
type Ref struct {
	Kind   RefKind
	Map    *Map
	Off    uint32
	Func   int
	Name   string
	TypeID btf.ID
	Module string
	Value  uint64 // RefKsym: the address
	// Missing: the kernel does not have the kfunc or variable.
	Missing bool
}

// Map is the definition of a map used by a program.
type Map struct {
	Name                                  string
	Type                                  uapi.MapType
	KeySize, ValueSize, MaxEntries, Flags uint32
	Extra                                 uint64
	// BTF has KeyType and ValueType; nil if the map was created without types.
	BTF                *btf.Spec
	KeyType, ValueType btf.ID
	Inner              *Map
	// Frozen is the contents of a read-only map (BPF_F_RDONLY_PROG and frozen), whose loads yield
	// constants; else nil.
	Frozen []byte
	// Open are the numbers in Frozen that are not decided, by offset, without overlaps: a load
	// yields what is known of them.
	Open []Open
	// Vars are the variables of a data section, because the DATASEC of an object file does not
	// contain their offsets.
	Vars []MapVar
	// Slots are the targets of an instruction array.
	Slots []uint32
}

// Template returns what a map of maps keeps of the map that describes its elements: all but the
// name (inner_map_meta_alloc).
func (m *Map) Template() *Map {
	if m == nil {
		return nil
	}
	t := *m
	t.Name = ""
	return &t
}

// MapVar is a variable in the value of a data map.
type MapVar struct {
	Type      btf.ID // of the VAR
	Off, Size uint32
}
