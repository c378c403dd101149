package verifier

import (
	"math"
	"unsafe"

	"github.com/bpfrun/bpfrun/decode"
)

// argTrack is what is known of a value that may derive from a frame pointer: which frame's, and at
// which offsets. It is a lattice: up to four offsets, any offset of one frame, any offset of
// several frames (kernel/bpf/liveness.c of 7.1).
type argTrack struct {
	frame int8 // the frame, or one of the constants below
	n     int8 // number of known offsets, 0 for any
	off   [4]int16
	mask  uint16 // frames, for trackSeveral
}

const (
	trackNone      = -1 // not derived from a frame pointer
	trackUnvisited = -2
	trackSeveral   = -3
)

// trackedSlots is the number of slots of a frame whose spills are tracked.
const trackedSlots = maxStack / 8

// trackState is what registers and slots hold before an instruction.
type trackState struct {
	regs  trackRegs
	slots [trackedSlots]argTrack
}

type trackRegs [11]argTrack

// keptTrack is what registers and slots hold where a block begins. Blocks share slots that are the
// same.
type keptTrack struct {
	regs  trackRegs
	slots *[trackedSlots]argTrack
}

const (
	keptTrackBytes  = int64(unsafe.Sizeof(keptTrack{}))
	trackSlotsBytes = int64(unsafe.Sizeof([trackedSlots]argTrack{}))
)

var noTrack = argTrack{frame: trackNone}

// oneOffset is a pointer to one place (arg_single).
func oneOffset(frame int, off int16) argTrack {
	return argTrack{frame: int8(frame), n: 1, off: [4]int16{off}}
}

func (a argTrack) isPointer() bool { return a.frame >= 0 || a.frame == trackSeveral }

// frames returns the set of frames that the value may point into.
func (a argTrack) frames() uint16 {
	switch {
	case a.frame >= 0:
		return 1 << a.frame
	case a.frame == trackSeveral:
		return a.mask
	}
	return 0
}

// anyOffset forgets the offsets.
func (a *argTrack) anyOffset() { a.n, a.off = 0, [4]int16{} }

// severalFrames forgets offsets and keeps which frames may be meant, so that an access through the
// value counts for these only (arg_join_imprecise).
func severalFrames(a, b argTrack) argTrack {
	return argTrack{frame: trackSeveral, mask: a.frames() | b.frames()}
}

// joinTracks returns what is known where two paths meet (arg_track_join).
func joinTracks(a, b argTrack) argTrack {
	switch {
	case b.frame == trackUnvisited:
		return a
	case a.frame == trackUnvisited:
		return b
	case a.frame == b.frame && a.frame >= 0:
		// Two pointers into one frame: what may be meant is what either may mean.
		if a.n == 0 || b.n == 0 {
			return argTrack{frame: a.frame}
		}
		return joinOffsets(a, b)
	case a.frame == trackNone && b.frame == trackNone:
		return a
	case a.frame >= 0 && b.frame == trackNone:
		// A pointer on one path only. If the value is used as a pointer, that path was taken.
		if a.n == 1 {
			// Two offsets, so that it counts as a use, and never as a definition.
			return joinOffsets(a, oneOffset(int(a.frame), 0))
		}
		return a
	case b.frame >= 0 && a.frame == trackNone:
		return joinTracks(b, a)
	}
	return severalFrames(a, b)
}

// joinOffsets merges two ascending lists; more than four offsets become "any".
func joinOffsets(a, b argTrack) argTrack {
	out := argTrack{frame: a.frame}
	i, j := int8(0), int8(0)
	for i < a.n || j < b.n {
		var v int16
		both := i < a.n && j < b.n
		if j >= b.n || both && a.off[i] <= b.off[j] {
			v = a.off[i]
			i++
			if both && v == b.off[j] {
				j++
			}
		} else {
			v = b.off[j]
			j++
		}
		if both && out.n > 0 && out.off[out.n-1] == v {
			continue
		}
		// More offsets than the kernel keeps (MAX_ARG_OFFSETS).
		if out.n == 4 {
			return argTrack{frame: a.frame}
		}
		out.off[out.n] = v
		out.n++
	}
	return out
}

// addOffset adds to an offset (arg_add); not ok if the sum is not one of 16 bits.
func addOffset(off int16, delta int64) (int16, bool) {
	sum := int64(off) + delta
	return int16(sum), delta >= math.MinInt16 && delta <= math.MaxInt16 && sum >= math.MinInt16 && sum <= math.MaxInt16
}

// add moves the pointer. An offset beyond 16 bits is outside of any frame, and forgotten
// (arg_padd).
func (a *argTrack) add(delta int64) {
	for i := range a.n {
		off, ok := addOffset(a.off[i], delta)
		if !ok {
			a.anyOffset()
			return
		}
		a.off[i] = off
	}
}

// combine adds a register to the pointer, by an amount that this analysis does not know
// (arg_track_alu64).
func (a *argTrack) combine(src argTrack) {
	switch {
	case a.frame >= 0 && (src.frame == trackNone || src.frame == a.frame):
		// By how much the number moves the pointer is not known.
		a.anyOffset()
	case src.frame >= 0 && a.frame == trackNone:
		// A number plus a pointer is a pointer, too.
		*a = argTrack{frame: src.frame}
	case a.frame == trackNone && src.frame == trackNone:
	default:
		*a = severalFrames(*a, src)
	}
}

// slotOf returns the slot at an offset from the frame pointer, -1 outside the frame or between
// slots.
func slotOf(off int16) int {
	if off >= 0 || off < -maxStack || off%8 != 0 {
		return -1
	}
	return int(-off)/8 - 1
}

// ownFrame reports whether an address may be in the frame at depth.
func ownFrame(depth int, reg uint8, a argTrack) bool {
	return reg == 10 || int(a.frame) == depth || a.frame == trackSeveral && a.mask>>depth&1 != 0
}

// fill returns what a load of eight bytes yields (fill_from_stack). A part of a slot, or what lies
// outside of the frame, may be a pointer into any frame: then more counts as read than is.
func (t *trackState) fill(in *decode.Insn, slots *[trackedSlots]argTrack, depth int) argTrack {
	any := argTrack{frame: trackSeveral, mask: 1<<(depth+1) - 1}
	// R10 is the frame's end, so that the offset says which slot is meant.
	if in.Src == 10 {
		if s := slotOf(in.Off); s >= 0 {
			return slots[s]
		}
		return any
	}
	a := t.regs[in.Src]
	// Some slot of the frame, with any pointer in it.
	if a.n == 0 || slots == nil {
		return any
	}
	out := noTrack
	for i := range a.n {
		off, ok := addOffset(a.off[i], int64(in.Off))
		s := -1
		if ok {
			s = slotOf(off)
		}
		if s < 0 {
			return any
		}
		out = joinTracks(out, slots[s])
	}
	return out
}

// spill stores a register into the frame (spill_to_stack). Of several slots only one is written, so
// each may hold what it held; a store of less than a slot leaves no pointer in it.
func (t *trackState) spill(in *decode.Insn) {
	// Only a whole register can be a pointer.
	v := noTrack
	if sizeOf(in) == 8 {
		v = t.regs[in.Src]
	}
	if in.Dst == 10 {
		if s := slotOf(in.Off); s >= 0 {
			t.slots[s] = v
		}
		return
	}
	a := t.regs[in.Dst]
	if a.n == 0 {
		for s := range t.slots {
			t.slots[s] = joinTracks(t.slots[s], v)
		}
		return
	}
	for i := range a.n {
		off, ok := addOffset(a.off[i], int64(in.Off))
		s := -1
		if ok {
			s = slotOf(off)
		}
		switch {
		case s < 0:
		case a.n == 1:
			t.slots[s] = v
		default:
			t.slots[s] = joinTracks(t.slots[s], v)
		}
	}
}

// overwrite forgets slots that may be changed by a store of a number or by an atomic operation.
func (t *trackState) overwrite(in *decode.Insn) {
	size := sizeOf(in)
	if in.Dst == 10 {
		t.clear(int(in.Off), size, 1)
		return
	}
	a := t.regs[in.Dst]
	if a.n == 0 {
		t.clear(0, size, 0)
		return
	}
	for i := range a.n {
		off, ok := addOffset(a.off[i], int64(in.Off))
		if !ok {
			t.clear(0, size, 0)
			return
		}
		t.clear(int(off), size, int(a.n))
	}
}

// clear forgets the slots that a store overlaps: surely for one offset (n is 1), perhaps for
// several, and all of them perhaps if the offset is not known (clear_overlapping_stack_slots).
func (t *trackState) clear(off, size, n int) {
	for s := range t.slots {
		start := -(s + 1) * 8
		switch {
		case n == 0:
			t.slots[s] = joinTracks(t.slots[s], noTrack)
		case start >= off+size || start+8 <= off:
		case n == 1:
			t.slots[s] = noTrack
		default:
			t.slots[s] = joinTracks(t.slots[s], noTrack)
		}
	}
}

// step applies an instruction (arg_track_xfer). parents are the slots of the callers' frames at
// their calls.
func (t *trackState) step(in *decode.Insn, depth int, parents func(frame int) *[trackedSlots]argTrack) {
	if in.Dst > 10 || in.Src > 10 {
		return
	}
	dst, src := &t.regs[in.Dst], t.regs[in.Src]
	switch c := class(in); {
	case c == clsALU64 && !isX(in) && opOf(in) == opMov:
		*dst = noTrack
	case c == clsALU64 && !isX(in):
		// Sums with constants move a pointer; after any other operation it may lead anywhere in its
		// frame.
		switch {
		case dst.frame < 0:
		case opOf(in) == opAdd:
			dst.add(int64(in.Imm))
		case opOf(in) == opSub:
			dst.add(-int64(in.Imm))
		default:
			dst.anyOffset()
		}
	case c == clsALU64 && opOf(in) == opMov:
		*dst = noTrack
		// A sign extension or a cast between address spaces leaves no pointer to the stack.
		if in.Off == 0 {
			*dst = src
		}
	case c == clsALU64:
		dst.combine(src)
	case c == clsALU:
		// 32-bit results are no pointers.
		*dst = noTrack
	case c == clsJMP && opOf(in) == opCall:
		// Slots stay: a callee or helper cannot put a pointer to the stack into them, and a stale
		// one only makes more count as read.
		for r := range 6 {
			t.regs[r] = noTrack
		}
	case c == clsLDX:
		// A load may fill a register with a pointer that was spilled to a slot of this frame, or of
		// a caller's as it was at the call. Other loads yield no pointer to the stack.
		whole := mode(in) == modeMEM && sizeOf(in) == 8
		switch {
		case whole && ownFrame(depth, in.Src, src):
			*dst = t.fill(in, &t.slots, depth)
		case whole && src.frame >= 0 && int(src.frame) < depth:
			*dst = t.fill(in, parents(int(src.frame)), int(src.frame))
		case whole && src.frame == trackSeveral && src.mask != 0 && src.mask>>depth&1 == 0:
			*dst = src
		default:
			*dst = noTrack
		}
	case c == clsLD && mode(in) == modeIMM:
		*dst = noTrack
	case c == clsSTX:
		// A store into this frame may spill a pointer. Into callers' frames no pointer to a stack
		// can be spilled.
		own := ownFrame(depth, in.Dst, *dst)
		if own && mode(in) == modeMEM {
			t.spill(in)
		}
		if mode(in) == modeATOMIC {
			if own && in.Imm != loadAcq {
				t.overwrite(in)
			}
			// The register gets what was in memory, as a number.
			if r := atomicResult(in); r >= 0 {
				t.regs[r] = noTrack
			}
		}
	case c == clsST && mode(in) == modeMEM && ownFrame(depth, in.Dst, *dst):
		t.overwrite(in)
	}
}
