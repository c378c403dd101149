package corerelo

import "github.com/bpfrun/bpfrun/decode"

// Immediates of the calls with which libbpf replaces instructions that it could not resolve. No
// helper has these numbers, so the kernel refuses the program if it can reach one, and its log
// contains the number.
const (
	// PoisonImm marks an unresolved CO-RE relocation ("bad relo").
	PoisonImm = 0xbad2310
	// PoisonMapBase plus the map's index replaces both slots of an LD_IMM64 of a map that is not
	// created.
	PoisonMapBase = 2001000000
	// PoisonKfuncBase plus the extern's index replaces the call of an
	// unresolved weak kfunc.
	PoisonKfuncBase = 2002000000

	poisonSpan = 1000000 // number of indices after each base
	opCall     = 0x85
)

// PoisonInsn returns the instruction that replaces an unresolved CO-RE relocation: call 195896080.
func PoisonInsn() decode.Insn { return decode.Insn{Code: opCall, Imm: PoisonImm} }

// PoisonKind is the kind of reference that a poisoned instruction contained.
type PoisonKind uint8

// The kinds of references.
const (
	NotPoison   PoisonKind = iota
	PoisonCORE             // unresolved CO-RE relocation
	PoisonMap              // reference to a map that is not created
	PoisonKfunc            // call of an unresolved kfunc
)

var poisonNames = [...]string{
	"", "invalid CO-RE relocation", "invalid BPF map reference", "invalid kfunc call",
}

// String returns libbpf's wording: "invalid CO-RE relocation".
func (k PoisonKind) String() string {
	if int(k) < len(poisonNames) {
		return poisonNames[k]
	}
	return "unknown"
}

// ParsePoison recognises a poisoned instruction and, for maps and kfuncs, returns the index it
// contains. An LD_IMM64 of the CO-RE number is the form that cilium/ebpf writes.
func ParsePoison(in decode.Insn) (kind PoisonKind, index int, ok bool) {
	if in.Code == opLdImm64 && in.Src == 0 && in.Imm == PoisonImm {
		return PoisonCORE, 0, true
	}
	if in.Code != opCall || in.Src != 0 {
		return NotPoison, 0, false
	}
	return parsePoisonImm(int(in.Imm))
}

// parsePoisonImm recognises the number of a nonexistent helper that marks a poisoned instruction.
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
