package vm

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/mem"
)

// hostBig is true on big-endian hosts, where the loop's native accesses would be wrong.
var hostBig = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// limit is the arena offset below which the loop may access memory itself: none when host or target
// is big endian, so that every access takes the precise path.
func (t *Thread) limit() uint64 {
	if hostBig || t.big {
		return 0
	}
	return t.mem.Limit()
}

// storeTrap is the shadow bit that loads ignore.
const storeTrap = uint8(mem.ClassStoreTrap)

// fast runs the program from t.pc until it ends, calls for something the loop cannot do, or
// about left instructions are executed: it may stop earlier, but by less than the length of the
// program, and never executes more. left must be greater than the program's length plus 2.
func (t *Thread) fast(left uint64) exit {
	if t.engine != nil && t.patch.native() {
		if end := t.insns + left; t.engine.Run(t, left) {
			return t.settle(end)
		}
	}
	img := t.img
	code := img.code(t.patch)
	// Straight-line code is at most as long as the program, so counting at taken branches
	// alone is exact if the loop stops one program length before the limit.
	room := (int(min(left, 1<<40)) - len(img.insns) - 2) * instSize
	// Field by field: a segment passed as a value is copied by wide loads that wait for the narrow
	// stores in front of them, which is most of the cost of a single step.
	s := &t.seg
	s.code, s.bias, s.start, s.room, s.insns, s.single = &code[0], 0, t.pc, room, t.insns, false
	return t.loop()
}

// step executes exactly one instruction, unfused, or stops in front of it.
func (t *Thread) step() exit {
	if t.patch != nil && t.patch.cover {
		t.patch.mark(t.img, t.pc)
	}
	// A copy of the instruction in front of markers: what does not branch runs into one.
	t.scratch[0] = t.img.plain[t.pc]
	s := &t.seg
	s.code, s.bias, s.start, s.room, s.insns, s.single = &t.scratch[0], t.pc, 0, 0, t.insns, true
	return t.loop()
}

// code returns the instructions to run: with patches, the private copy.
func (img *Image) code(p *Patches) []inst {
	if p != nil {
		return p.image(img).code
	}
	return img.fused
}

// segment is one entry into the loop. It is kept in the Thread, since the loop needs it
// only in the blocks that leave it, and host registers are few.
type segment struct {
	code   *inst  // slot bias of the program
	bias   int    // slot number of *code
	start  int    // slot to start at, counted from *code
	room   int    // bytes of code that may be executed before a taken branch leaves the loop
	insns  uint64 // count at entry
	single bool   // every taken branch and call leaves the loop
	left   int    // the loop's variable during a call
}

// behind returns the position behind slot pc, which is in the segment.
func (s *segment) behind(pc int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(s.code), (pc+1-s.bias)*instSize)
}

// at returns the slot number of the instruction in front of ip.
func (s *segment) at(ip unsafe.Pointer) int {
	return (int(uintptr(ip))-int(uintptr(unsafe.Pointer(s.code))))/instSize + s.bias - 1
}

// count returns how many instructions are executed when the loop is at ip with left.
func (s *segment) count(ip unsafe.Pointer, left int) uint64 {
	return s.insns + uint64(int(uintptr(ip))+s.room-left)/instSize
}

// loop is the interpreter. It runs t.seg.
//
// Invariant of ip: it points to a slot of the segment's code or just behind a slot that is not the
// last one. Targets were checked by Lower, and code ends with markers that leave the loop.
//
// The count of executed instructions is (ip + room - left) / instSize, since a taken branch moves ip and
// left by the same distance; there is no counting in between.
//
// Nothing in the dispatch loop calls a function. What needs one leaves by goto to a block behind the switch.
func (t *Thread) loop() exit {
	var (
		regs   = &t.regs
		data   = t.data
		shadow = t.shadow
		base   = t.base
		lim    = t.limit()
		ip     = unsafe.Add(unsafe.Pointer(t.seg.code), t.seg.start*instSize)
		left   = int(uintptr(ip)) + t.seg.room
		in     *inst
	)
	for {
		in = (*inst)(ip)
		ip = unsafe.Add(ip, instSize)
		switch in.op {
		// Arithmetic, RFC 9669 section 4.1. 32-bit operations zero the upper half.
		case uint16(decode.OpAdd64Imm):
			regs[in.dst] += in.imm
			continue
		case uint16(decode.OpAdd64Reg):
			regs[in.dst] += regs[in.src]
			continue
		case uint16(decode.OpAdd32Imm):
			regs[in.dst] = uint64(uint32(regs[in.dst]) + uint32(in.imm))
			continue
		case uint16(decode.OpAdd32Reg):
			regs[in.dst] = uint64(uint32(regs[in.dst]) + uint32(regs[in.src]))
			continue
		case uint16(decode.OpSub64Imm):
			regs[in.dst] -= in.imm
			continue
		case uint16(decode.OpSub64Reg):
			regs[in.dst] -= regs[in.src]
			continue
		case uint16(decode.OpSub32Imm):
			regs[in.dst] = uint64(uint32(regs[in.dst]) - uint32(in.imm))
			continue
		case uint16(decode.OpSub32Reg):
			regs[in.dst] = uint64(uint32(regs[in.dst]) - uint32(regs[in.src]))
			continue
		case uint16(decode.OpMul64Imm):
			regs[in.dst] *= in.imm
			continue
		case uint16(decode.OpMul64Reg):
			regs[in.dst] *= regs[in.src]
			continue
		case uint16(decode.OpMul32Imm):
			regs[in.dst] = uint64(uint32(regs[in.dst]) * uint32(in.imm))
			continue
		case uint16(decode.OpMul32Reg):
			regs[in.dst] = uint64(uint32(regs[in.dst]) * uint32(regs[in.src]))
			continue
		case uint16(decode.OpOr64Imm):
			regs[in.dst] |= in.imm
			continue
		case uint16(decode.OpOr64Reg):
			regs[in.dst] |= regs[in.src]
			continue
		case uint16(decode.OpOr32Imm):
			regs[in.dst] = uint64(uint32(regs[in.dst]) | uint32(in.imm))
			continue
		case uint16(decode.OpOr32Reg):
			regs[in.dst] = uint64(uint32(regs[in.dst]) | uint32(regs[in.src]))
			continue
		case uint16(decode.OpAnd64Imm):
			regs[in.dst] &= in.imm
			continue
		case uint16(decode.OpAnd64Reg):
			regs[in.dst] &= regs[in.src]
			continue
		case uint16(decode.OpAnd32Imm):
			regs[in.dst] = uint64(uint32(regs[in.dst]) & uint32(in.imm))
			continue
		case uint16(decode.OpAnd32Reg):
			regs[in.dst] = uint64(uint32(regs[in.dst]) & uint32(regs[in.src]))
			continue
		case uint16(decode.OpXor64Imm):
			regs[in.dst] ^= in.imm
			continue
		case uint16(decode.OpXor64Reg):
			regs[in.dst] ^= regs[in.src]
			continue
		case uint16(decode.OpXor32Imm):
			regs[in.dst] = uint64(uint32(regs[in.dst]) ^ uint32(in.imm))
			continue
		case uint16(decode.OpXor32Reg):
			regs[in.dst] = uint64(uint32(regs[in.dst]) ^ uint32(regs[in.src]))
			continue
		// Division by zero gives 0, modulo by zero leaves the dividend; the smallest
		// number divided by -1 is itself.
		case uint16(decode.OpDiv64Imm):
			if v := in.imm; v != 0 {
				regs[in.dst] = regs[in.dst] / v
			} else {
				regs[in.dst] = 0
			}
			continue
		case uint16(decode.OpDiv64Reg):
			if v := regs[in.src]; v != 0 {
				regs[in.dst] = regs[in.dst] / v
			} else {
				regs[in.dst] = 0
			}
			continue
		case uint16(decode.OpDiv32Imm):
			if v := uint32(in.imm); v != 0 {
				regs[in.dst] = uint64(uint32(regs[in.dst]) / v)
			} else {
				regs[in.dst] = 0
			}
			continue
		case uint16(decode.OpDiv32Reg):
			if v := uint32(regs[in.src]); v != 0 {
				regs[in.dst] = uint64(uint32(regs[in.dst]) / v)
			} else {
				regs[in.dst] = 0
			}
			continue
		case uint16(decode.OpSDiv64Imm):
			if v := int64(in.imm); v != 0 {
				regs[in.dst] = uint64(int64(regs[in.dst]) / v)
			} else {
				regs[in.dst] = 0
			}
			continue
		case uint16(decode.OpSDiv64Reg):
			if v := int64(regs[in.src]); v != 0 {
				regs[in.dst] = uint64(int64(regs[in.dst]) / v)
			} else {
				regs[in.dst] = 0
			}
			continue
		case uint16(decode.OpSDiv32Imm):
			if v := int32(in.imm); v != 0 {
				regs[in.dst] = uint64(uint32(int32(regs[in.dst]) / v))
			} else {
				regs[in.dst] = 0
			}
			continue
		case uint16(decode.OpSDiv32Reg):
			if v := int32(regs[in.src]); v != 0 {
				regs[in.dst] = uint64(uint32(int32(regs[in.dst]) / v))
			} else {
				regs[in.dst] = 0
			}
			continue
		case uint16(decode.OpMod64Imm):
			if v := in.imm; v != 0 {
				regs[in.dst] = regs[in.dst] % v
			}
			continue
		case uint16(decode.OpMod64Reg):
			if v := regs[in.src]; v != 0 {
				regs[in.dst] = regs[in.dst] % v
			}
			continue
		case uint16(decode.OpMod32Imm):
			if v := uint32(in.imm); v != 0 {
				regs[in.dst] = uint64(uint32(regs[in.dst]) % v)
			} else {
				regs[in.dst] = uint64(uint32(regs[in.dst]))
			}
			continue
		case uint16(decode.OpMod32Reg):
			if v := uint32(regs[in.src]); v != 0 {
				regs[in.dst] = uint64(uint32(regs[in.dst]) % v)
			} else {
				regs[in.dst] = uint64(uint32(regs[in.dst]))
			}
			continue
		case uint16(decode.OpSMod64Imm):
			if v := int64(in.imm); v != 0 {
				regs[in.dst] = uint64(int64(regs[in.dst]) % v)
			}
			continue
		case uint16(decode.OpSMod64Reg):
			if v := int64(regs[in.src]); v != 0 {
				regs[in.dst] = uint64(int64(regs[in.dst]) % v)
			}
			continue
		case uint16(decode.OpSMod32Imm):
			if v := int32(in.imm); v != 0 {
				regs[in.dst] = uint64(uint32(int32(regs[in.dst]) % v))
			} else {
				regs[in.dst] = uint64(uint32(regs[in.dst]))
			}
			continue
		case uint16(decode.OpSMod32Reg):
			if v := int32(regs[in.src]); v != 0 {
				regs[in.dst] = uint64(uint32(int32(regs[in.dst]) % v))
			} else {
				regs[in.dst] = uint64(uint32(regs[in.dst]))
			}
			continue
		// Shift counts are taken modulo the width.
		case uint16(decode.OpLsh64Imm):
			regs[in.dst] = regs[in.dst] << (in.imm & 63)
			continue
		case uint16(decode.OpLsh64Reg):
			regs[in.dst] = regs[in.dst] << (regs[in.src] & 63)
			continue
		case uint16(decode.OpLsh32Imm):
			regs[in.dst] = uint64(uint32(regs[in.dst]) << (in.imm & 31))
			continue
		case uint16(decode.OpLsh32Reg):
			regs[in.dst] = uint64(uint32(regs[in.dst]) << (regs[in.src] & 31))
			continue
		case uint16(decode.OpRsh64Imm):
			regs[in.dst] = regs[in.dst] >> (in.imm & 63)
			continue
		case uint16(decode.OpRsh64Reg):
			regs[in.dst] = regs[in.dst] >> (regs[in.src] & 63)
			continue
		case uint16(decode.OpRsh32Imm):
			regs[in.dst] = uint64(uint32(regs[in.dst]) >> (in.imm & 31))
			continue
		case uint16(decode.OpRsh32Reg):
			regs[in.dst] = uint64(uint32(regs[in.dst]) >> (regs[in.src] & 31))
			continue
		case uint16(decode.OpArsh64Imm):
			regs[in.dst] = uint64(int64(regs[in.dst]) >> (in.imm & 63))
			continue
		case uint16(decode.OpArsh64Reg):
			regs[in.dst] = uint64(int64(regs[in.dst]) >> (regs[in.src] & 63))
			continue
		case uint16(decode.OpArsh32Imm):
			regs[in.dst] = uint64(uint32(int32(regs[in.dst]) >> (in.imm & 31)))
			continue
		case uint16(decode.OpArsh32Reg):
			regs[in.dst] = uint64(uint32(int32(regs[in.dst]) >> (regs[in.src] & 31)))
			continue
		case uint16(decode.OpMov64Imm):
			regs[in.dst] = in.imm
			continue
		case uint16(decode.OpMov64Reg):
			regs[in.dst] = regs[in.src]
			continue
		case uint16(decode.OpMov32Imm):
			regs[in.dst] = uint64(uint32(in.imm))
			continue
		case uint16(decode.OpMov32Reg):
			regs[in.dst] = uint64(uint32(regs[in.src]))
			continue
		case uint16(decode.OpMovSX8To64):
			regs[in.dst] = uint64(int64(int8(regs[in.src])))
			continue
		case uint16(decode.OpMovSX16To64):
			regs[in.dst] = uint64(int64(int16(regs[in.src])))
			continue
		case uint16(decode.OpMovSX32To64):
			regs[in.dst] = uint64(int64(int32(regs[in.src])))
			continue
		case uint16(decode.OpMovSX8To32):
			regs[in.dst] = uint64(uint32(int32(int8(regs[in.src]))))
			continue
		case uint16(decode.OpMovSX16To32):
			regs[in.dst] = uint64(uint32(int32(int16(regs[in.src]))))
			continue
		case uint16(decode.OpNeg64):
			regs[in.dst] = -regs[in.dst]
			continue
		case uint16(decode.OpNeg32):
			regs[in.dst] = uint64(-uint32(regs[in.dst]))
			continue
		// Byte order: programs are little endian here.
		case uint16(decode.OpLE16):
			regs[in.dst] = uint64(uint16(regs[in.dst]))
			continue
		case uint16(decode.OpLE32):
			regs[in.dst] = uint64(uint32(regs[in.dst]))
			continue
		case uint16(decode.OpLE64):
			continue
		case uint16(decode.OpBE16), uint16(decode.OpBswap16):
			regs[in.dst] = uint64(bits.ReverseBytes16(uint16(regs[in.dst])))
			continue
		case uint16(decode.OpBE32), uint16(decode.OpBswap32):
			regs[in.dst] = uint64(bits.ReverseBytes32(uint32(regs[in.dst])))
			continue
		case uint16(decode.OpBE64), uint16(decode.OpBswap64):
			regs[in.dst] = uint64(bits.ReverseBytes64(uint64(regs[in.dst])))
			continue
		case uint16(decode.OpLdImm64):
			regs[in.dst] = in.imm
			ip = unsafe.Add(ip, instSize)
			left += instSize // two slots, one instruction
			continue

		// Branches, RFC 9669 section 4.3.
		case uint16(decode.OpJa), uint16(decode.OpJa32):
			goto taken
		case uint16(decode.OpJeq64Imm):
			if regs[in.dst] == in.imm {
				goto taken
			}
			continue
		case uint16(decode.OpJeq64Reg):
			if regs[in.dst] == regs[in.src] {
				goto taken
			}
			continue
		case uint16(decode.OpJeq32Imm):
			if uint32(regs[in.dst]) == uint32(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJeq32Reg):
			if uint32(regs[in.dst]) == uint32(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJne64Imm):
			if regs[in.dst] != in.imm {
				goto taken
			}
			continue
		case uint16(decode.OpJne64Reg):
			if regs[in.dst] != regs[in.src] {
				goto taken
			}
			continue
		case uint16(decode.OpJne32Imm):
			if uint32(regs[in.dst]) != uint32(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJne32Reg):
			if uint32(regs[in.dst]) != uint32(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJgt64Imm):
			if regs[in.dst] > in.imm {
				goto taken
			}
			continue
		case uint16(decode.OpJgt64Reg):
			if regs[in.dst] > regs[in.src] {
				goto taken
			}
			continue
		case uint16(decode.OpJgt32Imm):
			if uint32(regs[in.dst]) > uint32(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJgt32Reg):
			if uint32(regs[in.dst]) > uint32(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJge64Imm):
			if regs[in.dst] >= in.imm {
				goto taken
			}
			continue
		case uint16(decode.OpJge64Reg):
			if regs[in.dst] >= regs[in.src] {
				goto taken
			}
			continue
		case uint16(decode.OpJge32Imm):
			if uint32(regs[in.dst]) >= uint32(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJge32Reg):
			if uint32(regs[in.dst]) >= uint32(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJlt64Imm):
			if regs[in.dst] < in.imm {
				goto taken
			}
			continue
		case uint16(decode.OpJlt64Reg):
			if regs[in.dst] < regs[in.src] {
				goto taken
			}
			continue
		case uint16(decode.OpJlt32Imm):
			if uint32(regs[in.dst]) < uint32(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJlt32Reg):
			if uint32(regs[in.dst]) < uint32(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJle64Imm):
			if regs[in.dst] <= in.imm {
				goto taken
			}
			continue
		case uint16(decode.OpJle64Reg):
			if regs[in.dst] <= regs[in.src] {
				goto taken
			}
			continue
		case uint16(decode.OpJle32Imm):
			if uint32(regs[in.dst]) <= uint32(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJle32Reg):
			if uint32(regs[in.dst]) <= uint32(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJsgt64Imm):
			if int64(regs[in.dst]) > int64(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJsgt64Reg):
			if int64(regs[in.dst]) > int64(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJsgt32Imm):
			if int32(regs[in.dst]) > int32(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJsgt32Reg):
			if int32(regs[in.dst]) > int32(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJsge64Imm):
			if int64(regs[in.dst]) >= int64(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJsge64Reg):
			if int64(regs[in.dst]) >= int64(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJsge32Imm):
			if int32(regs[in.dst]) >= int32(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJsge32Reg):
			if int32(regs[in.dst]) >= int32(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJslt64Imm):
			if int64(regs[in.dst]) < int64(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJslt64Reg):
			if int64(regs[in.dst]) < int64(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJslt32Imm):
			if int32(regs[in.dst]) < int32(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJslt32Reg):
			if int32(regs[in.dst]) < int32(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJsle64Imm):
			if int64(regs[in.dst]) <= int64(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJsle64Reg):
			if int64(regs[in.dst]) <= int64(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJsle32Imm):
			if int32(regs[in.dst]) <= int32(in.imm) {
				goto taken
			}
			continue
		case uint16(decode.OpJsle32Reg):
			if int32(regs[in.dst]) <= int32(regs[in.src]) {
				goto taken
			}
			continue
		case uint16(decode.OpJset64Imm):
			if regs[in.dst]&in.imm != 0 {
				goto taken
			}
			continue
		case uint16(decode.OpJset64Reg):
			if regs[in.dst]&regs[in.src] != 0 {
				goto taken
			}
			continue
		case uint16(decode.OpJset32Imm):
			if uint32(regs[in.dst])&uint32(in.imm) != 0 {
				goto taken
			}
			continue
		case uint16(decode.OpJset32Reg):
			if uint32(regs[in.dst])&uint32(regs[in.src]) != 0 {
				goto taken
			}
			continue

		// Loads. Invariant of every pointer below: o < lim, so data, shadow and the bytes of an access of
		// eight bytes from there are committed (mem.ArenaInfo); the shadow says that the bytes
		// accessed are valid.
		case uint16(decode.OpLdxB):
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(*(*uint8)(unsafe.Add(data, o)))
			continue
		case uint16(decode.OpLdxH):
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(*(*uint16)(unsafe.Add(data, o)))
			continue
		case uint16(decode.OpLdxW):
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(*(*uint32)(unsafe.Add(data, o)))
			continue
		case uint16(decode.OpLdxDW):
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			regs[in.dst] = *(*uint64)(unsafe.Add(data, o))
			continue
		case uint16(decode.OpLdxSB):
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(int64(int8(*(*uint8)(unsafe.Add(data, o)))))
			continue
		case uint16(decode.OpLdxSH):
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(int64(int16(*(*uint16)(unsafe.Add(data, o)))))
			continue
		case uint16(decode.OpLdxSW):
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(int64(int32(*(*uint32)(unsafe.Add(data, o)))))
			continue

		// Stores.
		case uint16(decode.OpStB):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			*(*uint8)(unsafe.Add(data, o)) = uint8(in.imm)
			continue
		case uint16(decode.OpStxB):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			*(*uint8)(unsafe.Add(data, o)) = uint8(regs[in.src])
			continue
		case uint16(decode.OpStH):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			*(*uint16)(unsafe.Add(data, o)) = uint16(in.imm)
			continue
		case uint16(decode.OpStxH):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			*(*uint16)(unsafe.Add(data, o)) = uint16(regs[in.src])
			continue
		case uint16(decode.OpStW):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			*(*uint32)(unsafe.Add(data, o)) = uint32(in.imm)
			continue
		case uint16(decode.OpStxW):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			*(*uint32)(unsafe.Add(data, o)) = uint32(regs[in.src])
			continue
		case uint16(decode.OpStDW):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s != 0 {
				goto slow
			}
			*(*uint64)(unsafe.Add(data, o)) = in.imm
			continue
		case uint16(decode.OpStxDW):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s != 0 {
				goto slow
			}
			*(*uint64)(unsafe.Add(data, o)) = regs[in.src]
			continue

		// The common atomics; a thread is alone on its memory, so plain operations are atomic.
		// Misaligned ones go to the precise path, which refuses them.
		case uint16(decode.OpAtomicAddW):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if o&3 != 0 {
				goto slow
			}
			if s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := *(*uint32)(unsafe.Add(data, o))
			*(*uint32)(unsafe.Add(data, o)) = v + uint32(regs[in.src])
			continue
		case uint16(decode.OpAtomicFetchAddW):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if o&3 != 0 {
				goto slow
			}
			if s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := *(*uint32)(unsafe.Add(data, o))
			*(*uint32)(unsafe.Add(data, o)) = v + uint32(regs[in.src])
			regs[in.src] = uint64(v)
			continue
		case uint16(decode.OpAtomicAddDW):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if o&7 != 0 {
				goto slow
			}
			if s != 0 {
				goto slow
			}
			v := *(*uint64)(unsafe.Add(data, o))
			*(*uint64)(unsafe.Add(data, o)) = v + regs[in.src]
			continue
		case uint16(decode.OpAtomicFetchAddDW):
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if o&7 != 0 {
				goto slow
			}
			if s != 0 {
				goto slow
			}
			v := *(*uint64)(unsafe.Add(data, o))
			*(*uint64)(unsafe.Add(data, o)) = v + regs[in.src]
			regs[in.src] = v
			continue
		case uint16(decode.OpAtomicAndW), uint16(decode.OpAtomicAndDW), uint16(decode.OpAtomicFetchAndW), uint16(decode.OpAtomicFetchAndDW), uint16(decode.OpAtomicOrW), uint16(decode.OpAtomicOrDW), uint16(decode.OpAtomicFetchOrW), uint16(decode.OpAtomicFetchOrDW), uint16(decode.OpAtomicXorW), uint16(decode.OpAtomicXorDW), uint16(decode.OpAtomicFetchXorW), uint16(decode.OpAtomicFetchXorDW), uint16(decode.OpXchgW), uint16(decode.OpXchgDW), uint16(decode.OpCmpXchgW), uint16(decode.OpCmpXchgDW), uint16(decode.OpLoadAcqB), uint16(decode.OpLoadAcqH), uint16(decode.OpLoadAcqW), uint16(decode.OpLoadAcqDW), uint16(decode.OpStoreRelB), uint16(decode.OpStoreRelH), uint16(decode.OpStoreRelW), uint16(decode.OpStoreRelDW):
			goto slow

		// Everything that calls out of the loop.
		case opCallFunc:
			goto callFunc
		case uint16(decode.OpCallLocal):
			goto callLocal
		case uint16(decode.OpExit):
			goto leave
		case uint16(decode.OpMayGoto):
			if m := &t.frames[t.depth].may; *m != 0 {
				*m--
				continue
			}
			goto taken
		case uint16(decode.OpGotoX), uint16(decode.OpLdAbsB), uint16(decode.OpLdAbsH), uint16(decode.OpLdAbsW), uint16(decode.OpLdIndB), uint16(decode.OpLdIndH), uint16(decode.OpLdIndW), uint16(decode.OpAddrSpaceCast), opTrap, opEnd, opSecondSlot:
			goto rare
		case opStep:
			goto stepped
		case opBreak:
			goto breakpoint
		case opCover:
			goto cover

		// Superinstructions, see fuse.go. The slots they cover keep their operands; only the op of the
		// first one differs. A part that needs the precise path runs alone: what is before
		// it is done, and execution goes on behind it.
		case fMovAdd: // a = b; a += c
			v := regs[in.src] + regs[(*inst)(ip).src]
			regs[in.dst] = v
			ip = unsafe.Add(ip, instSize)
			continue
		case fMovAddImm: // a = b; a += imm
			regs[in.dst] = regs[in.src] + (*inst)(ip).imm
			ip = unsafe.Add(ip, instSize)
			continue
		case fIndexLoadB: // a = b; a += c; d = *(a + off), 1 bytes
			v := regs[in.src] + regs[(*inst)(ip).src]
			regs[in.dst] = v
			in = (*inst)(unsafe.Add(ip, instSize))
			ip = unsafe.Add(ip, 2*instSize)
			o := v + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(*(*uint8)(unsafe.Add(data, o)))
			continue
		case fIndexStoreB: // a = b; a += c; *(a + off) = d, 1 bytes
			v := regs[in.src] + regs[(*inst)(ip).src]
			regs[in.dst] = v
			in = (*inst)(unsafe.Add(ip, instSize))
			ip = unsafe.Add(ip, 2*instSize)
			o := v + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			*(*uint8)(unsafe.Add(data, o)) = uint8(regs[in.src])
			continue
		case fIndexLoadH: // a = b; a += c; d = *(a + off), 2 bytes
			v := regs[in.src] + regs[(*inst)(ip).src]
			regs[in.dst] = v
			in = (*inst)(unsafe.Add(ip, instSize))
			ip = unsafe.Add(ip, 2*instSize)
			o := v + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(*(*uint16)(unsafe.Add(data, o)))
			continue
		case fIndexStoreH: // a = b; a += c; *(a + off) = d, 2 bytes
			v := regs[in.src] + regs[(*inst)(ip).src]
			regs[in.dst] = v
			in = (*inst)(unsafe.Add(ip, instSize))
			ip = unsafe.Add(ip, 2*instSize)
			o := v + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			*(*uint16)(unsafe.Add(data, o)) = uint16(regs[in.src])
			continue
		case fIndexLoadW: // a = b; a += c; d = *(a + off), 4 bytes
			v := regs[in.src] + regs[(*inst)(ip).src]
			regs[in.dst] = v
			in = (*inst)(unsafe.Add(ip, instSize))
			ip = unsafe.Add(ip, 2*instSize)
			o := v + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(*(*uint32)(unsafe.Add(data, o)))
			continue
		case fIndexStoreW: // a = b; a += c; *(a + off) = d, 4 bytes
			v := regs[in.src] + regs[(*inst)(ip).src]
			regs[in.dst] = v
			in = (*inst)(unsafe.Add(ip, instSize))
			ip = unsafe.Add(ip, 2*instSize)
			o := v + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			*(*uint32)(unsafe.Add(data, o)) = uint32(regs[in.src])
			continue
		case fIndexLoadDW: // a = b; a += c; d = *(a + off), 8 bytes
			v := regs[in.src] + regs[(*inst)(ip).src]
			regs[in.dst] = v
			in = (*inst)(unsafe.Add(ip, instSize))
			ip = unsafe.Add(ip, 2*instSize)
			o := v + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			regs[in.dst] = *(*uint64)(unsafe.Add(data, o))
			continue
		case fIndexStoreDW: // a = b; a += c; *(a + off) = d, 8 bytes
			v := regs[in.src] + regs[(*inst)(ip).src]
			regs[in.dst] = v
			in = (*inst)(unsafe.Add(ip, instSize))
			ip = unsafe.Add(ip, 2*instSize)
			o := v + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s != 0 {
				goto slow
			}
			*(*uint64)(unsafe.Add(data, o)) = regs[in.src]
			continue
		case fAdd64Jeq64Imm: // a += imm; if a eq imm goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v == in.imm {
				goto taken
			}
			continue
		case fAdd64Jeq64Reg: // a += imm; if a eq b goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v == regs[in.src] {
				goto taken
			}
			continue
		case fAdd64Jne64Imm: // a += imm; if a ne imm goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v != in.imm {
				goto taken
			}
			continue
		case fAdd64Jne64Reg: // a += imm; if a ne b goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v != regs[in.src] {
				goto taken
			}
			continue
		case fAdd64Jgt64Imm: // a += imm; if a gt imm goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v > in.imm {
				goto taken
			}
			continue
		case fAdd64Jgt64Reg: // a += imm; if a gt b goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v > regs[in.src] {
				goto taken
			}
			continue
		case fAdd64Jlt64Imm: // a += imm; if a lt imm goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v < in.imm {
				goto taken
			}
			continue
		case fAdd64Jlt64Reg: // a += imm; if a lt b goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v < regs[in.src] {
				goto taken
			}
			continue
		case fAdd64Jge64Imm: // a += imm; if a ge imm goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v >= in.imm {
				goto taken
			}
			continue
		case fAdd64Jle64Imm: // a += imm; if a le imm goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v <= in.imm {
				goto taken
			}
			continue
		case fAdd64Jsgt64Imm: // a += imm; if a sgt imm goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if int64(v) > int64(in.imm) {
				goto taken
			}
			continue
		case fAdd64Jslt64Imm: // a += imm; if a slt imm goto (64 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if int64(v) < int64(in.imm) {
				goto taken
			}
			continue
		case fAdd32Jeq32Imm: // a += imm; if a eq imm goto (32 bits)
			v := uint64(uint32(regs[in.dst]) + uint32(in.imm))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) == uint32(in.imm) {
				goto taken
			}
			continue
		case fAdd32Jeq32Reg: // a += imm; if a eq b goto (32 bits)
			v := uint64(uint32(regs[in.dst]) + uint32(in.imm))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) == uint32(regs[in.src]) {
				goto taken
			}
			continue
		case fAdd32Jne32Imm: // a += imm; if a ne imm goto (32 bits)
			v := uint64(uint32(regs[in.dst]) + uint32(in.imm))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) != uint32(in.imm) {
				goto taken
			}
			continue
		case fAdd32Jne32Reg: // a += imm; if a ne b goto (32 bits)
			v := uint64(uint32(regs[in.dst]) + uint32(in.imm))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) != uint32(regs[in.src]) {
				goto taken
			}
			continue
		case fAdd32Jgt32Imm: // a += imm; if a gt imm goto (32 bits)
			v := uint64(uint32(regs[in.dst]) + uint32(in.imm))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) > uint32(in.imm) {
				goto taken
			}
			continue
		case fAdd32Jgt32Reg: // a += imm; if a gt b goto (32 bits)
			v := uint64(uint32(regs[in.dst]) + uint32(in.imm))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) > uint32(regs[in.src]) {
				goto taken
			}
			continue
		case fAdd32Jlt32Imm: // a += imm; if a lt imm goto (32 bits)
			v := uint64(uint32(regs[in.dst]) + uint32(in.imm))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) < uint32(in.imm) {
				goto taken
			}
			continue
		case fAdd32Jlt32Reg: // a += imm; if a lt b goto (32 bits)
			v := uint64(uint32(regs[in.dst]) + uint32(in.imm))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) < uint32(regs[in.src]) {
				goto taken
			}
			continue
		case fAdd64Jeq32Imm: // a += imm; if a eq imm goto (32 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) == uint32(in.imm) {
				goto taken
			}
			continue
		case fAdd64Jne32Imm: // a += imm; if a ne imm goto (32 bits)
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) != uint32(in.imm) {
				goto taken
			}
			continue
		case fAdd64JeqImmJa: // a += imm; if a eq imm goto; goto
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v == in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fAdd64JgtImmJa: // a += imm; if a gt imm goto; goto
			v := regs[in.dst] + in.imm
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v > in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fAdd32JeqImmJa: // a += imm; if a eq imm goto; goto
			v := uint64(uint32(regs[in.dst]) + uint32(in.imm))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) == uint32(in.imm) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fAdd32JgtImmJa: // a += imm; if a gt imm goto; goto
			v := uint64(uint32(regs[in.dst]) + uint32(in.imm))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) > uint32(in.imm) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJeq64ImmJa: // if a eq goto; goto (64 bits)
			if regs[in.dst] == in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJeq64RegJa: // if a eq goto; goto (64 bits)
			if regs[in.dst] == regs[in.src] {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJeq32ImmJa: // if a eq goto; goto (32 bits)
			if uint32(regs[in.dst]) == uint32(in.imm) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJne64ImmJa: // if a ne goto; goto (64 bits)
			if regs[in.dst] != in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJne64RegJa: // if a ne goto; goto (64 bits)
			if regs[in.dst] != regs[in.src] {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJne32ImmJa: // if a ne goto; goto (32 bits)
			if uint32(regs[in.dst]) != uint32(in.imm) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJgt64ImmJa: // if a gt goto; goto (64 bits)
			if regs[in.dst] > in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJgt64RegJa: // if a gt goto; goto (64 bits)
			if regs[in.dst] > regs[in.src] {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJgt32ImmJa: // if a gt goto; goto (32 bits)
			if uint32(regs[in.dst]) > uint32(in.imm) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJlt64ImmJa: // if a lt goto; goto (64 bits)
			if regs[in.dst] < in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJlt64RegJa: // if a lt goto; goto (64 bits)
			if regs[in.dst] < regs[in.src] {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJlt32ImmJa: // if a lt goto; goto (32 bits)
			if uint32(regs[in.dst]) < uint32(in.imm) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJsgt64ImmJa: // if a sgt goto; goto (64 bits)
			if int64(regs[in.dst]) > int64(in.imm) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJsgt64RegJa: // if a sgt goto; goto (64 bits)
			if int64(regs[in.dst]) > int64(regs[in.src]) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJsgt32ImmJa: // if a sgt goto; goto (32 bits)
			if int32(regs[in.dst]) > int32(in.imm) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJslt64ImmJa: // if a slt goto; goto (64 bits)
			if int64(regs[in.dst]) < int64(in.imm) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJslt64RegJa: // if a slt goto; goto (64 bits)
			if int64(regs[in.dst]) < int64(regs[in.src]) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fJslt32ImmJa: // if a slt goto; goto (32 bits)
			if int32(regs[in.dst]) < int32(in.imm) {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fLoadBAdd64: // a = *(b + off), 1 bytes; c += a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint8)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] + v
			continue
		case fLoadBAdd32: // a = *(b + off), 1 bytes; c += a (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint8)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(regs[in.dst]) + uint32(v))
			continue
		case fLoadBOr64: // a = *(b + off), 1 bytes; c |= a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint8)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] | v
			continue
		case fLoadBOr32: // a = *(b + off), 1 bytes; c |= a (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint8)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(regs[in.dst]) | uint32(v))
			continue
		case fLoadBXor64: // a = *(b + off), 1 bytes; c ^= a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint8)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] ^ v
			continue
		case fLoadBXor32: // a = *(b + off), 1 bytes; c ^= a (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint8)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(regs[in.dst]) ^ uint32(v))
			continue
		case fLoadBJeq64: // a = *(b + off), 1 bytes; if a eq imm goto (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint8)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v == in.imm {
				goto taken
			}
			continue
		case fLoadBJeq32: // a = *(b + off), 1 bytes; if a eq imm goto (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint8)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) == uint32(in.imm) {
				goto taken
			}
			continue
		case fLoadBJne64: // a = *(b + off), 1 bytes; if a ne imm goto (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint8)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v != in.imm {
				goto taken
			}
			continue
		case fLoadBJne32: // a = *(b + off), 1 bytes; if a ne imm goto (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+1 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint8)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) != uint32(in.imm) {
				goto taken
			}
			continue
		case fLoadHAdd64: // a = *(b + off), 2 bytes; c += a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint16)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] + v
			continue
		case fLoadHAdd32: // a = *(b + off), 2 bytes; c += a (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint16)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(regs[in.dst]) + uint32(v))
			continue
		case fLoadHOr64: // a = *(b + off), 2 bytes; c |= a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint16)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] | v
			continue
		case fLoadHOr32: // a = *(b + off), 2 bytes; c |= a (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint16)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(regs[in.dst]) | uint32(v))
			continue
		case fLoadHXor64: // a = *(b + off), 2 bytes; c ^= a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint16)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] ^ v
			continue
		case fLoadHXor32: // a = *(b + off), 2 bytes; c ^= a (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint16)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(regs[in.dst]) ^ uint32(v))
			continue
		case fLoadHJeq64: // a = *(b + off), 2 bytes; if a eq imm goto (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint16)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v == in.imm {
				goto taken
			}
			continue
		case fLoadHJeq32: // a = *(b + off), 2 bytes; if a eq imm goto (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint16)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) == uint32(in.imm) {
				goto taken
			}
			continue
		case fLoadHJne64: // a = *(b + off), 2 bytes; if a ne imm goto (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint16)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v != in.imm {
				goto taken
			}
			continue
		case fLoadHJne32: // a = *(b + off), 2 bytes; if a ne imm goto (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+1)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+2 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint16)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) != uint32(in.imm) {
				goto taken
			}
			continue
		case fLoadWAdd64: // a = *(b + off), 4 bytes; c += a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] + v
			continue
		case fLoadWAdd32: // a = *(b + off), 4 bytes; c += a (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(regs[in.dst]) + uint32(v))
			continue
		case fLoadWOr64: // a = *(b + off), 4 bytes; c |= a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] | v
			continue
		case fLoadWOr32: // a = *(b + off), 4 bytes; c |= a (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(regs[in.dst]) | uint32(v))
			continue
		case fLoadWXor64: // a = *(b + off), 4 bytes; c ^= a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] ^ v
			continue
		case fLoadWXor32: // a = *(b + off), 4 bytes; c ^= a (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(regs[in.dst]) ^ uint32(v))
			continue
		case fLoadWJeq64: // a = *(b + off), 4 bytes; if a eq imm goto (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v == in.imm {
				goto taken
			}
			continue
		case fLoadWJeq32: // a = *(b + off), 4 bytes; if a eq imm goto (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) == uint32(in.imm) {
				goto taken
			}
			continue
		case fLoadWJne64: // a = *(b + off), 4 bytes; if a ne imm goto (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v != in.imm {
				goto taken
			}
			continue
		case fLoadWJne32: // a = *(b + off), 4 bytes; if a ne imm goto (32 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if uint32(v) != uint32(in.imm) {
				goto taken
			}
			continue
		case fLoadDWAdd64: // a = *(b + off), 8 bytes; c += a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			v := *(*uint64)(unsafe.Add(data, o))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] + v
			continue
		case fLoadDWOr64: // a = *(b + off), 8 bytes; c |= a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			v := *(*uint64)(unsafe.Add(data, o))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] | v
			continue
		case fLoadDWXor64: // a = *(b + off), 8 bytes; c ^= a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			v := *(*uint64)(unsafe.Add(data, o))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] ^ v
			continue
		case fLoadDWAnd64: // a = *(b + off), 8 bytes; c &= a (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			v := *(*uint64)(unsafe.Add(data, o))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.dst] & v
			continue
		case fLoadDWJeq64: // a = *(b + off), 8 bytes; if a eq imm goto (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			v := *(*uint64)(unsafe.Add(data, o))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v == in.imm {
				goto taken
			}
			continue
		case fLoadDWJne64: // a = *(b + off), 8 bytes; if a ne imm goto (64 bits)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			v := *(*uint64)(unsafe.Add(data, o))
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if v != in.imm {
				goto taken
			}
			continue
		case fMov64RegMov64Reg: // two moves: Mov64Reg, Mov64Reg
			regs[in.dst] = regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.src]
			continue
		case fMov64RegMov64Imm: // two moves: Mov64Reg, Mov64Imm
			regs[in.dst] = regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = in.imm
			continue
		case fMov64RegMov32Imm: // two moves: Mov64Reg, Mov32Imm
			regs[in.dst] = regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(in.imm))
			continue
		case fMov64ImmMov64Reg: // two moves: Mov64Imm, Mov64Reg
			regs[in.dst] = in.imm
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.src]
			continue
		case fMov64ImmMov64Imm: // two moves: Mov64Imm, Mov64Imm
			regs[in.dst] = in.imm
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = in.imm
			continue
		case fMov64ImmMov32Imm: // two moves: Mov64Imm, Mov32Imm
			regs[in.dst] = in.imm
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(uint32(in.imm))
			continue
		case fMov64ImmJa: // a = imm; goto
			regs[in.dst] = in.imm
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fMov64And: // a = b; a And imm (64 bits)
			x := regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = x & in.imm
			continue
		case fMov64Lsh: // a = b; a Lsh imm (64 bits)
			x := regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = x << (in.imm & 63)
			continue
		case fMov64Rsh: // a = b; a Rsh imm (64 bits)
			x := regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = x >> (in.imm & 63)
			continue
		case fMov32And: // a = b; a And imm (32 bits)
			x := uint32(regs[in.src])
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(x & uint32(in.imm))
			continue
		case fMov32Lsh: // a = b; a Lsh imm (32 bits)
			x := uint32(regs[in.src])
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(x << (in.imm & 31))
			continue
		case fMov32Rsh: // a = b; a Rsh imm (32 bits)
			x := uint32(regs[in.src])
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(x >> (in.imm & 31))
			continue
		case fLshRsh: // a <<= imm; a >>= imm
			v := regs[in.dst] << (in.imm & 63)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v >> (in.imm & 63)
			continue
		case fLshArsh: // a <<= imm; a s>>= imm
			v := regs[in.dst] << (in.imm & 63)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(int64(v) >> (in.imm & 63))
			continue
		case fMul64ImmAdd64Imm: // two operations on one register: Mul64Imm, Add64Imm
			v := regs[in.dst] * in.imm
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v + in.imm
			continue
		case fMul64RegXor64Reg: // two operations on one register: Mul64Reg, Xor64Reg
			v := regs[in.dst] * regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v ^ regs[in.src]
			continue
		case fXor64RegMul64Reg: // two operations on one register: Xor64Reg, Mul64Reg
			v := regs[in.dst] ^ regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v * regs[in.src]
			continue
		case fLsh64ImmOr64Reg: // two operations on one register: Lsh64Imm, Or64Reg
			v := regs[in.dst] << (in.imm & 63)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v | regs[in.src]
			continue
		case fLsh64ImmAdd64Reg: // two operations on one register: Lsh64Imm, Add64Reg
			v := regs[in.dst] << (in.imm & 63)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v + regs[in.src]
			continue
		case fRsh64ImmOr64Reg: // two operations on one register: Rsh64Imm, Or64Reg
			v := regs[in.dst] >> (in.imm & 63)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v | regs[in.src]
			continue
		case fRsh64ImmAnd64Imm: // two operations on one register: Rsh64Imm, And64Imm
			v := regs[in.dst] >> (in.imm & 63)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v & in.imm
			continue
		case fRsh64ImmXor64Reg: // two operations on one register: Rsh64Imm, Xor64Reg
			v := regs[in.dst] >> (in.imm & 63)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v ^ regs[in.src]
			continue
		case fMul64RegAdd64Reg: // two operations on one register: Mul64Reg, Add64Reg
			v := regs[in.dst] * regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v + regs[in.src]
			continue
		case fMul64ImmAdd64Reg: // two operations on one register: Mul64Imm, Add64Reg
			v := regs[in.dst] * in.imm
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v + regs[in.src]
			continue
		case fAnd64ImmAdd64Reg: // two operations on one register: And64Imm, Add64Reg
			v := regs[in.dst] & in.imm
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v + regs[in.src]
			continue
		case fMul32RegAdd32Reg: // two operations on one register: Mul32Reg, Add32Reg
			v := uint32(regs[in.dst]) * uint32(regs[in.src])
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(v + uint32(regs[in.src]))
			continue
		case fXor32RegMul32Imm: // two operations on one register: Xor32Reg, Mul32Imm
			v := uint32(regs[in.dst]) ^ uint32(regs[in.src])
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(v * uint32(in.imm))
			continue
		case fLsh32ImmOr32Reg: // two operations on one register: Lsh32Imm, Or32Reg
			v := uint32(regs[in.dst]) << (in.imm & 31)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(v | uint32(regs[in.src]))
			continue
		case fRsh32ImmAnd32Imm: // two operations on one register: Rsh32Imm, And32Imm
			v := uint32(regs[in.dst]) >> (in.imm & 31)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(v & uint32(in.imm))
			continue
		case fLsh32ImmAdd32Reg: // two operations on one register: Lsh32Imm, Add32Reg
			v := uint32(regs[in.dst]) << (in.imm & 31)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(v + uint32(regs[in.src]))
			continue
		case fRsh32ImmXor32Reg: // two operations on one register: Rsh32Imm, Xor32Reg
			v := uint32(regs[in.dst]) >> (in.imm & 31)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(v ^ uint32(regs[in.src]))
			continue
		case fAnd32ImmAdd32Reg: // two operations on one register: And32Imm, Add32Reg
			v := uint32(regs[in.dst]) & uint32(in.imm)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(v + uint32(regs[in.src]))
			continue
		case fAnd32ImmOr32Reg: // two operations on one register: And32Imm, Or32Reg
			v := uint32(regs[in.dst]) & uint32(in.imm)
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = uint64(v | uint32(regs[in.src]))
			continue
		case fXor64RegAdd64Reg: // two operations on one register: Xor64Reg, Add64Reg
			v := regs[in.dst] ^ regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v + regs[in.src]
			continue
		case fAdd64RegXor64Reg: // two operations on one register: Add64Reg, Xor64Reg
			v := regs[in.dst] + regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v ^ regs[in.src]
			continue
		case fAdd64ImmAdd64Reg: // two operations on one register: Add64Imm, Add64Reg
			v := regs[in.dst] + in.imm
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v + regs[in.src]
			continue
		case fAdd64RegAdd64Reg: // two operations on one register: Add64Reg, Add64Reg
			v := regs[in.dst] + regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v + regs[in.src]
			continue
		case fAddImmAddImm: // a += imm; b += imm
			regs[in.dst] += in.imm
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] += in.imm
			continue
		case fLoadDWLoadDW: // two loads of 8 bytes
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			regs[in.dst] = *(*uint64)(unsafe.Add(data, o))
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			p := regs[in.src] + uint64(int64(in.off)) - base
			if p >= lim {
				goto slow
			}
			s = *(*uint8)(unsafe.Add(shadow, p>>3)) | *(*uint8)(unsafe.Add(shadow, (p+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			regs[in.dst] = *(*uint64)(unsafe.Add(data, p))
			continue
		case fStoreDWStoreDW: // two stores of 8 bytes
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s != 0 {
				goto slow
			}
			*(*uint64)(unsafe.Add(data, o)) = regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			p := regs[in.dst] + uint64(int64(in.off)) - base
			if p >= lim {
				goto slow
			}
			s = *(*uint8)(unsafe.Add(shadow, p>>3)) | *(*uint8)(unsafe.Add(shadow, (p+7)>>3))
			if s != 0 {
				goto slow
			}
			*(*uint64)(unsafe.Add(data, p)) = regs[in.src]
			continue
		case fLoadWLoadW: // two loads of 4 bytes
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(*(*uint32)(unsafe.Add(data, o)))
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			p := regs[in.src] + uint64(int64(in.off)) - base
			if p >= lim {
				goto slow
			}
			s = *(*uint8)(unsafe.Add(shadow, p>>3)) | *(*uint8)(unsafe.Add(shadow, (p+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || p&7+4 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(*(*uint32)(unsafe.Add(data, p)))
			continue
		case fStoreWStoreW: // two stores of 4 bytes
			o := regs[in.dst] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			*(*uint32)(unsafe.Add(data, o)) = uint32(regs[in.src])
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			p := regs[in.dst] + uint64(int64(in.off)) - base
			if p >= lim {
				goto slow
			}
			s = *(*uint8)(unsafe.Add(shadow, p>>3)) | *(*uint8)(unsafe.Add(shadow, (p+3)>>3))
			if s != 0 && (s > 7 || p&7+4 > uint64(s)) {
				goto slow
			}
			*(*uint32)(unsafe.Add(data, p)) = uint32(regs[in.src])
			continue
		case fMovMul: // a = b; a *= c
			v := regs[in.src] * regs[(*inst)(ip).src]
			regs[in.dst] = v
			ip = unsafe.Add(ip, instSize)
			continue
		case fMovSub: // a = b; a -= c
			v := regs[in.src] - regs[(*inst)(ip).src]
			regs[in.dst] = v
			ip = unsafe.Add(ip, instSize)
			continue
		case fMovXor: // a = b; a ^= c
			v := regs[in.src] ^ regs[(*inst)(ip).src]
			regs[in.dst] = v
			ip = unsafe.Add(ip, instSize)
			continue
		case fMovOr: // a = b; a |= c
			v := regs[in.src] | regs[(*inst)(ip).src]
			regs[in.dst] = v
			ip = unsafe.Add(ip, instSize)
			continue
		case fMovAnd: // a = b; a &= c
			v := regs[in.src] & regs[(*inst)(ip).src]
			regs[in.dst] = v
			ip = unsafe.Add(ip, instSize)
			continue
		case fLoadWAddImm: // a = *(b + off), 4 bytes; a += imm
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			v := uint64(*(*uint32)(unsafe.Add(data, o)))
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v + in.imm
			continue
		case fAddLoadW: // a += b; c = *(a + off), 4 bytes
			v := regs[in.dst] + regs[in.src]
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			o := v + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(*(*uint32)(unsafe.Add(data, o)))
			continue
		case fJeqLoadW: // if a == imm goto; b = *(c + off), 4 bytes
			if regs[in.dst] == in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+3)>>3))
			if s &^= storeTrap; s != 0 && (s > 7 || o&7+4 > uint64(s)) {
				goto slow
			}
			regs[in.dst] = uint64(*(*uint32)(unsafe.Add(data, o)))
			continue
		case fLoadDWAddImm: // a = *(b + off), 8 bytes; a += imm
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			v := *(*uint64)(unsafe.Add(data, o))
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = v + in.imm
			continue
		case fAddLoadDW: // a += b; c = *(a + off), 8 bytes
			v := regs[in.dst] + regs[in.src]
			regs[in.dst] = v
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			o := v + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			regs[in.dst] = *(*uint64)(unsafe.Add(data, o))
			continue
		case fJeqLoadDW: // if a == imm goto; b = *(c + off), 8 bytes
			if regs[in.dst] == in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			o := regs[in.src] + uint64(int64(in.off)) - base
			if o >= lim {
				goto slow
			}
			s := *(*uint8)(unsafe.Add(shadow, o>>3)) | *(*uint8)(unsafe.Add(shadow, (o+7)>>3))
			if s&^storeTrap != 0 {
				goto slow
			}
			regs[in.dst] = *(*uint64)(unsafe.Add(data, o))
			continue
		case fMov64ImmExit: // a = imm; exit
			regs[in.dst] = in.imm
			ip = unsafe.Add(ip, instSize)
			goto leave
		case fJeqMov64Imm: // if a == imm goto; b = imm
			if regs[in.dst] == in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = in.imm
			continue
		case fAddImmMov: // a += imm; b = c
			regs[in.dst] += in.imm
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			regs[in.dst] = regs[in.src]
			continue
		case fMovLshRsh: // a = b; a <<= imm; a >>= imm
			v := regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			v <<= in.imm & 63
			regs[in.dst] = v >> ((*inst)(ip).imm & 63)
			ip = unsafe.Add(ip, instSize)
			continue
		case fMov32RegJeqJa: // a = b; if c eq imm goto; goto
			regs[in.dst] = uint64(uint32(regs[in.src]))
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if regs[in.dst] == in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fMov32RegJgtJa: // a = b; if c gt imm goto; goto
			regs[in.dst] = uint64(uint32(regs[in.src]))
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if regs[in.dst] > in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fMov64RegJeqJa: // a = b; if c eq imm goto; goto
			regs[in.dst] = regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if regs[in.dst] == in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		case fMov64RegJgtJa: // a = b; if c gt imm goto; goto
			regs[in.dst] = regs[in.src]
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			if regs[in.dst] > in.imm {
				goto taken
			}
			in = (*inst)(ip)
			ip = unsafe.Add(ip, instSize)
			goto taken
		default:
			goto rare
		}

	taken: // the branch at in is taken
		if int(uintptr(ip)) > left {
			goto outOfRoom
		}
		left += int(in.off)
		ip = unsafe.Add(ip, int(in.off))
		continue

	slow: // the access at in needs the precise path, unless it is a word of the context
		{
			word := &t.img.plain[t.seg.at(ip)]
			off := regs[word.src] + uint64(int64(word.off)) - t.ctxBase
			if word.op == uint16(decode.OpLdxW) && off&3 == 0 && off>>2 < uint64(len(t.ctxWords)) {
				if v := t.ctxWords[off>>2]; v != nil && !t.mem.Watched() {
					regs[word.dst] = *v
					continue
				}
			}
		}
		t.pc = t.seg.at(ip)
		t.insns = t.seg.count(ip, left) - 1
		// What the loop keeps in host registers is kept aside by hand: a variable that lives across a call
		// would be spilled at every dispatch.
		t.seg.left = left
		if !t.access(&t.img.plain[t.pc]) {
			return exitFault
		}
		lim = t.limit() // a view may have allocated
		if t.suspend {
			t.pc++
			t.insns++
			return exitStop
		}
		left = t.seg.left
		ip = t.seg.behind(t.pc)
		continue

	callFunc: // a helper or kfunc
		t.pc = t.seg.at(ip)
		t.insns = t.seg.count(ip, left) - 1
		t.seg.left = left
		{
			r0, action := t.img.funcs[in.imm].Fn(t, (*[5]uint64)(regs[1:6]))
			if action == nil && !t.suspend {
				regs[0] = r0
				lim = t.limit()
				left = t.seg.left
				ip = t.seg.behind(t.pc)
				continue
			}
			x := t.act(r0, action)
			if x != exitFault {
				t.insns++
			}
			if x == exitGo && t.suspend {
				x = exitStop
			}
			return x
		}

	callLocal:
		t.pc = t.seg.at(ip)
		{
			d := t.depth + 1
			f := &t.frames[d&(MaxFrames-1)]
			if d >= MaxFrames || f.stack == nil || t.seg.single || t.cfg.Strict || int(uintptr(ip)) > left {
				t.insns = t.seg.count(ip, left) - 1
				x := t.call(t.pc + 1 + int(in.off)/instSize)
				if x != exitFault {
					t.insns++
				}
				return x
			}
			// What push does, without leaving the loop.
			f.img, f.ret, f.cont = t.img, t.pc+1, nil
			f.saved[0], f.saved[1], f.saved[2], f.saved[3] = regs[6], regs[7], regs[8], regs[9]
			f.may = MaxMayGoto
			regs[10] = f.fp
			t.depth = d
			left += int(in.off)
			ip = unsafe.Add(ip, int(in.off))
			continue
		}

	leave: // exit
		{
			f := &t.frames[t.depth&(MaxFrames-1)]
			if t.depth == 0 || t.seg.single || f.cont != nil || f.img != t.img || t.cfg.Strict || int(uintptr(ip)) > left {
				t.pc = t.seg.at(ip)
				t.insns = t.seg.count(ip, left)
				return t.leave()
			}
			// What pop does, without leaving the loop.
			t.depth--
			regs[6], regs[7], regs[8], regs[9] = f.saved[0], f.saved[1], f.saved[2], f.saved[3]
			regs[10] = t.frames[t.depth&(MaxFrames-1)].fp
			d := (f.ret - t.seg.at(ip) - 1) * instSize
			left += d
			ip = unsafe.Add(ip, d)
			continue
		}

	rare:
		t.pc = t.seg.at(ip)
		t.insns = t.seg.count(ip, left) - 1
		if x := t.rare(in); x != exitFault {
			t.insns++
			return x
		}
		return exitFault

	outOfRoom: // the branch at in is taken, and there the loop ends
		t.pc = t.seg.at(ip) + 1 + int(in.off)/instSize
		t.insns = t.seg.count(ip, left)
		return exitGo

	stepped: // the marker behind a single step
		t.pc = t.seg.at(ip)
		t.insns = t.seg.insns + 1
		return exitGo

	breakpoint:
		t.pc = t.seg.at(ip)
		t.insns = t.seg.count(ip, left) - 1
		return exitBreak

	cover: // first visit: note it, put the instruction back, and execute it
		t.pc = t.seg.at(ip)
		t.seg.left = left
		t.patch.mark(t.img, t.pc)
		lim = t.limit()
		left = t.seg.left
		ip = unsafe.Add(t.seg.behind(t.pc), -instSize)
		continue
	}
}
