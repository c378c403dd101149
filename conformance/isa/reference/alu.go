package reference

import (
	"math/bits"

	"github.com/bpfrun/bpfrun/decode"
)

// alu64 executes an instruction of class ALU64 (RFC 9669 section 4.1). The operand is a register if
// the source bit is X, and else the sign-extended immediate.
func (m *Machine) alu64(in decode.Insn) {
	src := uint64(int64(in.Imm))
	if in.Code&0x08 != 0 {
		src = m.r[in.Src]
	}
	dst := m.r[in.Dst]
	switch in.Code & 0xf0 {
	case 0x00: // ADD
		dst += src
	case 0x10: // SUB
		dst -= src
	case 0x20: // MUL
		dst *= src
	case 0x30: // DIV, SDIV: division by zero yields 0, overflow the dividend
		switch {
		case src == 0:
			dst = 0
		case in.Off == 1:
			dst = sdiv64(dst, src)
		default:
			dst /= src
		}
	case 0x40: // OR
		dst |= src
	case 0x50: // AND
		dst &= src
	case 0x60: // LSH: the shift count is masked
		dst <<= src & 0x3f
	case 0x70: // RSH
		dst >>= src & 0x3f
	case 0x80: // NEG
		dst = -dst
	case 0x90: // MOD, SMOD: modulo zero yields the dividend
		switch {
		case src == 0:
		case in.Off == 1:
			dst = smod64(dst, src)
		default:
			dst %= src
		}
	case 0xa0: // XOR
		dst ^= src
	case 0xb0: // MOV, MOVSX, and the kernel's addr_space_cast
		dst = m.mov64(in, src)
	case 0xc0: // ARSH
		dst = uint64(int64(dst) >> (src & 0x3f))
	case 0xd0: // END: unconditional byte swap
		switch in.Imm {
		case 16:
			dst = uint64(bits.ReverseBytes16(uint16(dst)))
		case 32:
			dst = uint64(bits.ReverseBytes32(uint32(dst)))
		case 64:
			dst = bits.ReverseBytes64(dst)
		default:
			m.fault(FaultInvalid, "swap of %d bits", in.Imm)
		}
	default:
		m.fault(FaultInvalid, "opcode %#x", in.Code)
	}
	m.r[in.Dst] = dst
	m.pc++
}

func (m *Machine) mov64(in decode.Insn, src uint64) uint64 {
	switch in.Off {
	case 8:
		return uint64(int64(int8(src)))
	case 16:
		return uint64(int64(int16(src)))
	case 32:
		return uint64(int64(int32(src)))
	case 1:
		return m.castAddress(in.Imm, src)
	}
	return src
}

// castAddress implements addr_space_cast (kernel/bpf/verifier.c). The immediate 1 converts a user
// space pointer to a kernel pointer, 1<<16 the reverse. A null pointer stays null.
func (m *Machine) castAddress(imm int32, src uint64) uint64 {
	if m.ArenaKernel == 0 {
		m.fault(FaultNotSimulated, "address cast without an arena")
	}
	low := uint64(uint32(src))
	switch {
	case low == 0:
		return 0
	case imm == 1:
		return m.ArenaKernel + low
	}
	return m.ArenaUser>>32<<32 | low
}

// alu32 executes an instruction of class ALU. It operates on lower halves and zeroes the upper half
// of the result.
func (m *Machine) alu32(in decode.Insn) {
	src := uint32(in.Imm)
	if in.Code&0x08 != 0 {
		src = uint32(m.r[in.Src])
	}
	dst := uint32(m.r[in.Dst])
	switch in.Code & 0xf0 {
	case 0x00: // ADD
		dst += src
	case 0x10: // SUB
		dst -= src
	case 0x20: // MUL
		dst *= src
	case 0x30: // DIV, SDIV
		switch {
		case src == 0:
			dst = 0
		case in.Off == 1:
			dst = uint32(sdiv64(uint64(int64(int32(dst))), uint64(int64(int32(src)))))
		default:
			dst /= src
		}
	case 0x40: // OR
		dst |= src
	case 0x50: // AND
		dst &= src
	case 0x60: // LSH
		dst <<= src & 0x1f
	case 0x70: // RSH
		dst >>= src & 0x1f
	case 0x80: // NEG
		dst = -dst
	case 0x90: // MOD, SMOD
		switch {
		case src == 0:
		case in.Off == 1:
			dst = uint32(smod64(uint64(int64(int32(dst))), uint64(int64(int32(src)))))
		default:
			dst %= src
		}
	case 0xa0: // XOR
		dst ^= src
	case 0xb0: // MOV, MOVSX
		switch in.Off {
		case 8:
			dst = uint32(int32(int8(src)))
		case 16:
			dst = uint32(int32(int16(src)))
		default:
			dst = src
		}
	case 0xc0: // ARSH
		dst = uint32(int32(dst) >> (src & 0x1f))
	case 0xd0: // END: the only operation that may have a 64-bit result
		m.r[in.Dst] = m.byteOrder(in)
		m.pc++
		return
	default:
		m.fault(FaultInvalid, "opcode %#x", in.Code)
	}
	m.r[in.Dst] = uint64(dst)
	m.pc++
}

// byteOrder converts between the machine's byte order and the one that the source bit selects (RFC
// 9669 section 4.2).
func (m *Machine) byteOrder(in decode.Insn) uint64 {
	v, swap := m.r[in.Dst], in.Code&0x08 != 0 != m.Big
	switch {
	case in.Imm == 16 && swap:
		return uint64(bits.ReverseBytes16(uint16(v)))
	case in.Imm == 32 && swap:
		return uint64(bits.ReverseBytes32(uint32(v)))
	case in.Imm == 64 && swap:
		return bits.ReverseBytes64(v)
	case in.Imm == 16:
		return uint64(uint16(v))
	case in.Imm == 32:
		return uint64(uint32(v))
	case in.Imm == 64:
		return v
	}
	m.fault(FaultInvalid, "byte order of %d bits", in.Imm)
	return 0
}

// sdiv64 divides magnitudes and truncates towards zero. The smallest number divided by -1 is the
// smallest number.
func sdiv64(a, b uint64) uint64 {
	q := magnitude(a) / magnitude(b)
	if (a^b)>>63 != 0 {
		return -q
	}
	return q
}

// smod64 returns the remainder of sdiv64, which has the sign of the dividend.
func smod64(a, b uint64) uint64 {
	r := magnitude(a) % magnitude(b)
	if a>>63 != 0 {
		return -r
	}
	return r
}

func magnitude(v uint64) uint64 {
	if v>>63 != 0 {
		return -v
	}
	return v
}
