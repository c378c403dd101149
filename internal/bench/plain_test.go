package bench

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/bpfrun/bpfrun/decode"
)

// plain is the interpreter the real one is measured against: one switch on the opcode byte of
// undecoded instructions, eleven registers, and memory that is a list of slices with a bounds
// check. It is what one writes first. It knows what the benchmark programs use and no helpers.
type plain struct {
	regs  [11]uint64
	insns uint64
	mem   []byte
	stack [8 * 512]byte
}

const (
	plainMem   = 0x1_0000_0000
	plainStack = 0x2_0000_0000
)

var (
	errPlainAccess = errors.New("access outside of memory")
	errPlainOp     = errors.New("unknown instruction")
	errPlainDepth  = errors.New("too many calls")
)

// at returns size bytes of memory, nil outside it.
func (p *plain) at(addr uint64, size uint64) []byte {
	if off := addr - plainMem; off < uint64(len(p.mem)) && size <= uint64(len(p.mem))-off {
		return p.mem[off : off+size]
	}
	if off := addr - plainStack; off < uint64(len(p.stack)) && size <= uint64(len(p.stack))-off {
		return p.stack[off : off+size]
	}
	return nil
}

// run executes a program with r1 = its memory and r2 = the length of that.
func (p *plain) run(code []decode.Insn) (uint64, error) {
	type frame struct {
		pc    int
		saved [4]uint64
	}
	var frames [8]frame
	depth := 0
	r := &p.regs
	*r = [11]uint64{1: plainMem, 2: uint64(len(p.mem)), 10: plainStack + 512}
	p.insns = 0
	for pc := 0; ; {
		if pc < 0 || pc >= len(code) {
			return 0, errPlainOp
		}
		in := code[pc]
		pc++
		p.insns++
		imm := uint64(int64(in.Imm))
		addr := uint64(int64(in.Off))
		switch in.Code {
		case 0x07:
			r[in.Dst] += imm
		case 0x0f:
			r[in.Dst] += r[in.Src]
		case 0x04:
			r[in.Dst] = uint64(uint32(r[in.Dst]) + uint32(imm))
		case 0x0c:
			r[in.Dst] = uint64(uint32(r[in.Dst]) + uint32(r[in.Src]))
		case 0x17:
			r[in.Dst] -= imm
		case 0x1f:
			r[in.Dst] -= r[in.Src]
		case 0x14:
			r[in.Dst] = uint64(uint32(r[in.Dst]) - uint32(imm))
		case 0x1c:
			r[in.Dst] = uint64(uint32(r[in.Dst]) - uint32(r[in.Src]))
		case 0x27:
			r[in.Dst] *= imm
		case 0x2f:
			r[in.Dst] *= r[in.Src]
		case 0x24:
			r[in.Dst] = uint64(uint32(r[in.Dst]) * uint32(imm))
		case 0x2c:
			r[in.Dst] = uint64(uint32(r[in.Dst]) * uint32(r[in.Src]))
		case 0x37:
			if imm == 0 {
				r[in.Dst] = 0
			} else {
				r[in.Dst] /= imm
			}
		case 0x3f:
			if r[in.Src] == 0 {
				r[in.Dst] = 0
			} else {
				r[in.Dst] /= r[in.Src]
			}
		case 0x34:
			if uint32(imm) == 0 {
				r[in.Dst] = 0
			} else {
				r[in.Dst] = uint64(uint32(r[in.Dst]) / uint32(imm))
			}
		case 0x3c:
			if uint32(r[in.Src]) == 0 {
				r[in.Dst] = 0
			} else {
				r[in.Dst] = uint64(uint32(r[in.Dst]) / uint32(r[in.Src]))
			}
		case 0x97:
			if imm != 0 {
				r[in.Dst] %= imm
			}
		case 0x9f:
			if r[in.Src] != 0 {
				r[in.Dst] %= r[in.Src]
			}
		case 0x94:
			if uint32(imm) != 0 {
				r[in.Dst] = uint64(uint32(r[in.Dst]) % uint32(imm))
			}
		case 0x9c:
			if uint32(r[in.Src]) != 0 {
				r[in.Dst] = uint64(uint32(r[in.Dst]) % uint32(r[in.Src]))
			}
		case 0x47:
			r[in.Dst] |= imm
		case 0x4f:
			r[in.Dst] |= r[in.Src]
		case 0x44:
			r[in.Dst] = uint64(uint32(r[in.Dst]) | uint32(imm))
		case 0x4c:
			r[in.Dst] = uint64(uint32(r[in.Dst]) | uint32(r[in.Src]))
		case 0x57:
			r[in.Dst] &= imm
		case 0x5f:
			r[in.Dst] &= r[in.Src]
		case 0x54:
			r[in.Dst] = uint64(uint32(r[in.Dst]) & uint32(imm))
		case 0x5c:
			r[in.Dst] = uint64(uint32(r[in.Dst]) & uint32(r[in.Src]))
		case 0xa7:
			r[in.Dst] ^= imm
		case 0xaf:
			r[in.Dst] ^= r[in.Src]
		case 0xa4:
			r[in.Dst] = uint64(uint32(r[in.Dst]) ^ uint32(imm))
		case 0xac:
			r[in.Dst] = uint64(uint32(r[in.Dst]) ^ uint32(r[in.Src]))
		case 0x67:
			r[in.Dst] <<= imm & 63
		case 0x6f:
			r[in.Dst] <<= r[in.Src] & 63
		case 0x64:
			r[in.Dst] = uint64(uint32(r[in.Dst]) << (imm & 31))
		case 0x6c:
			r[in.Dst] = uint64(uint32(r[in.Dst]) << (r[in.Src] & 31))
		case 0x77:
			r[in.Dst] >>= imm & 63
		case 0x7f:
			r[in.Dst] >>= r[in.Src] & 63
		case 0x74:
			r[in.Dst] = uint64(uint32(r[in.Dst]) >> (imm & 31))
		case 0x7c:
			r[in.Dst] = uint64(uint32(r[in.Dst]) >> (r[in.Src] & 31))
		case 0xc7:
			r[in.Dst] = uint64(int64(r[in.Dst]) >> (imm & 63))
		case 0xcf:
			r[in.Dst] = uint64(int64(r[in.Dst]) >> (r[in.Src] & 63))
		case 0xc4:
			r[in.Dst] = uint64(uint32(int32(r[in.Dst]) >> (imm & 31)))
		case 0xcc:
			r[in.Dst] = uint64(uint32(int32(r[in.Dst]) >> (r[in.Src] & 31)))
		case 0x87:
			r[in.Dst] = -r[in.Dst]
		case 0x84:
			r[in.Dst] = uint64(-uint32(r[in.Dst]))
		case 0xb7:
			r[in.Dst] = imm
		case 0xbf:
			r[in.Dst] = r[in.Src]
		case 0xb4:
			r[in.Dst] = uint64(uint32(imm))
		case 0xbc:
			r[in.Dst] = uint64(uint32(r[in.Src]))
		case 0xdc:
			switch in.Imm {
			case 16:
				r[in.Dst] = uint64(bits.ReverseBytes16(uint16(r[in.Dst])))
			case 32:
				r[in.Dst] = uint64(bits.ReverseBytes32(uint32(r[in.Dst])))
			case 64:
				r[in.Dst] = bits.ReverseBytes64(r[in.Dst])
			}
		case 0x18:
			if pc >= len(code) {
				return 0, errPlainOp
			}
			r[in.Dst] = uint64(uint32(in.Imm)) | uint64(uint32(code[pc].Imm))<<32
			pc++
		case 0x71:
			b := p.at(r[in.Src]+addr, 1)
			if b == nil {
				return 0, errPlainAccess
			}
			r[in.Dst] = uint64(b[0])
		case 0x69:
			b := p.at(r[in.Src]+addr, 2)
			if b == nil {
				return 0, errPlainAccess
			}
			r[in.Dst] = uint64(binary.LittleEndian.Uint16(b))
		case 0x61:
			b := p.at(r[in.Src]+addr, 4)
			if b == nil {
				return 0, errPlainAccess
			}
			r[in.Dst] = uint64(binary.LittleEndian.Uint32(b))
		case 0x79:
			b := p.at(r[in.Src]+addr, 8)
			if b == nil {
				return 0, errPlainAccess
			}
			r[in.Dst] = binary.LittleEndian.Uint64(b)
		case 0x72, 0x73:
			b := p.at(r[in.Dst]+addr, 1)
			if b == nil {
				return 0, errPlainAccess
			}
			v := imm
			if in.Code == 0x73 {
				v = r[in.Src]
			}
			b[0] = byte(v)
		case 0x6a, 0x6b:
			b := p.at(r[in.Dst]+addr, 2)
			if b == nil {
				return 0, errPlainAccess
			}
			v := imm
			if in.Code == 0x6b {
				v = r[in.Src]
			}
			binary.LittleEndian.PutUint16(b, uint16(v))
		case 0x62, 0x63:
			b := p.at(r[in.Dst]+addr, 4)
			if b == nil {
				return 0, errPlainAccess
			}
			v := imm
			if in.Code == 0x63 {
				v = r[in.Src]
			}
			binary.LittleEndian.PutUint32(b, uint32(v))
		case 0x7a, 0x7b:
			b := p.at(r[in.Dst]+addr, 8)
			if b == nil {
				return 0, errPlainAccess
			}
			v := imm
			if in.Code == 0x7b {
				v = r[in.Src]
			}
			binary.LittleEndian.PutUint64(b, v)
		case 0x05:
			pc += int(in.Off)
		case 0x15:
			if r[in.Dst] == imm {
				pc += int(in.Off)
			}
		case 0x25:
			if r[in.Dst] > imm {
				pc += int(in.Off)
			}
		case 0x35:
			if r[in.Dst] >= imm {
				pc += int(in.Off)
			}
		case 0x45:
			if r[in.Dst]&imm != 0 {
				pc += int(in.Off)
			}
		case 0x55:
			if r[in.Dst] != imm {
				pc += int(in.Off)
			}
		case 0x65:
			if int64(r[in.Dst]) > int64(imm) {
				pc += int(in.Off)
			}
		case 0x75:
			if int64(r[in.Dst]) >= int64(imm) {
				pc += int(in.Off)
			}
		case 0xa5:
			if r[in.Dst] < imm {
				pc += int(in.Off)
			}
		case 0xb5:
			if r[in.Dst] <= imm {
				pc += int(in.Off)
			}
		case 0xc5:
			if int64(r[in.Dst]) < int64(imm) {
				pc += int(in.Off)
			}
		case 0xd5:
			if int64(r[in.Dst]) <= int64(imm) {
				pc += int(in.Off)
			}
		case 0x1d:
			if r[in.Dst] == r[in.Src] {
				pc += int(in.Off)
			}
		case 0x2d:
			if r[in.Dst] > r[in.Src] {
				pc += int(in.Off)
			}
		case 0x3d:
			if r[in.Dst] >= r[in.Src] {
				pc += int(in.Off)
			}
		case 0x4d:
			if r[in.Dst]&r[in.Src] != 0 {
				pc += int(in.Off)
			}
		case 0x5d:
			if r[in.Dst] != r[in.Src] {
				pc += int(in.Off)
			}
		case 0x6d:
			if int64(r[in.Dst]) > int64(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0x7d:
			if int64(r[in.Dst]) >= int64(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0xad:
			if r[in.Dst] < r[in.Src] {
				pc += int(in.Off)
			}
		case 0xbd:
			if r[in.Dst] <= r[in.Src] {
				pc += int(in.Off)
			}
		case 0xcd:
			if int64(r[in.Dst]) < int64(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0xdd:
			if int64(r[in.Dst]) <= int64(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0x16:
			if uint32(r[in.Dst]) == uint32(imm) {
				pc += int(in.Off)
			}
		case 0x26:
			if uint32(r[in.Dst]) > uint32(imm) {
				pc += int(in.Off)
			}
		case 0x36:
			if uint32(r[in.Dst]) >= uint32(imm) {
				pc += int(in.Off)
			}
		case 0x46:
			if uint32(r[in.Dst])&uint32(imm) != 0 {
				pc += int(in.Off)
			}
		case 0x56:
			if uint32(r[in.Dst]) != uint32(imm) {
				pc += int(in.Off)
			}
		case 0x66:
			if int32(r[in.Dst]) > int32(imm) {
				pc += int(in.Off)
			}
		case 0x76:
			if int32(r[in.Dst]) >= int32(imm) {
				pc += int(in.Off)
			}
		case 0xa6:
			if uint32(r[in.Dst]) < uint32(imm) {
				pc += int(in.Off)
			}
		case 0xb6:
			if uint32(r[in.Dst]) <= uint32(imm) {
				pc += int(in.Off)
			}
		case 0xc6:
			if int32(r[in.Dst]) < int32(imm) {
				pc += int(in.Off)
			}
		case 0xd6:
			if int32(r[in.Dst]) <= int32(imm) {
				pc += int(in.Off)
			}
		case 0x1e:
			if uint32(r[in.Dst]) == uint32(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0x2e:
			if uint32(r[in.Dst]) > uint32(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0x3e:
			if uint32(r[in.Dst]) >= uint32(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0x4e:
			if uint32(r[in.Dst])&uint32(r[in.Src]) != 0 {
				pc += int(in.Off)
			}
		case 0x5e:
			if uint32(r[in.Dst]) != uint32(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0x6e:
			if int32(r[in.Dst]) > int32(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0x7e:
			if int32(r[in.Dst]) >= int32(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0xae:
			if uint32(r[in.Dst]) < uint32(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0xbe:
			if uint32(r[in.Dst]) <= uint32(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0xce:
			if int32(r[in.Dst]) < int32(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0xde:
			if int32(r[in.Dst]) <= int32(r[in.Src]) {
				pc += int(in.Off)
			}
		case 0x85:
			if in.Src != 1 {
				return 0, errPlainOp
			}
			if depth == len(frames)-1 {
				return 0, errPlainDepth
			}
			f := &frames[depth]
			f.pc = pc
			copy(f.saved[:], r[6:10])
			depth++
			r[10] += 512
			pc += int(in.Imm)
		case 0x95:
			if depth == 0 {
				return r[0], nil
			}
			depth--
			f := &frames[depth]
			pc = f.pc
			copy(r[6:10], f.saved[:])
			r[10] -= 512
		default:
			return 0, errPlainOp
		}
	}
}
