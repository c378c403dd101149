package decode

import "strconv"

// Form is the shape of an instruction: the fields it uses and its syntax.
type Form uint8

// The forms. D and S are the dst and src registers.
const (
	FormInvalid   Form = iota
	FormALUImm         // D += imm
	FormALUReg         // D += S
	FormNeg            // D = -D
	FormMovSX          // D = (s8)S
	FormEnd            // D = be16 D
	FormAddrCast       // D = addr_space_cast(S, 0, 1)
	FormLoad           // D = *(u32 *)(S + off)
	FormStoreImm       // *(u32 *)(D + off) = imm
	FormStoreReg       // *(u32 *)(D + off) = S
	FormAtomic         // lock *(u64 *)(D + off) += S
	FormFetch          // S = atomic_fetch_add((u64 *)(D + off), S)
	FormXchg           // S = xchg_64(D + off, S)
	FormCmpXchg        // r0 = cmpxchg_64(D + off, r0, S)
	FormLoadAcq        // D = load_acquire((u64 *)(S + off))
	FormStoreRel       // store_release((u64 *)(D + off), S)
	FormLdAbs          // r0 = *(u8 *)skb[imm]
	FormLdInd          // r0 = *(u8 *)skb[S + imm]
	FormImm64          // D = imm64 ll, and special kinds: map_fd(..), map_value(..), ...
	FormGoto           // goto +off
	FormGotoL          // gotol +imm
	FormGotoX          // gotox D
	FormMayGoto        // may_goto +off
	FormJumpImm        // if D == imm goto +off
	FormJumpReg        // if D == S goto +off
	FormCall           // call helper#imm, call pc+imm
	FormCallKfunc      // call kfunc#imm
	FormExit           // exit
	numForms
)

// Field is a set of fields of a slot.
type Field uint8

// The fields. A field must be zero unless the instruction uses it or is selected by it.
const (
	FieldDst Field = 1 << iota
	FieldSrc
	FieldOff
	FieldImm
)

// formFields are the fields that carry operands, without the selecting field (Info.Sub).
var formFields = [numForms]Field{
	FormALUImm:    FieldDst | FieldImm,
	FormALUReg:    FieldDst | FieldSrc,
	FormNeg:       FieldDst,
	FormMovSX:     FieldDst | FieldSrc,
	FormEnd:       FieldDst,
	FormAddrCast:  FieldDst | FieldSrc | FieldImm,
	FormLoad:      FieldDst | FieldSrc | FieldOff,
	FormStoreImm:  FieldDst | FieldOff | FieldImm,
	FormStoreReg:  FieldDst | FieldSrc | FieldOff,
	FormAtomic:    FieldDst | FieldSrc | FieldOff,
	FormFetch:     FieldDst | FieldSrc | FieldOff,
	FormXchg:      FieldDst | FieldSrc | FieldOff,
	FormCmpXchg:   FieldDst | FieldSrc | FieldOff,
	FormLoadAcq:   FieldDst | FieldSrc | FieldOff,
	FormStoreRel:  FieldDst | FieldSrc | FieldOff,
	FormLdAbs:     FieldImm,
	FormLdInd:     FieldSrc | FieldImm,
	FormImm64:     FieldDst | FieldImm,
	FormGoto:      FieldOff,
	FormGotoL:     FieldImm,
	FormGotoX:     FieldDst,
	FormMayGoto:   FieldOff,
	FormJumpImm:   FieldDst | FieldOff | FieldImm,
	FormJumpReg:   FieldDst | FieldSrc | FieldOff,
	FormCall:      FieldImm,
	FormCallKfunc: FieldImm | FieldOff,
}

// Sub names the field that distinguishes the instructions that share an opcode byte.
type Sub uint8

// Fields that select an instruction.
const (
	SubNone Sub = iota
	SubOff      // division and modulo (0, 1), moves (0, 8, 16, 32, 1)
	SubImm      // byte order (16, 32, 64), atomics
	SubSrc      // kinds of LD_IMM64 and call
)

// field converts a Sub to a Field.
func (s Sub) field() Field {
	return [...]Field{SubNone: 0, SubOff: FieldOff, SubImm: FieldImm, SubSrc: FieldSrc}[s]
}

// Reg is a set of register operands that an instruction reads or writes.
type Reg uint8

// Register operands. The last three are implicit.
const (
	RegDst  Reg = 1 << iota // the register in dst
	RegSrc                  // the register in src
	RegR0                   // r0
	RegR6                   // r6, the context of legacy packet loads
	RegArgs                 // r1 to r5: arguments if read, clobbered if written
)

// Flags describe what an instruction does besides computing.
type Flags uint16

// Effects.
const (
	FlagLoad   Flags = 1 << iota // reads memory
	FlagStore                    // writes memory
	FlagAtomic                   // is atomic or ordered
	FlagFetch                    // read-modify-write that returns the old value
	FlagSigned                   // the load or comparison is signed
	FlagPacket                   // reads the packet of the context in r6, in network byte order
	FlagBranch                   // may jump or fall through
	FlagJump                     // always jumps
	FlagCall                     // calls and returns
	FlagExit                     // returns
)

// Group is a conformance group of RFC 9669 section 2.4.
type Group uint8

// Conformance groups. GroupBase64 includes GroupBase32; GroupAtomic64 and GroupDivMul64 include
// their 32-bit groups. GroupKernel is not in the RFC: it holds Linux's additional instructions.
const (
	GroupNone Group = iota
	GroupBase32
	GroupBase64
	GroupAtomic32
	GroupAtomic64
	GroupDivMul32
	GroupDivMul64
	GroupPacket
	GroupKernel
)

var groupNames = [...]string{"", "base32", "base64", "atomic32", "atomic64", "divmul32", "divmul64", "packet", "kernel"}

// String returns the RFC's name of the group, or "kernel" for GroupKernel.
func (g Group) String() string {
	if int(g) < len(groupNames) {
		return groupNames[g]
	}
	return "group " + strconv.Itoa(int(g))
}

// Version is a kernel version, major<<16 | minor<<8 | patch, as KERNEL_VERSION of linux/version.h
// computes it. Zero means "any".
type Version uint32

// KernelVersion returns the Version of a release.
func KernelVersion(major, minor, patch int) Version {
	return Version(major<<16 | minor<<8 | min(patch, 255))
}

// String returns "major.minor" without the patch level.
func (v Version) String() string {
	return strconv.Itoa(int(v>>16)) + "." + strconv.Itoa(int(v>>8&0xff))
}

// Kernel versions that extended the instruction set.
const (
	v3_18 Version = 3<<16 | 18<<8 // bpf(2)
	v4_14 Version = 4<<16 | 14<<8 // jlt, jle, jslt, jsle
	v4_16 Version = 4<<16 | 16<<8 // local calls
	v5_0  Version = 5 << 16       // 32-bit arsh
	v5_1  Version = 5<<16 | 1<<8  // 32-bit jumps
	v5_2  Version = 5<<16 | 2<<8  // direct map values
	v5_10 Version = 5<<16 | 10<<8 // kernel variables
	v5_12 Version = 5<<16 | 12<<8 // atomics other than add
	v5_13 Version = 5<<16 | 13<<8 // function addresses, kfunc calls
	v5_14 Version = 5<<16 | 14<<8 // fd_array
	v6_6  Version = 6<<16 | 6<<8  // ISA version 4
	v6_9  Version = 6<<16 | 9<<8  // may_goto, arenas
	v6_15 Version = 6<<16 | 15<<8 // load-acquire, store-release
	v6_19 Version = 6<<16 | 19<<8 // gotox
	never Version = 1<<32 - 1     // no kernel
)

// Info describes one instruction: a row of the table.
type Info struct {
	Op       Op
	Name     string  // unique lower-case name: "sdiv64_imm", "atomic_fetch_add_dw"
	Code     uint8   // opcode byte
	Sub      Sub     // field that selects the instruction among those with its opcode byte
	SubValue int32   // value of that field
	Form     Form    // fields used, and syntax
	Text     string  // operator, type or keyword in its text
	Width    uint8   // bits computed, compared or moved: 32 or 64
	Size     uint8   // bytes of memory accessed, 0 if none
	Reads    Reg     // registers read
	Writes   Reg     // registers written
	Flags    Flags   // other effects
	Group    Group   // conformance group of RFC 9669
	ISA      uint8   // LLVM's -mcpu version: 1 to 4
	Since    Version // first kernel that accepts it; higher than every real version if none does
}

// Class returns the instruction class, the low three bits of the opcode byte.
func (i *Info) Class() uint8 { return i.Code & 7 }

// Fields returns the fields that carry operands, without the field that selects the instruction.
func (i *Info) Fields() Field { return formFields[i.Form] }

// Signed reports whether a load or comparison is signed.
func (i *Info) Signed() bool { return i.Flags&FlagSigned != 0 }

// Has reports whether the instruction has all of the effects f.
func (i *Info) Has(f Flags) bool { return i.Flags&f == f }
