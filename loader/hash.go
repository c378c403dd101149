package loader

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/bpfrun/bpfrun/decode"
)

func sum(insns []decode.Insn) string {
	h := sha256.Sum256(decode.Marshal(insns, binary.LittleEndian))
	return hex.EncodeToString(h[:])
}

// Core returns the hash of the function after CO-RE only: SHA-256 of its instructions in
// little-endian encoding, with CO-RE patches and poison, without ELF relocations.
func (lf *LinkedFunction) Core() string { return sum(lf.Insns) }

// Core returns the hash of the program's own function after CO-RE only; see [LinkedFunction.Core].
func (lp *LinkedProgram) Core() string { return lp.linked.Functions[lp.Function.Index].Core() }

// Final returns the hash of the program as it would be loaded: SHA-256 of all instructions in
// little-endian encoding, with FNV-1a32(map name) & 0x7fffffff in place of map descriptors.
func (lp *LinkedProgram) Final() string {
	return sum(lp.canonical(func(in []decode.Insn, ref Ref) { in[0].Imm = fnv31(ref.Map.Name) }))
}

// Digest is [LinkedProgram.Final] with both immediates of map references zeroed
// (libbpf's program hash).
func (lp *LinkedProgram) Digest() string {
	return sum(lp.canonical(func(in []decode.Insn, _ Ref) { in[0].Imm, in[1].Imm = 0, 0 }))
}
