package verifier

import (
	"math"
	"sort"

	"github.com/bpfrun/bpfrun/internal/verifier/num"
)

// Open is a number in a frozen map that user space or the kernel's configuration chooses before the
// program is loaded. It is at least Lo and at most Hi, unsigned, and has the bits of Bits.
type Open struct {
	Off, Size uint32
	Lo, Hi    uint64
	Bits      num.Tnum
}

// decided reports whether only one value is possible.
func (o *Open) decided() bool { return o != nil && o.Lo == o.Hi }

// bounds returns what is known of the number.
func (o *Open) bounds(r num.Rules) num.Bounds {
	if o.decided() {
		return num.Exactly(o.Lo)
	}
	b := num.Unbounded
	b.UMin, b.UMax = o.Lo, o.Hi
	if o.Hi <= math.MaxInt64 {
		b.SMin, b.SMax = int64(o.Lo), int64(o.Hi)
	}
	b.Var = num.Range(o.Lo, o.Hi).Intersect(o.Bits)
	b.SyncRanges(r)
	return b
}

// openAt reports whether a load reads an open number, and returns it if the load is of exactly
// that.
func (m *Map) openAt(at int64, size int) (o *Open, open bool) {
	i := sort.Search(len(m.Open), func(i int) bool { return int64(m.Open[i].Off)+int64(m.Open[i].Size) > at })
	if i == len(m.Open) || int64(m.Open[i].Off) >= at+int64(size) {
		return nil, false
	}
	if x := &m.Open[i]; int64(x.Off) == at && int(x.Size) == size {
		return x, true
	}
	return nil, true
}

// loadOpen sets a register to an open number; o is nil if the load is of parts of some.
func (a *memory) loadOpen(v *reg, m *Map, o *Open) {
	v.unknown() // the caller narrows it to the load's size
	if o == nil {
		return
	}
	v.Bounds = o.bounds(a.rules)
	if a.o.Opened != nil {
		a.o.Opened(a.insn, m, o)
	}
}
