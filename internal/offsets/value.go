package offsets

import (
	"sync"

	"github.com/bpfrun/bpfrun/btf"
)

// kind describes what a value is.
type kind uint8

const (
	unknown  kind = iota
	pointer       // to a kernel type, at an offset
	cast          // the same, but by DWARF alone: a program may assign any number to a variable of that type
	number        // a constant
	frame         // an address on the stack
	context       // the arguments of a hook with BTF
	regs          // the struct pt_regs of a probe
	relative      // an unknown address plus an offset from a relocation
)

// value is what is known about a register or a stack slot.
type value struct {
	off  int64
	typ  btf.ID
	kind kind
	// proved means that a relocation determined the offset or number.
	proved bool
}

const slots = 64 // of the stack, 8 bytes each

type state struct {
	regs  [11]value
	stack [slots]value
}

// states holds the states of one program at a time.
type states struct {
	made []*state
	used int
}

// copy returns a copy that is valid until reuse.
func (x *states) copy(s *state) *state {
	if x.used == len(x.made) {
		x.made = append(x.made, new(state))
	}
	c := x.made[x.used]
	x.used++
	*c = *s
	return c
}

// reuse ends the use of all copies.
func (x *states) reuse() { x.used = 0 }

// kept has states for the next object.
var kept = sync.Pool{New: func() any { return new(states) }}

// join keeps the values on which two states agree and reports whether s changed.
func (s *state) join(o *state) bool {
	changed := false
	one := func(a *value, b value) {
		if *a != b && *a != (value{}) {
			if a.kind == b.kind && a.typ == b.typ && a.off == b.off {
				a.proved = true // proved on one path: not reported
				if *a == b {
					changed = true
					return
				}
				if !b.proved {
					return
				}
			}
			*a = value{}
			changed = true
		}
	}
	for i := range s.regs {
		one(&s.regs[i], o.regs[i])
	}
	for i := range s.stack {
		one(&s.stack[i], o.stack[i])
	}
	return changed
}

// add returns the sum of two values.
func add(a, b value) value {
	if a.kind == number {
		a, b = b, a
	}
	switch {
	case b.kind != number || a.kind == context:
		return value{}
	case a.kind == unknown && b.proved:
		return value{kind: relative}
	case a.kind == unknown:
		return value{}
	}
	a.off += b.off
	a.proved = a.proved || b.proved
	return a
}

// slotOf returns the stack slot at an offset from r10.
func slotOf(off int64) (int, bool) {
	i := (off + 8*slots) / 8
	return int(i), off < 0 && off%8 == 0 && i >= 0 && i < slots
}

// put stores a value on the stack and forgets what the size bytes held.
func (s *state) put(off int64, size int, v value) {
	s.clear(off, int64(size))
	if i, ok := slotOf(off); ok && size == 8 {
		s.stack[i] = v
	}
}

// clear forgets size bytes of the stack.
func (s *state) clear(off, size int64) {
	if size > 8*slots || off < -8*slots || off >= 0 {
		s.stack = [slots]value{}
		return
	}
	for at := off &^ 7; at < off+size; at += 8 {
		if i, ok := slotOf(at); ok {
			s.stack[i] = value{}
		}
	}
}
