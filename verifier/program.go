package verifier

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/helpers/proto"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/verifier/since"
)

// Release is a release of Linux.
type Release = since.Release

// Kernel is the kernel whose verdict is asked for.
type Kernel struct {
	Release Release
	// Patch is the third number of the version; some rules came with stable updates.
	Patch int
	// BTF describes the kernel's types; nil makes everything that needs them unknown.
	BTF *btf.Spec
	// Modules are the BTF of modules that programs may refer to.
	Modules []Module
	// Kfuncs are those that the kernel's file declares; nil leaves them to the table.
	Kfuncs *proto.Declared
	// Arch is "x86", "arm64", ...; empty is "x86".
	Arch string
	// CPUs is how many processors the kernel may have (nr_cpu_ids); 0 is 2.
	CPUs int
	// Kconfig decides what depends on the configuration; what is missing counts as a distribution sets it.
	Kconfig map[string]string
}

// Module is the BTF of a kernel module.
type Module struct {
	Name   string
	BTF    *btf.Spec
	Kfuncs *proto.Declared
}

// Program is a program as the kernel gets it.
type Program struct {
	Name   string
	Type   uapi.ProgType
	Attach uapi.AttachType
	// AttachTo names what the program attaches to, as the section does; AttachID is its BTF id in AttachModule ("" and
	// "vmlinux" are the kernel itself).
	AttachTo     string
	AttachID     btf.ID
	AttachModule string
	// AttachProg is the program that an extension replaces or a tracing program traces (BPF_PROG_TYPE_EXT and attach_prog_fd);
	// AttachID is then an id of its BTF. Nil without.
	AttachProg *Program
	// StructOps is the member a struct_ops program implements.
	StructOps *StructOpsMember
	License   string
	Flags     uint32 // prog_flags of the load
	Sleepable bool

	// Insns are relocated; Refs say what LD_IMM64 and kfunc calls refer to, by the index of the first slot.
	Insns []decode.Insn
	Refs  map[int]Ref
	// BTF has the types of FuncInfo and of the maps' values; nil without.
	BTF *btf.Spec
	// Funcs is func_info: one entry for each function, ascending.
	Funcs []FuncInfo
	// Lines is line_info, ascending.
	Lines []Line
	// ExceptionCallback is the first slot of the exception callback, 0 without.
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

// FuncInfo gives a function its type.
type FuncInfo struct {
	Insn int
	Type btf.ID // FUNC in Program.BTF
	Name string
}

// Line is the source line of the instructions from Insn on.
type Line struct {
	Insn int
	File string
	Line int
	Text string
}

// RefKind describes what an instruction refers to.
type RefKind uint8

// Kinds of references.
const (
	RefNone     RefKind = iota
	RefMap              // Map itself
	RefMapValue         // Map's value + Off
	RefFunc             // the function at instruction Func
	RefKsym             // kernel symbol without a type: a scalar
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
	// Missing: a kfunc or variable the kernel does not have.
	Missing bool
}

// Map is the definition of a map that a program uses.
type Map struct {
	Name                                  string
	Type                                  uapi.MapType
	KeySize, ValueSize, MaxEntries, Flags uint32
	Extra                                 uint64
	// BTF has KeyType and ValueType; nil when the map was made without types.
	BTF                *btf.Spec
	KeyType, ValueType btf.ID
	Inner              *Map
	// Frozen contents of a read-only map (BPF_F_RDONLY_PROG and frozen): loads of them are constants. Nil otherwise.
	Frozen []byte
	// Vars are the variables of a data section; the DATASEC of an object file does not have their places yet.
	Vars []MapVar
	// Slots are the targets of an instruction array.
	Slots []uint32
}

// MapVar is a variable in the value of a data map.
type MapVar struct {
	Type      btf.ID // of the VAR
	Off, Size uint32
}
