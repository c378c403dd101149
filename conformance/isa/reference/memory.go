package reference

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/decode"
)

// bytes returns the bytes at an address, all of which have to lie in one segment or in the stack of one frame that is active.
func (m *Machine) bytes(addr uint64, size int) []byte {
	find := func(base uint64, b []byte) []byte {
		off := addr - base
		if off >= uint64(len(b)) || uint64(size) > uint64(len(b))-off {
			return nil
		}
		return b[off:][:size]
	}
	if b := find(m.Value.Addr, m.Value.Bytes); b != nil {
		return b
	}
	if b := find(m.Context.Addr, m.Context.Bytes); b != nil {
		return b
	}
	for i := range m.stacks {
		if m.Stacks[i] == 0 {
			continue
		}
		if b := find(m.Stacks[i], m.stacks[i][:]); b != nil {
			return b
		}
	}
	m.fault(FaultMemory, "%d bytes at %#x", size, addr)
	return nil
}

func (m *Machine) load(addr uint64, size int) uint64 {
	var b [8]byte
	copy(b[:], m.bytes(addr, size))
	return binary.LittleEndian.Uint64(b[:])
}

func (m *Machine) store(addr uint64, size int, v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	copy(m.bytes(addr, size), b[:])
}

// signed extends the sign of the low size bytes.
func signed(v uint64, size int) uint64 {
	switch size {
	case 1:
		return uint64(int64(int8(v)))
	case 2:
		return uint64(int64(int16(v)))
	case 4:
		return uint64(int64(int32(v)))
	}
	return v
}

// ldx is the class LDX: MEM zero-extends, MEMSX sign-extends (RFC 9669 section 5.1, 5.2).
func (m *Machine) ldx(in decode.Insn) {
	size := sizeOf(in.Code)
	addr := m.r[in.Src] + uint64(int64(in.Off))
	switch in.Code & 0xe0 {
	case 0x60:
		m.r[in.Dst] = m.load(addr, size)
	case 0x80:
		if size == 8 {
			m.fault(FaultInvalid, "sign-extending load of 8 bytes")
		}
		m.r[in.Dst] = signed(m.load(addr, size), size)
	default:
		m.fault(FaultInvalid, "opcode %#x", in.Code)
	}
	m.pc++
}

// stx is the class STX: MEM stores a register, ATOMIC is told apart by imm (RFC 9669 section 5.1, 5.3).
func (m *Machine) stx(in decode.Insn) {
	size := sizeOf(in.Code)
	switch in.Code & 0xe0 {
	case 0x60:
		m.store(m.r[in.Dst]+uint64(int64(in.Off)), size, m.r[in.Src])
	case 0xc0:
		m.atomic(in, size)
	default:
		m.fault(FaultInvalid, "opcode %#x", in.Code)
	}
	m.pc++
}

// atomic executes an atomic instruction. Operands of 4 bytes use the low half of registers, and what is
// fetched is zero-extended. The verifier refuses misaligned ones.
func (m *Machine) atomic(in decode.Insn, size int) {
	base := in.Dst
	if in.Imm == 0x100 { // load-acquire has the address in src
		base = in.Src
	}
	addr := m.r[base] + uint64(int64(in.Off))
	if addr%uint64(size) != 0 {
		m.fault(FaultMemory, "atomic on misaligned %#x", addr)
	}
	switch in.Imm {
	case 0x100: // load-acquire, zero-extending
		m.r[in.Dst] = m.load(addr, size)
		return
	case 0x110: // store-release
		m.store(addr, size, m.r[in.Src])
		return
	}
	if size < 4 {
		m.fault(FaultInvalid, "atomic on %d bytes", size)
	}
	old := m.load(addr, size)
	src := m.r[in.Src]
	switch in.Imm {
	case 0x00, 0x01: // ADD, with FETCH
		m.store(addr, size, old+src)
	case 0x40, 0x41: // OR
		m.store(addr, size, old|src)
	case 0x50, 0x51: // AND
		m.store(addr, size, old&src)
	case 0xa0, 0xa1: // XOR
		m.store(addr, size, old^src)
	case 0xe1: // XCHG
		m.store(addr, size, src)
	case 0xf1: // CMPXCHG: r0 is compared, and receives the old value either way
		want := m.r[0]
		if size == 4 {
			want = uint64(uint32(want))
		}
		if old == want {
			m.store(addr, size, src)
		}
		m.r[0] = old
		return
	default:
		m.fault(FaultInvalid, "atomic operation %#x", in.Imm)
	}
	if in.Imm&1 != 0 { // FETCH
		m.r[in.Src] = old
	}
}

// ld is the class LD: 64-bit immediates (RFC 9669 section 5.4) and the legacy packet loads (section 5.5).
func (m *Machine) ld(in decode.Insn) {
	size := sizeOf(in.Code)
	switch in.Code & 0xe0 {
	case 0x00:
		if size != 8 {
			m.fault(FaultInvalid, "opcode %#x", in.Code)
		}
		m.imm64(in)
	case 0x20:
		m.loadPacket(int(in.Imm), size)
	case 0x40:
		m.loadPacket(int(int32(uint32(m.r[in.Src])+uint32(in.Imm))), size)
	default:
		m.fault(FaultInvalid, "opcode %#x", in.Code)
	}
}

// imm64 is LD_IMM64; the source field says what the immediate means (RFC 9669 table 18 and the kernel's BPF_PSEUDO_*).
func (m *Machine) imm64(in decode.Insn) {
	if m.pc+1 >= len(m.Insns) {
		m.fault(FaultBadTarget, "second slot is missing")
	}
	next := uint64(uint32(m.Insns[m.pc+1].Imm))
	switch in.Src {
	case 0:
		m.r[in.Dst] = uint64(uint32(in.Imm)) | next<<32
	case 1, 5: // map by file descriptor or index
		m.r[in.Dst] = m.MapAddr
	case 2, 6: // its value
		m.r[in.Dst] = m.Value.Addr + next
	case 4: // function
		m.r[in.Dst] = m.TextBase + 8*uint64(m.pc+1+int(in.Imm))
	default:
		m.fault(FaultNotSimulated, "LD_IMM64 of kind %d", in.Src)
	}
	m.pc += 2
}

// loadPacket puts bytes of the packet, in network order, into r0. Offsets from -0x100000 on are relative to the network header,
// those from -0x200000 on to the start of the packet (kernel net/core/filter.c, SKF_NET_OFF, SKF_LL_OFF). Where there are no such
// bytes the function returns 0.
func (m *Machine) loadPacket(off, size int) {
	switch {
	case off >= 0:
	case off >= -0x100000:
		off += 0x100000 + m.NetworkHeader
	case off >= -0x200000:
		off += 0x200000
	}
	if off < 0 || off+size > len(m.Packet) {
		m.r[0] = 0
		m.exit()
		return
	}
	v := uint64(0)
	for _, b := range m.Packet[off : off+size] {
		v = v<<8 | uint64(b)
	}
	m.r[0] = v
	m.pc++
}
