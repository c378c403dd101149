package border

// kind is the kind of value that the generator assumes a register holds.
type kind uint8

const (
	none kind = iota
	scalar
	ctx
	frame  // stack pointer
	value  // map value
	packet // packet data
	packetEnd
	record // ring buffer record
	mapPtr
	socket
)

// reg is the assumed contents of a register.
type reg struct {
	kind kind
	null bool // may be null
	m    int  // index of a value's map
	off  int  // offset added to a pointer
	size int  // accessible bytes from the pointer without off
	// lo and hi are the bounds of a scalar if bounded is set.
	bounded bool
	lo, hi  int64
	id      int // shared by pointers that one check covers
}

// state is the state that the generator assumes before an instruction.
type state struct {
	regs  [10]reg
	slots [64]reg   // spilled pointers and scalars, indexed by 8-byte slot below the frame pointer
	used  [512]bool // bytes of the stack that have been written, indexed downwards
	refs  []int     // stack slots that hold references
}

// join keeps what both states have in common.
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

// forget marks registers as unusable, as after a call.
func (s *state) forget(from, to int) {
	for i := from; i <= to; i++ {
		s.regs[i] = reg{}
	}
}

// checked marks every copy of a pointer as not null.
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

// dropPackets forgets packet pointers, as after a helper that changes the packet.
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
