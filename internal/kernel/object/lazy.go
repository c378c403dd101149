package object

import "slices"

// Lazy is something that the kernel makes only when it is read: the content of an object (size 0),
// or fields of it.
type Lazy struct {
	object    int // its index
	role      string
	off, size uint64
}

// lazy records what is made.
type lazy struct {
	on   bool
	deep int // what is made for something else is made again with that
	list []Lazy
}

func nothing() {}

// lazily records that bytes of an object are made, until the function it returns is called.
func (s *Space) lazily(o *Object, off, size uint64) (end func()) {
	if !s.lazy.on {
		return nothing
	}
	if s.lazy.deep++; s.lazy.deep == 1 {
		if i := slices.Index(s.objects, o); i >= 0 {
			s.lazy.list = append(s.lazy.list, Lazy{i, o.role, off, size})
		}
	}
	return func() { s.lazy.deep-- }
}

// RecordLazy begins to record what is made; the function it returns ends that, and returns the
// list.
func (s *Space) RecordLazy() (end func() []Lazy) {
	s.lazy = lazy{on: true}
	return func() []Lazy {
		list := s.lazy.list
		s.lazy = lazy{}
		return list
	}
}

// MakeAgain makes what a list has, in its order, as reads would: with the same values, whatever the
// addresses.
func (s *Space) MakeAgain(list []Lazy) {
	for _, m := range list {
		var o *Object
		if m.object < len(s.objects) && s.objects[m.object].role == m.role {
			o = s.objects[m.object]
		} else if i := slices.IndexFunc(s.objects, func(o *Object) bool { return o.role == m.role }); i >= 0 {
			o = s.objects[i]
		}
		switch {
		case o == nil || m.off+m.size > o.size:
		case m.size == 0:
			o.Populate()
		default:
			_, _, _ = o.read(m.off, m.size) // in strict mode a fault, as for the program
		}
	}
}
