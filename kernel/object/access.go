package object

import "github.com/bpfrun/bpfrun/btf"

// Access is one executed guest access to a kernel object.
type Access struct {
	Object *Object
	Role   string // the object's role: "current.real_parent"
	Type   string // the type in whose terms Path is: "task_struct"
	TypeID btf.ID
	Path   string // innermost field that contains the access; several bitfields joined with ","; "" for untyped memory
	Off    uint64 // bytes from the start of Type
	Size   int    // bytes
	Write  bool
	// Set means that every byte had a value before the access; Default that some of it was made up by
	// [ModeDefault]. Neither means that a never-set field read 0.
	Set, Default bool

	at uint64 // Off in the object's storage
}

// SetSink installs the receiver of accesses for a run; nil ends logging. The Access is valid during the call only.
func (s *Space) SetSink(sink func(*Access)) { s.sink = sink }

// Sink returns what SetSink set.
func (s *Space) Sink() func(*Access) { return s.sink }

// Resolve returns the kernel object that contains addr, and the type and path of the innermost field there.
func (s *Space) Resolve(addr uint64) (o *Object, typeName, path string, ok bool) {
	o = s.objectAt(addr)
	if o == nil {
		return nil, "", "", false
	}
	off := s.mem.Truncate(addr) - o.base
	l, rel := o.terms(off, 1)
	if l == nil {
		return o, o.TypeName(), "", true
	}
	return o, l.Name, o.path(l, rel, 1), true
}

// IsTyped reports whether addr lies in an object of a kernel type.
func (s *Space) IsTyped(addr uint64) bool {
	o := s.objectAt(addr)
	return o != nil && o.layout != nil
}

// objectAt finds the object whose storage contains addr.
func (s *Space) objectAt(addr uint64) *Object {
	addr = s.mem.Truncate(addr)
	if o := s.around.ObjectAt(addr); o != nil {
		return o
	}
	if r := s.mem.Find(addr); r != nil {
		if o, ok := r.Owner.(*Object); ok {
			if p, _ := o.part(addr - o.base); p != nil && len(o.parts) != 0 {
				return p
			}
			return o
		}
	}
	return nil
}

// ObjectAt returns the object that contains addr, nil when there is none.
func (s *Space) ObjectAt(addr uint64) *Object { return s.objectAt(addr) }

// log tells the sink about an access to storage bytes; was is their state before it.
func (o *Object) log(off uint64, size int, write bool, was byteState) {
	sink := o.k.sink
	if sink == nil {
		return
	}
	a := Access{Object: o, Role: o.role, Off: off, Size: size, Write: write, Set: was != never, Default: was == Made, at: off}
	if l, rel := o.terms(off, uint64(size)); l != nil {
		a.Type, a.TypeID, a.Off = l.Name, l.Type.ID, rel
		a.Path = o.path(l, rel, uint64(size))
		if a.Path == "" && size == 8 && o.k.mem.PointerSize() == 4 {
			// Programs are compiled for 8-byte pointers: what they copy of a pointer continues behind it.
			if f := l.FieldAt(rel, 4); f.Off == rel && f.Size == 4 && Target(f.Spec, f.Type).Fine {
				a.Path = f.Path
			}
		}
	} else {
		a.Type = o.TypeName()
	}
	sink(&a)
}
