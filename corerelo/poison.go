package corerelo

import "github.com/bpfrun/bpfrun/decode"

// Immediates of calls that libbpf writes over instructions it could not
// resolve. No helper has these numbers, so the kernel refuses the program when
// it can reach one, and names the number.
const (
	// PoisonImm is the call of an unresolved CO-RE relocation ("bad relo").
	PoisonImm = 0xbad2310
	// PoisonMapBase plus the map's index replaces both slots of a LD_IMM64 of a
	// map that is not created.
	PoisonMapBase = 2001000000
	// PoisonKfuncBase plus the extern's index replaces the call of an
	// unresolved weak kfunc.
	PoisonKfuncBase = 2002000000

	poisonSpan = 1000000 // indices between the bases
	opCall     = 0x85
)

// PoisonInsn returns the instruction that stands for an unresolved CO-RE
// relocation: call 195896080.
func PoisonInsn() decode.Insn { return decode.Insn{Code: opCall, Imm: PoisonImm} }

// PoisonKind describes what a poisoned instruction was.
type PoisonKind uint8

// What was poisoned.
const (
	NotPoison   PoisonKind = iota
	PoisonCORE             // unresolved CO-RE relocation
	PoisonMap              // reference to a map that is not created
	PoisonKfunc            // call of an unresolved kfunc
)

var poisonNames = [...]string{
	"", "invalid CO-RE relocation", "invalid BPF map reference", "invalid kfunc call",
}

// String returns libbpf's words ("invalid CO-RE relocation").
func (k PoisonKind) String() string {
	if int(k) < len(poisonNames) {
		return poisonNames[k]
	}
	return "unknown"
}

// ParsePoison recognises a poisoned instruction and, for maps and kfuncs, the
// index the poison names. LD_IMM64 of the CO-RE number is the form another
// loader (cilium/ebpf) uses.
func ParsePoison(in decode.Insn) (kind PoisonKind, index int, ok bool) {
	if in.Code == opLdImm64 && in.Src == 0 && in.Imm == PoisonImm {
		return PoisonCORE, 0, true
	}
	if in.Code != opCall || in.Src != 0 {
		return NotPoison, 0, false
	}
	return parsePoisonImm(int(in.Imm))
}

// parsePoisonImm recognises the number of a function that does not exist.
func parsePoisonImm(imm int) (kind PoisonKind, index int, ok bool) {
	switch {
	case imm == PoisonImm:
		return PoisonCORE, 0, true
	case imm >= PoisonMapBase && imm < PoisonMapBase+poisonSpan:
		return PoisonMap, imm - PoisonMapBase, true
	case imm >= PoisonKfuncBase && imm < PoisonKfuncBase+poisonSpan:
		return PoisonKfunc, imm - PoisonKfuncBase, true
	}
	return NotPoison, 0, false
}
