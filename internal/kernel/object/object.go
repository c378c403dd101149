package object

import (
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/mem"
)

// byteState is the origin of a byte's value.
type byteState uint8

const (
	never  byteState = iota // no value
	Given                   // set by the user, a builder or the program
	Made                    // a default value
	zeroed                  // known to be zero (padding, cleared memory), which counts as set
)

// Object is kernel memory of one type, or an array of it. It implements [mem.View]: offsets of the
// View are relative to the start of its storage.
//
// An object may be stored inside a larger one whose type the kernel reaches by container_of or by a
// cast: a struct sock is the first part of a struct tcp_sock. Type and Addr are those of the object
// itself, the face; memory outside it is named in terms of the storage.
type Object struct {
	k      *Space
	role   string
	layout *Layout // of one element; nil for untyped memory
	count  uint64  // elements
	size   uint64  // bytes of storage
	base   uint64  // address of the storage
	region *mem.Region

	face    *Layout // nil = the storage itself
	faceOff uint64

	parent  *Object // the object whose pointer first led here
	depth   int
	char    bool      // untyped memory that holds a string
	frozen  bool      // never populated by builders
	builtin bool      // populated in every mode, because the kernel itself creates it
	parts   []*Object // objects inside untyped memory, see Embed
	like    *Object   // whose contents a twin has

	st   *state
	was0 *state // in the snapshot that the space's journal is about; nil for an object created since
}

// state is the mutable part of an object; a snapshot shares it until the next change.
type state struct {
	data      []byte
	flags     []byteState // per byte
	members   []member    // fields that were set individually
	populated bool
	shared    bool `snapshot:"fixed"` // with a snapshot
}

// NewObject creates an object of a type in the vmlinux BTF. The error is a [*TypeError] or an
// allocation's.
func (s *Space) NewObject(role string, typ btf.ID) (*Object, error) {
	return s.NewObjectOf(s.btf, role, typ)
}

// NewObjectOf is [Space.NewObject] for a type of a module's BTF.
func (s *Space) NewObjectOf(spec *btf.Spec, role string, typ btf.ID) (*Object, error) {
	l := s.types.Of(spec, typ)
	if l == nil || l.Size == 0 {
		name := fmt.Sprintf("type %d", typ)
		if spec != nil {
			name = spec.TypeString(typ)
		}
		return nil, &TypeError{Type: name, Role: role, Why: "has no size"}
	}
	return s.Make(role, l, 1, nil)
}

// NewObjectNamed is [Space.NewObject] for a struct, union or typedef by name, in vmlinux and then
// in modules.
func (s *Space) NewObjectNamed(role, typ string) (*Object, error) {
	l := s.LayoutNamed(typ)
	if l == nil || l.Size == 0 {
		return nil, &TypeError{Type: typ, Role: role, Why: "is not in the kernel's BTF"}
	}
	return s.Make(role, l, 1, nil)
}

// TypeError is a type that no object can have.
type TypeError struct{ Type, Role, Why string }

// Error names the type, the object and the reason.
func (e *TypeError) Error() string {
	return fmt.Sprintf("kernel: object %s: type %s %s", e.Role, e.Type, e.Why)
}

// LayoutNamed finds a struct, union or typedef by name; nil if no BTF has it.
func (s *Space) LayoutNamed(name string) *Layout {
	if s.btf == nil {
		return nil
	}
	for i := -1; i < len(s.modules); i++ {
		spec := s.btf
		if i >= 0 {
			spec = s.modules[i]
		}
		if l := s.types.named(spec, name); l != nil {
			return l
		}
		if t, ok := spec.Find(btf.KindTypedef, name); ok {
			if l := s.types.Of(spec, t.ID); l != nil {
				return l
			}
		}
	}
	return nil
}

// Make creates an object of count elements. A struct is stored in its container if there is one.
func (s *Space) Make(role string, l *Layout, count uint64, parent *Object) (*Object, error) {
	o := &Object{k: s, role: role, layout: l, count: count, parent: parent}
	if count == 1 {
		if c, off, ok := s.container(l); ok {
			o.layout, o.face, o.faceOff = c, l, off
		}
	}
	o.size = o.layout.Size * count
	if count == 1 && o.layout.flexElem > 0 {
		o.size += min(o.layout.flexElem*flexibleElems, maxFlexible)
	}
	return o, s.place(o)
}

// NewIn creates an object of a type that is part of an outer type, at a path in it ("" for its
// start): a struct sock in a udp_sock, the work_struct of a user_namespace. If the target's BTF
// lacks the outer type, it is the same as NewObjectNamed.
func (s *Space) NewIn(role, typ, outer, path string) (*Object, error) {
	l, c := s.LayoutNamed(typ), s.LayoutNamed(outer)
	off := uint64(0)
	if c != nil && path != "" {
		f, rest, err := c.Place(path)
		if err != nil || rest != "" || l != nil && f.Size != l.Size {
			c = nil
		}
		off = f.Off
	}
	if l == nil || c == nil || c.Size < l.Size {
		return s.NewObjectNamed(role, typ)
	}
	o := &Object{k: s, role: role, layout: c, count: 1, size: c.Size, face: l, faceOff: off}
	if l.flexElem > 0 { // its array may go beyond the outer type
		o.size = max(o.size, off+l.Size+min(l.flexElem*flexibleElems, maxFlexible))
	}
	return o, s.place(o)
}

// Detached creates an object outside guest memory, to assemble bytes by the type's fields. It has
// no default content.
func (s *Space) Detached(role string, l *Layout) *Object {
	return &Object{k: s, role: role, layout: l, count: 1, size: l.Size, frozen: true, st: &state{}}
}

// MakeAt creates an object of size bytes within an existing region, at base. If l is nil or larger
// than size, the memory is untyped.
func (s *Space) MakeAt(role string, l *Layout, size uint64, region *mem.Region, base uint64) *Object {
	o := &Object{k: s, role: role, layout: l, count: 1, size: size, base: base, region: region, st: &state{}}
	if l != nil && l.Size > 0 && size > l.Size {
		o.count = size / l.Size
	}
	if l != nil && size < l.Size {
		o.layout = nil
	}
	s.objects = append(s.objects, o)
	return o
}

// Discard forgets an object that MakeAt created, when its memory ends.
func (s *Space) Discard(o *Object) {
	for i := len(s.objects) - 1; i >= 0; i-- { // it is one of the last
		if s.objects[i] == o {
			s.objects = slices.Delete(s.objects, i, i+1)
			s.journal.same = min(s.journal.same, i)
			return
		}
	}
}

// Elements creates an array of n elements of the pointee type of the pointer field at path, with
// the contents data. The field itself is not changed.
func (o *Object) Elements(path string, n uint64, fill func(i uint64, size uint64) []byte) (*Object, error) {
	at, f, err := o.find(path, true, Given)
	if err != nil {
		return nil, err
	}
	l := o.k.types.Of(f.Spec, Target(f.Spec, f.Type).ID)
	if l == nil || l.Size == 0 {
		return nil, &TypeError{Type: f.Spec.TypeString(f.Type), Role: o.role, Why: "does not point to elements of a size"}
	}
	a, err := o.k.Make(o.role+"."+path, l, n, at)
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, a.size)
	for i := range n {
		data = append(data, fill(i, l.Size)...)
	}
	a.Poke(0, data, Given)
	return a, nil
}

// MakeBytes creates untyped memory.
func (s *Space) MakeBytes(role string, size uint64, parent *Object) (*Object, error) {
	o := &Object{k: s, role: role, count: 1, size: size, parent: parent}
	return o, s.place(o)
}

// place assigns an address to the object.
func (s *Space) place(o *Object) error {
	if o.parent != nil {
		o.depth = o.parent.depth + 1
	}
	if o.size > maxObjectSize || o.layout != nil && o.size > maxTypedSize || len(s.objects) >= maxObjects {
		return fmt.Errorf("kernel: object %s of %d bytes: %w", o.role, o.size, ErrNoMemory)
	}
	r, err := s.mem.Alloc(max(o.size, 1), mem.Region{Kind: mem.KernelObject, Name: o.describe(), View: o, Owner: o})
	if err != nil {
		return fmt.Errorf("kernel: object %s: %w", o.role, err)
	}
	o.region, o.base = r, r.Base
	o.st = &state{}
	s.objects = append(s.objects, o)
	return nil
}

// describe names the object for messages: "current (task_struct)".
func (o *Object) describe() string { return o.role + " (" + o.TypeName() + ")" }

// Format implements [fmt.Formatter]: values in messages may be or contain objects.
func (o *Object) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, o.describe()) }

// Role returns the role of the object in the kernel: "current", "current.cred", an argument's name.
func (o *Object) Role() string { return o.role }

// Addr returns the address that pointers to the object contain.
func (o *Object) Addr() uint64 { return o.base + o.faceOff }

// Size returns the size of the object in bytes; for an array, of all elements.
func (o *Object) Size() uint64 {
	if o.face != nil {
		return o.face.Size
	}
	return o.size
}

// Spec returns the BTF of Type, or nil for untyped memory.
func (o *Object) Spec() *btf.Spec {
	if l := o.Layout(); l != nil {
		return l.Spec
	}
	return nil
}

// Type returns the type of the object (or element), without modifiers and typedefs; 0 for untyped
// memory.
func (o *Object) Type() btf.ID {
	if l := o.Layout(); l != nil {
		return l.Type.ID
	}
	return 0
}

// TypeName returns the name of the type: "task_struct", "void" for untyped memory, "char" for a
// string.
func (o *Object) TypeName() string {
	switch l := o.Layout(); {
	case l != nil:
		return l.Name
	case o.char:
		return "char"
	}
	return "void"
}

// Region returns the object's memory region.
func (o *Object) Region() *mem.Region { return o.region }

// Base returns the address of the storage, which contains Addr.
func (o *Object) Base() uint64 { return o.base }

// StorageSize returns the size of the storage in bytes.
func (o *Object) StorageSize() uint64 { return o.size }

// Parent returns the object whose pointer first led to this one, nil for an object created on its
// own.
func (o *Object) Parent() *Object { return o.parent }

// Below records that a pointer of parent leads to the object.
func (o *Object) Below(parent *Object) { o.parent, o.depth = parent, parent.depth+1 }

// MarkBuiltin marks the object as one of the kernel's own, which has the default content of its
// type in every [Mode].
func (o *Object) MarkBuiltin() { o.builtin = true }

// IsBuiltin reports whether MarkBuiltin was called.
func (o *Object) IsBuiltin() bool { return o.builtin }

// Space returns the space the object belongs to.
func (o *Object) Space() *Space { return o.k }

// Face returns the layout of the object itself if it is stored inside a larger one, else nil.
func (o *Object) Face() *Layout { return o.face }

// Storage returns the layout of the storage (of one element), or nil for untyped memory.
func (o *Object) Storage() *Layout { return o.layout }

// Count returns the number of elements in the storage.
func (o *Object) Count() uint64 { return o.count }

// Layout returns the layout that paths of the object refer to.
func (o *Object) Layout() *Layout {
	if o.face != nil {
		return o.face
	}
	return o.layout
}

// terms returns the layout in whose terms storage bytes [off, off+size) are named, and the offset
// from its start; for an array, from the start of the first element.
func (o *Object) terms(off, size uint64) (*Layout, uint64) {
	if o.face != nil && off >= o.faceOff && off+size <= o.faceOff+o.face.Size {
		return o.face, off - o.faceOff
	}
	return o.layout, off
}

// path names storage bytes in terms of l.
func (o *Object) path(l *Layout, off, size uint64) string {
	if o.count > 1 && l == o.layout {
		i := off / l.Size
		if in := off - i*l.Size; in+size <= l.Size {
			return "[" + strconv.FormatUint(i, 10) + "]" + Dotted(l.FieldAt(in, size).Path)
		}
		return ""
	}
	return l.FieldAt(off, size).Path
}

func Dotted(path string) string {
	if path == "" || path[0] == '[' {
		return path
	}
	return "." + path
}

// touch makes the state modifiable.
func (o *Object) touch() *state {
	switch s := o.st; {
	case s.data == nil && !s.shared:
		s.data, s.flags = make([]byte, o.size), make([]byteState, o.size)
	case s.shared:
		c := &state{populated: s.populated, data: slices.Clone(s.data), flags: slices.Clone(s.flags), members: slices.Clone(s.members)}
		if c.data == nil {
			c.data, c.flags = make([]byte, o.size), make([]byteState, o.size)
		}
		if o.st == o.was0 {
			o.k.journal.touched = append(o.k.journal.touched, o)
		}
		o.st = c
	}
	return o.st
}

// status summarises the bytes [off, off+size): never if any of them was never set, else made if any
// has a default.
func (o *Object) status(off, size uint64) byteState {
	if o.st.flags == nil {
		return never
	}
	s := Given
	for _, f := range o.st.flags[off : off+size] {
		if f == never {
			return never
		}
		if f == Made {
			s = Made
		}
	}
	return s
}

// read makes [off, off+size) readable according to the mode, and returns the bytes and their
// previous state.
func (o *Object) read(off, size uint64) ([]byte, byteState, *mem.Fault) {
	was := o.status(off, size)
	if was == never && o.like != nil {
		o.inherit(off, size)
		was = o.status(off, size)
	}
	if was == never && o.builtin && o.k.mode != ModeDefault {
		o.Populate()
		was = o.status(off, size)
	}
	if was == never {
		switch o.k.mode {
		case ModeDefault:
			o.materialise(off, size)
			if was = o.status(off, size); was == Given {
				was = Made // padding
			}
		case ModeStrict:
			o.log(off, int(size), false, never)
			name := o.describe()
			if l, rel := o.terms(off, size); l != nil {
				name = o.role + ": " + l.Name + Dotted(o.path(l, rel, size))
			}
			return nil, never, &mem.Fault{Kind: mem.NeverSet, Detail: name + " was never set"}
		}
	}
	if o.st.data == nil {
		return make([]byte, size), was, nil
	}
	return o.st.data[off : off+size], was, nil
}

// Load implements [mem.View].
func (o *Object) Load(off uint64, size int) (uint64, *mem.Fault) {
	if o.k.noLoads {
		return 0, &mem.Fault{Kind: mem.NotPermitted, Detail: "a " + o.k.prog.String() + " program without typed pointers may not load kernel memory"}
	}
	if len(o.parts) != 0 {
		b := make([]byte, size)
		if f := o.Read(off, b); f != nil {
			return 0, f
		}
		return endian.Uint(o.k.Order(), b), nil
	}
	b, was, f := o.read(off, uint64(size))
	if f != nil {
		return 0, f
	}
	o.log(off, size, false, was)
	return endian.Uint(o.k.Order(), b), nil
}

// Read implements [mem.View] for helpers that copy.
func (o *Object) Read(off uint64, p []byte) *mem.Fault {
	if len(o.parts) != 0 {
		return o.eachPart(off, uint64(len(p)), func(q *Object, at, from, to uint64) *mem.Fault { return q.readOwn(at, p[from:to]) })
	}
	return o.readOwn(off, p)
}

// readOwn reads bytes that belong to the object itself, not to a part.
func (o *Object) readOwn(off uint64, p []byte) *mem.Fault {
	b, was, f := o.read(off, uint64(len(p)))
	if f != nil {
		return f
	}
	copy(p, b)
	o.log(off, len(p), false, was)
	return nil
}

// Store implements [mem.View]: only fields that the program type may write are accepted.
func (o *Object) Store(off uint64, size int, v uint64) *mem.Fault {
	var b [8]byte
	endian.PutUint(o.k.Order(), b[:size], v)
	return o.Write(off, b[:size])
}

// Write implements [mem.View]: only fields that the program type may write are accepted.
func (o *Object) Write(off uint64, p []byte) *mem.Fault {
	if len(o.parts) != 0 {
		return o.eachPart(off, uint64(len(p)), func(q *Object, at, from, to uint64) *mem.Fault { return q.writeOwn(at, p[from:to]) })
	}
	return o.writeOwn(off, p)
}

// writeOwn writes bytes that belong to the object itself, not to a part.
func (o *Object) writeOwn(off uint64, p []byte) *mem.Fault {
	if !o.k.mayWrite(o, off, uint64(len(p))) {
		what := o.describe()
		if l, rel := o.terms(off, uint64(len(p))); l != nil {
			what = o.role + ": " + l.Name + Dotted(o.path(l, rel, uint64(len(p))))
		}
		return &mem.Fault{Kind: mem.NotPermitted, Detail: "a " + o.k.prog.String() + " program may not write " + what}
	}
	o.log(off, len(p), true, o.status(off, uint64(len(p))))
	o.Poke(off, p, Given)
	return nil
}

// Poke writes storage bytes for the simulation itself.
func (o *Object) Poke(off uint64, p []byte, how byteState) {
	s := o.touch()
	copy(s.data[off:], p)
	for i := range p {
		s.flags[off+uint64(i)] = how
	}
}

// Bytes returns a copy of the object's current bytes, never-set ones as 0, without logging.
func (o *Object) Bytes() []byte {
	out := make([]byte, o.Size())
	if o.st.data != nil {
		copy(out, o.st.data[o.faceOff:])
	}
	return out
}
