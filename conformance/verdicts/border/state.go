package border

// kind is what the generator believes a register holds.
type kind uint8

const (
	none kind = iota
	scalar
	ctx
	frame  // stack pointer
	value  // map value
	packet // data of the packet
	packetEnd
	record // ring buffer record, 0 checked
	mapPtr
	socket
)

// reg is a register.
type reg struct {
	kind kind
	null bool // may be 0
	m    int  // map of a value
	off  int  // added to a pointer
	size int  // bytes that can be accessed from the pointer without off
	// lo and hi bound a scalar when bounded.
	bounded bool
	lo, hi  int64
	id      int // of pointers that are checked together
}

// state is what the generator believes before an instruction.
type state struct {
	regs  [10]reg
	slots [64]reg   // spilled pointers and scalars by eight bytes below the frame pointer
	used  [512]bool // bytes of the stack that were written, counted downward
	refs  []int     // stack slots that hold references
}

// join keeps what both states agree on.
func (s *state) join(o *state) {
	for i := range s.regs {
		s.regs[i] = joinReg(s.regs[i], o.regs[i])
	}
	for i := range s.slots {
		s.slots[i] = joinReg(s.slots[i], o.slots[i])
	}
	for i := range s.used {
		s.used[i] = s.used[i] && o.used[i]
	}
}

func joinReg(a, b reg) reg {
	switch {
	case a == b:
		return a
	case a.kind == scalar && b.kind == scalar:
		if a.bounded && b.bounded {
			return reg{kind: scalar, bounded: true, lo: min(a.lo, b.lo), hi: max(a.hi, b.hi)}
		}
		return reg{kind: scalar}
	case a.kind == b.kind && a.m == b.m && a.off == b.off && a.id == b.id:
		a.null = a.null || b.null
		a.size = min(a.size, b.size)
		return a
	}
	return reg{}
}

// forget makes registers unusable, as calls do.
func (s *state) forget(from, to int) {
	for i := from; i <= to; i++ {
		s.regs[i] = reg{}
	}
}

// checked marks every copy of a pointer as not 0.
func (s *state) checked(id int) {
	for i := range s.regs {
		if s.regs[i].id == id {
			s.regs[i].null = false
		}
	}
	for i := range s.slots {
		if s.slots[i].id == id {
			s.slots[i].null = false
		}
	}
}

// dropPackets forgets packet pointers, as helpers that change the packet do.
func (s *state) dropPackets() {
	for i := range s.regs {
		if k := s.regs[i].kind; k == packet || k == packetEnd {
			s.regs[i] = reg{}
		}
	}
	for i := range s.slots {
		if k := s.slots[i].kind; k == packet || k == packetEnd {
			s.slots[i] = reg{}
		}
	}
}
