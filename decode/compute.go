package decode

// Compute returns the value that an ALU instruction (RFC 9669 sections 4.1 and 4.2) writes to its
// destination register. dst is the destination's previous value; src is the source register or, for
// forms with an immediate, Insn.Imm sign-extended. Unary forms ignore src. Byte order conversions
// are those of a little-endian machine. ok is false for other instructions and for addr_space_cast.
func (op Op) Compute(dst, src uint64) (result uint64, ok bool) { return compute(op, dst, src) }

// Holds reports whether a conditional jump (RFC 9669 section 4.3) is taken, with operands as for
// Compute. ok is false for other instructions and for may_goto.
func (op Op) Holds(dst, src uint64) (taken, ok bool) { return holds(op, dst, src) }

// OtherByteOrder returns the instruction that does on a little-endian machine what op does on a
// big-endian one: le16 for be16 and vice versa. All other instructions are returned unchanged.
func (op Op) OtherByteOrder() Op {
	switch op {
	case OpLE16:
		return OpBE16
	case OpLE32:
		return OpBE32
	case OpLE64:
		return OpBE64
	case OpBE16:
		return OpLE16
	case OpBE32:
		return OpLE32
	case OpBE64:
		return OpLE64
	}
	return op
}
