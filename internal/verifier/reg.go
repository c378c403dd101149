package verifier

import (
	"math"

	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

// value is the part of a register that state comparison uses.
type value struct {
	typ regType
	// off is the constant part of a pointer's offset; for a scalar with addConst in its id, its
	// distance from the register with that id.
	off int32

	// Fields of certain kinds; most are zero.
	rng    int32  // packets: accessible bytes, atPktEnd, beyondPktEnd
	mem    uint32 // size of memory
	uid    uint32 // map values and inner maps: identity of the lookup that returned them
	tid    uint32 // BTF id of an object or iterator
	dyn    uint32 // memory: the dynptr it is a slice of
	depth  uint32 // iterators: how often next was called
	mapp   uint16 // index in env.maps, from 1
	sub    uint16 // functions
	spec   uint8  // index in env.specs, from 1
	dtype  uint8  // dynptrs
	istate uint8  // iterators
	class  uint8  // saved interrupt flags
	first  bool   // dynptrs: the slot with the type

	num.Bounds
}

// reg is a register or a spilled register.
type reg struct {
	value
	id  uint32 // the same in registers that are equal, or null together
	ref uint32 // the reference that it holds

	frame   uint8 // stack pointers: frame number
	live    uint8
	precise bool
	parent  *reg // the same register in the last checkpoint; releases before 6.18
}

const (
	liveRead    = 1 << iota // REG_LIVE_READ: read before it is written on some path from here
	liveWritten             // REG_LIVE_WRITTEN: written since the checkpoint: reads end here
	liveDone                // REG_LIVE_DONE: all paths are explored, no mark will follow
)

// Special packet ranges.
const (
	atPktEnd     = -1 // AT_PKT_END: at the packet's end or beyond
	beyondPktEnd = -2 // BEYOND_PKT_END: beyond
)

// addConst in an id means that the register is another one with that id plus off; add32, that the
// sum is 32 bits wide.
const (
	addConst64 = 1 << 31
	addConst32 = 1 << 30
	addConst   = addConst64 | addConst32
)

const (
	dynInvalid = iota
	dynTypeLocal
	dynTypeRingbuf
	dynTypeSkb
	dynTypeXDP
	dynTypeSkbMeta
	dynTypeFile
)

const (
	iterInvalid = iota
	iterActive  // there may be another element
	iterDrained // there is none, and never will be
)

// known sets r to a constant and keeps its type.
func (r *reg) known(v uint64) {
	t := r.typ
	r.value = value{typ: t, Bounds: num.Exactly(v)}
	r.id, r.ref = 0, 0
}

// pointer makes r a pointer of type t with offset 0.
func (r *reg) pointer(t regType) {
	r.known(0)
	r.typ = t
}

func (r *reg) constant(v uint64) {
	r.known(v)
	r.typ = scalar
}

// unknown makes r an unknown scalar.
func (r *reg) unknown() {
	r.value = value{typ: scalar, Bounds: num.Unbounded}
	r.id, r.ref, r.frame, r.precise = 0, 0, 0, false
}

func (r *reg) notInit() {
	r.unknown()
	r.typ = notInit
}

// copyFrom copies s but keeps what belongs to the register and not to the value.
func (r *reg) copyFrom(s *reg) {
	parent, live := r.parent, r.live
	*r = *s
	r.parent, r.live = parent, live
}

// unbounded reports whether no range says anything about a number.
func (r *reg) unbounded() bool {
	return r.SMin == math.MinInt64 && r.SMax == math.MaxInt64 && r.UMin == 0 && r.UMax == math.MaxUint64 &&
		r.Low.SMin == math.MinInt32 && r.Low.SMax == math.MaxInt32 && r.Low.UMin == 0 && r.Low.UMax == math.MaxUint32
}

// place is the range of a pointer's whole offset, its constant part included. Only arcs can be
// moved without losing anything; other releases with separate parts add the constant to the ends.
func (r *reg) place() num.Bounds {
	b := r.Bounds
	b.Move(int64(r.off))
	return b
}

func (r *reg) isNull() bool  { return r.typ == scalar && r.Var.Equals(0) }
func (r *reg) isConst() bool { return r.typ == scalar && r.Var.IsConst() }
func (r *reg) clearID()      { r.id, r.off = 0, 0 }
func (r *reg) isRCU() bool   { return r.typ&memRCU != 0 }
func (r *reg) offset() int64 { return int64(r.off) + int64(r.Var.Value) }
func (r *reg) initPacket(t regType) bool {
	return r.typ == t && r.id == 0 && r.off == 0 && r.Var.Equals(0)
}
