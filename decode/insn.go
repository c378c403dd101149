package decode

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/endian"
)

// SlotSize is the size of an instruction slot in bytes.
const SlotSize = 8

// NumRegs is the number of registers, r0 to r10; r10 is the read-only frame pointer.
const NumRegs = 11

// FramePointer is the number of the frame pointer, r10.
const FramePointer = 10

// Instruction classes: the low three bits of Insn.Code.
const (
	ClassLD    = 0x00
	ClassLDX   = 0x01
	ClassST    = 0x02
	ClassSTX   = 0x03
	ClassALU   = 0x04
	ClassJMP   = 0x05
	ClassJMP32 = 0x06
	ClassALU64 = 0x07
)

// Values of the source register field that select a kind of LD_IMM64 or call (BPF_PSEUDO_*).
const (
	PseudoMapFD       = 1 // LD_IMM64
	PseudoMapValue    = 2 // LD_IMM64
	PseudoBTFID       = 3 // LD_IMM64
	PseudoFunc        = 4 // LD_IMM64
	PseudoMapIdx      = 5 // LD_IMM64
	PseudoMapIdxValue = 6 // LD_IMM64
	PseudoCall        = 1 // call: subprogram
	PseudoKfuncCall   = 2 // call: kernel function
)

// ErrTruncated is returned for bytes that are not a whole number of slots.
var ErrTruncated = errors.New("instructions are not a multiple of 8 bytes")

// Insn is one slot of 8 bytes (struct bpf_insn): opcode, register numbers of 4 bits each, signed
// offset and immediate. The second slot of LD_IMM64 uses only Imm.
type Insn struct {
	Code     uint8
	Dst, Src uint8
	Off      int16
	Imm      int32
}

// Unmarshal decodes slots from bytes in byte order bo, that of the object. On big endian the
// register nibbles are swapped as well (RFC 9669 section 3). The error is ErrTruncated.
func Unmarshal(b []byte, bo binary.ByteOrder) ([]Insn, error) {
	if len(b)%SlotSize != 0 {
		return nil, fmt.Errorf("%w: got %d", ErrTruncated, len(b))
	}
	insns := make([]Insn, len(b)/SlotSize)
	if endian.IsBig(bo) {
		for i := range insns {
			w := binary.BigEndian.Uint64(b[i*SlotSize:])
			insns[i] = Insn{Code: uint8(w >> 56), Dst: uint8(w>>52) & 0xf, Src: uint8(w>>48) & 0xf, Off: int16(w >> 32), Imm: int32(w)}
		}
		return insns, nil
	}
	for i := range insns {
		w := binary.LittleEndian.Uint64(b[i*SlotSize:])
		insns[i] = Insn{Code: uint8(w), Dst: uint8(w>>8) & 0xf, Src: uint8(w>>12) & 0xf, Off: int16(w >> 16), Imm: int32(w >> 32)}
	}
	return insns, nil
}

// Marshal encodes slots in byte order bo. Register numbers are truncated to four bits.
func Marshal(insns []Insn, bo binary.ByteOrder) []byte {
	big := endian.IsBig(bo)
	b := make([]byte, 0, len(insns)*SlotSize)
	for _, in := range insns {
		if big {
			b = append(b, in.Code, in.Dst<<4|in.Src&0xf)
			b = binary.BigEndian.AppendUint16(b, uint16(in.Off))
			b = binary.BigEndian.AppendUint32(b, uint32(in.Imm))
		} else {
			b = append(b, in.Code, in.Src<<4|in.Dst&0xf)
			b = binary.LittleEndian.AppendUint16(b, uint16(in.Off))
			b = binary.LittleEndian.AppendUint32(b, uint32(in.Imm))
		}
	}
	return b
}

// IsLdImm64 reports whether the instruction is an LD_IMM64 of any kind, which occupies two slots.
func (in Insn) IsLdImm64() bool { return in.Code == codeLdImm64 }

// Len returns the number of slots the instruction occupies: 2 for LD_IMM64, else 1.
func (in Insn) Len() int {
	if in.Code == codeLdImm64 {
		return 2
	}
	return 1
}

// Imm64 returns the 64-bit immediate of the LD_IMM64 at slot i, whose low half is in the first
// slot. Slot i+1 must exist.
func Imm64(insns []Insn, i int) uint64 {
	return uint64(uint32(insns[i].Imm)) | uint64(uint32(insns[i+1].Imm))<<32
}

// SetImm64 sets the 64-bit immediate of the LD_IMM64 at slot i. Slot i+1 must exist.
func SetImm64(insns []Insn, i int, v uint64) {
	insns[i].Imm = int32(uint32(v))
	insns[i+1].Imm = int32(uint32(v >> 32))
}

// Info returns the table row of the instruction.
func (in Insn) Info() *Info { return in.Op().Info() }

// Target returns the slot that a jump (goto, gotol, conditional, may_goto), local call or function
// address at slot pc refers to; it may lie outside the program. The bool is false for all other
// instructions, including gotox.
func (in Insn) Target(pc int) (int, bool) {
	return in.target(pc, in.Info())
}

func (in Insn) target(pc int, info *Info) (int, bool) {
	switch info.Op {
	case OpJa32, OpCallLocal, OpLdFunc:
		return pc + 1 + int(in.Imm), true
	default:
		if info.Op == OpJa || info.Flags&FlagBranch != 0 {
			return pc + 1 + int(in.Off), true
		}
	}
	return 0, false
}
