package reference

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/decode"
)

// bytes returns the bytes at an address, which must all lie in one segment or in the stack of one
// active frame.
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
	if m.Big {
		copy(b[8-size:], m.bytes(addr, size))
		return binary.BigEndian.Uint64(b[:])
	}
	copy(b[:], m.bytes(addr, size))
	return binary.LittleEndian.Uint64(b[:])
}

func (m *Machine) store(addr uint64, size int, v uint64) {
	var b [8]byte
	to := m.bytes(addr, size)
	if m.Big {
		binary.BigEndian.PutUint64(b[:], v)
		copy(to, b[8-size:])
		return
	}
	binary.LittleEndian.PutUint64(b[:], v)
	copy(to, b[:])
}

// signed sign-extends the low size bytes of v.
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

// ldx executes an instruction of class LDX: MEM zero-extends, MEMSX sign-extends (RFC 9669 sections
// 5.1 and 5.2).
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

// stx executes an instruction of class STX: MEM stores a register; imm selects the operation of
// ATOMIC (RFC 9669 sections 5.1 and 5.3).
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

// atomic executes an atomic instruction. 4-byte operations use the lower halves of registers and
// zero-extend the fetched value. The verifier refuses misaligned accesses.
func (m *Machine) atomic(in decode.Insn, size int) {
	base := in.Dst
	if in.Imm == 0x100 { // load-acquire takes the address from src
		base = in.Src
	}
	addr := m.r[base] + uint64(int64(in.Off))
	if addr%uint64(size) != 0 {
		m.fault(FaultMemory, "atomic on misaligned %#x", addr)
	}
	switch in.Imm {
	case 0x100: // load-acquire: zero-extends
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
	case 0xf1: // CMPXCHG: compares with r0, which receives the old value in either case
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

// ld executes an instruction of class LD: a 64-bit immediate (RFC 9669 section 5.4) or a legacy
// packet load (section 5.5).
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

// imm64 executes LD_IMM64. The source field determines the meaning of the immediate (RFC 9669 table
// 18, BPF_PSEUDO_* in the kernel).
func (m *Machine) imm64(in decode.Insn) {
	if m.pc+1 >= len(m.Insns) {
		m.fault(FaultBadTarget, "second slot is missing")
	}
	next := uint64(uint32(m.Insns[m.pc+1].Imm))
	switch in.Src {
	case 0:
		m.r[in.Dst] = uint64(uint32(in.Imm)) | next<<32
	case 1, 5: // map, by file descriptor or index
		m.r[in.Dst] = m.MapAddr
	case 2, 6: // address of a map value
		m.r[in.Dst] = m.Value.Addr + next
	case 4: // address of a function
		m.r[in.Dst] = m.TextBase + 8*uint64(m.pc+1+int(in.Imm))
	default:
		m.fault(FaultNotSimulated, "LD_IMM64 of kind %d", in.Src)
	}
	m.pc += 2
}

// loadPacket loads bytes of the packet, in network byte order, into r0. Negative offsets from
// -0x100000 up are relative to the network header, lower ones from -0x200000 up to the start of the
// packet (SKF_NET_OFF and SKF_LL_OFF in the kernel's net/core/filter.c). If the bytes lie outside
// the packet, the function returns 0 to its caller.
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
