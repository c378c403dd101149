package object

// Poke writes bytes into the object that contains addr, whatever the running program may write. It
// is for code that drives the simulation from outside, and logs nothing. ok is false if [addr,
// addr+len(p)) is not within one object.
func (s *Space) Poke(addr uint64, p []byte) (ok bool) {
	o, off, ok := s.storage(addr, uint64(len(p)))
	if ok {
		o.Poke(off, p, Given)
	}
	return ok
}

// Known reports whether all of [addr, addr+size) of a kernel object has a value, and whether any of
// it is a default. It reads nothing, so that fields that were never read stay unset.
func (s *Space) Known(addr, size uint64) (known, byDefault bool) {
	o, off, ok := s.storage(addr, size)
	if !ok {
		return false, false
	}
	st := o.status(off, size)
	return st != never, st == Made
}

// AnyKnown reports whether any byte of [addr, addr+size) within a kernel object has a value. A type
// may be larger than its object.
func (s *Space) AnyKnown(addr, size uint64) bool {
	o, off, ok := s.storage(addr, 0)
	if !ok || o.st.flags == nil {
		return false
	}
	for _, f := range o.st.flags[off : off+min(size, o.size-off)] {
		if f != never {
			return true
		}
	}
	return false
}

// storage finds the object that contains size bytes at addr, and their offset in its storage.
func (s *Space) storage(addr, size uint64) (*Object, uint64, bool) {
	o := s.objectAt(addr)
	if o == nil {
		return nil, 0, false
	}
	off := s.mem.Truncate(addr) - o.base
	if off > o.size || size > o.size-off {
		return nil, 0, false
	}
	return o, off, true
}
