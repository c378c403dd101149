package vm

//go:generate go run ./gen

import (
	"encoding/binary"
	"unsafe"

	"github.com/bpfrun/bpfrun/internal/mem"
)

// hostBig is true on big-endian hosts.
var hostBig = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// run runs t.seg with the loop for the byte order of the memory.
func (t *Thread) run() exit {
	if t.swapped {
		return t.loopSwapped()
	}
	return t.loop()
}

// storeTrap has the shadow bits that loads ignore.
const storeTrap = uint8(mem.LoadsIgnore)

// fast runs the program from t.pc until it ends, needs something that the loop cannot do, or has
// executed about left instructions: it may stop earlier by less than the length of the program, but
// never executes more. left must be greater than the program's length plus 2.
func (t *Thread) fast(left uint64) exit {
	if t.engine != nil && t.patch.native() {
		if end := t.insns + left; t.engine.Run(t, left) {
			return t.settle(end)
		}
	}
	img := t.img
	code := img.code(t.patch)
	// Straight-line code is at most as long as the program, so it is exact to count only at taken
	// branches if the loop stops one program length before the limit.
	room := (int(min(left, 1<<40)) - len(img.insns) - 2) * instSize
	// Assigned field by field: copying a segment by value uses wide loads that stall on the
	// preceding narrow stores, which is most of the cost of a single step.
	s := &t.seg
	s.code, s.bias, s.start, s.room, s.insns, s.single = &code[0], 0, t.pc, room, t.insns, false
	return t.run()
}

// step executes exactly one instruction, unfused, or stops before it.
func (t *Thread) step() exit {
	if p := t.patch; p != nil && p.cover && t.pc < t.img.Len() { // not after the end
		p.mark(t.img, t.pc)
		if p.ways && p.pending(t.img, p.image(t.img), t.pc) {
			return t.stepBranch()
		}
	}
	return t.stepPlain()
}

// stepPlain is step without coverage.
func (t *Thread) stepPlain() exit {
	// A copy of the instruction, followed by markers that end the loop after an instruction other
	// than a branch.
	t.scratch[0] = t.img.plain[t.pc]
	s := &t.seg
	s.code, s.bias, s.start, s.room, s.insns, s.single = &t.scratch[0], t.pc, 0, 0, t.insns, true
	return t.run()
}

// code returns the instructions to run: with patches, the private copy.
func (img *Image) code(p *Patches) []inst {
	if p != nil {
		return p.image(img).code
	}
	return img.fused
}

// segment is one entry into the loop. It is stored in the Thread, because only the blocks that
// leave the loop need it, and host registers are scarce.
type segment struct {
	code   *inst  // slot bias of the program
	bias   int    // slot number of *code
	start  int    // slot to start at, counted from *code
	room   int    // bytes of code that may be executed before a taken branch leaves the loop
	insns  uint64 // count at entry
	single bool   // every taken branch and call leaves the loop
	left   int    // the loop's variable during a call
}

// after returns the position after slot pc, which is in the segment.
func (s *segment) after(pc int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(s.code), (pc+1-s.bias)*instSize)
}

// at returns the slot number of the instruction before ip.
func (s *segment) at(ip unsafe.Pointer) int {
	return (int(uintptr(ip))-int(uintptr(unsafe.Pointer(s.code))))/instSize + s.bias - 1
}

// count returns how many instructions are executed when the loop is at ip with left.
func (s *segment) count(ip unsafe.Pointer, left int) uint64 {
	return s.insns + uint64(int(uintptr(ip))+s.room-left)/instSize
}
