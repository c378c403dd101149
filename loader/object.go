package loader

import (
	"encoding/binary"
	"sync"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/progtype"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Object is an opened BPF object. It is immutable after [Open] and safe for concurrent loads for
// any number of targets.
type Object struct {
	Name      string // file name without directories
	Path      string
	ByteOrder binary.ByteOrder
	License   string    // license section, "" if none
	Version   uint32    // version section (a kernel version, long unused)
	BTF       *btf.Spec // nil without .BTF
	Ext       *btf.Ext  // nil without .BTF.ext
	// Arch is the architecture whose struct pt_regs the object's BTF contains, or "": programs that
	// read registers run only there. See [Target].Arch.
	Arch     string
	Programs []*Program // in the order of sections, then of offsets
	// Functions are all functions, programs and subprograms, in the order of sections, then of
	// offsets.
	Functions []*Function
	Maps      []*Map // BTF-defined, legacy, data sections, .kconfig, struct_ops
	Externs   []*Extern
	Warnings  []string

	opened    openConfig
	elf       []byte // the file
	hasDWARF  bool
	kernelBTF kernelBTF // of KernelBTF and CheckBTF
	debugOnce sync.Once // of debug
	debug     *btf.Spec

	sections   map[string]*codeSection
	secByIndex map[int]*codeSection
	kconfig    *Map
	declTags   map[btf.ID][]string // exception callbacks by FUNC
	tailTags   map[btf.ID][]string // slots of program arrays by FUNC
	mapBySec   map[int][]*Map      // by ELF section, ascending offset
}

// ELF returns the contents of the object's file, which must not be modified.
func (o *Object) ELF() []byte { return o.elf }

// Function is one function of the object: the range of an STT_FUNC symbol in an
// executable section.
type Function struct {
	Name       string
	Section    string
	SectionOff int           // first instruction, counted from the section's start
	Insns      []decode.Insn // as in the ELF file
	Type       btf.ID        // FUNC, 0 if not known
	Global     bool          // STB_GLOBAL or STB_WEAK
	Hidden     bool          // visible in this object only: libbpf tells the kernel that a subprogram of this kind is static
	Program    *Program      // program of which this is the main function, nil for subprograms
	Index      int           // in Object.Functions

	sec    *codeSection
	relocs []codeReloc // sorted by instruction
}

// IsSubprogram reports whether the function is not a program.
func (f *Function) IsSubprogram() bool { return f.Program == nil }

// Program is a function that can be loaded.
type Program struct {
	Name              string
	Section           string // ELF section name
	Type              uapi.ProgType
	Attach            uapi.AttachType
	AttachTo          string                // function, "category/name" of a tracepoint, "struct.member" of struct_ops, else ""
	Hook              string                // for display: "kprobe/do_unlinkat"
	Kind              string                // the word of the section name: "kprobe", "fentry.s"
	SectionFlags      progtype.SectionFlags // flags implied by the section name
	Sleepable         bool
	Autoload          bool // false for section names that start with "?"
	Known             bool // the section name is known
	Insns             []decode.Insn
	SectionOff        int // in instructions
	FuncType          btf.ID
	StructOps         *StructOpsUse // the struct_ops map that names the program, or nil
	Function          *Function
	Flags             uint32 // BPF_F_SLEEPABLE, BPF_F_XDP_HAS_FRAGS as libbpf sets them
	ExceptionCallback string // decl tag exception_callback:NAME
}

// StructOpsUse is a struct_ops member that refers to a program.
type StructOpsUse struct {
	Map    *Map
	Member string
}

// DataKind is the kind of section that a data map was created from.
type DataKind uint8

// Kinds of data maps.
const (
	DataNone DataKind = iota // an ordinary map
	DataData
	DataBSS
	DataRodata
	DataKconfig
	DataArena     // an arena map with the image of .addr_space.1
	DataStructOps // a struct_ops map
	DataJumpTable // an instruction array made for one program
)

var dataKindNames = [...]string{"", "data", "bss", "rodata", "kconfig", "arena", "struct_ops", "jumptable"}

// String returns the kind as a word, or "" for an ordinary map.
func (k DataKind) String() string {
	if int(k) < len(dataKindNames) {
		return dataKindNames[k]
	}
	return "unknown"
}

// Map is a map definition.
type Map struct {
	Name                                  string // symbol, or section name for data maps
	Section                               string
	Index                                 int // in Object.Maps; -1 for inner definitions
	Type                                  uapi.MapType
	KeySize, ValueSize, MaxEntries, Flags uint32
	Extra                                 uint64
	NumaNode                              uint32
	Pinning                               uint32 // 1: by name
	KeyType, ValueType                    btf.ID
	Inner                                 *Map // of maps of maps
	Values                                []MapInit
	Data                                  []byte // initial contents of data maps, else nil; Load never modifies those of the Object
	DataKind                              DataKind
	Datasec                               btf.ID // DATASEC of a data map, or 0
	Vars                                  []Var  // variables of a data map, by offset
	StructOps                             *StructOpsMap
	Autocreate                            bool // false for "?.struct_ops"
	DataRelocs                            []DataReloc
	ArenaOffset                           uint64 // offset of Data in the arena

	// Slots holds the instruction indexes of a jump table (only in
	// LinkedProgram.JumpTables).
	Slots []uint32

	secIndex  int
	secOff    uint64
	secSize   uint64
	valuesOff uint64
	hasValues bool
}

// Frozen reports whether programs can rely on constant contents: .rodata and .kconfig.
func (m *Map) Frozen() bool { return m.DataKind == DataRodata || m.DataKind == DataKconfig }

// MapInit is one initial element of a program array or map of maps.
type MapInit struct {
	Index int
	Prog  string // program arrays
	Map   *Map   // maps of maps
}

// DataReloc is a pointer in a data section. libbpf does not apply these relocations: the program
// sees the addend. They are kept for information.
type DataReloc struct {
	Off    uint64 // in the section
	Size   int    // 4 or 8 bytes
	Symbol string
	Func   *Function // if the target is a function
	Map    *Map      // if the target is a data section
	Value  uint64    // S + A
}

// StructOpsMap is a struct_ops variable.
type StructOpsMap struct {
	TypeName string
	Type     btf.ID // local struct
	Data     []byte // image of the variable
	Link     bool   // .struct_ops.link: attached through a link
	Members  []StructOpsMember
}

// StructOpsMember is a member of a struct_ops variable.
type StructOpsMember struct {
	Name      string
	Type      btf.ID
	Off, Size uint32 // bytes
	Prog      string // program assigned to a function pointer, else ""
}

// ExternKind is the kind of symbol that an extern refers to.
type ExternKind uint8

// Kinds of externs.
const (
	ExternKconfig ExternKind = iota // CONFIG_* and LINUX_* variables
	ExternKsym                      // kernel variable
	ExternKfunc                     // kernel function
)

// String returns the kind as a word.
func (k ExternKind) String() string {
	switch k {
	case ExternKconfig:
		return "kconfig"
	case ExternKsym:
		return "ksym"
	case ExternKfunc:
		return "kfunc"
	}
	return "unknown"
}

// Extern is an undefined symbol that the target resolves.
type Extern struct {
	Name string
	Kind ExternKind
	Weak bool
	// Type is the type of a variable (0: untyped, void) or the FUNC_PROTO of a FUNC.
	Type btf.ID
	// Index is libbpf's number for the extern, which poisoned kfunc calls contain.
	Index int
	// Off and Size locate a kconfig extern in the .kconfig map, in bytes.
	Off, Size uint32

	form     kcfgForm
	align    uint32
	unlinked bool // in neither .kconfig nor .ksyms
}

// Option changes how an object is opened.
type Option func(*openConfig)

type openConfig struct {
	types   map[string]uapi.ProgType
	dialect Dialect
}

// WithType sets the program type of a section or program whose section name does not imply one.
// name is a section name or a program name.
func WithType(name string, t uapi.ProgType) Option {
	return func(c *openConfig) {
		if c.types == nil {
			c.types = map[string]uapi.ProgType{}
		}
		c.types[name] = t
	}
}

// Program returns the program with this name.
func (o *Object) Program(name string) (*Program, bool) {
	for _, p := range o.Programs {
		if p.Name == name {
			return p, true
		}
	}
	return nil, false
}

// Map returns the map with this name.
func (o *Object) Map(name string) (*Map, bool) {
	for _, m := range o.Maps {
		if m.Name == name {
			return m, true
		}
	}
	return nil, false
}
