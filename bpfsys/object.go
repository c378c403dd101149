package bpfsys

import (
	"cmp"
	"slices"

	"github.com/bpfrun/bpfrun/uapi"
)

// Kind is the kind of an object.
type Kind uint8

// Kinds of objects. Ids are counted for each of the first four.
const (
	KindMap Kind = iota
	KindProg
	KindBTF
	KindLink
	KindPerf
	KindIter
	KindToken
	numKinds
)

var kindNames = [...]string{"map", "prog", "btf", "link", "perf event", "iterator", "token"}

// String returns the kind as a word.
func (k Kind) String() string { return kindNames[k] }

// Object is something a descriptor can refer to: *[Map], *[Prog], *[BTF], *[Link], *[PerfEvent], *[Iter] or *[Token].
type Object interface {
	Kind() Kind
	// ID is the object's id among those of its kind, as *_GET_NEXT_ID gives it.
	ID() uint32
	Name() string
	head() *object
}

// object is what all objects share.
type object struct {
	kind Kind
	id   uint32
	name string
	refs int
	free func() // when the last reference is gone
	// mem is shared with user space; may be nil.
	mem Memory
	// Tag is for the layer through which calls arrive.
	Tag any
}

func (o *object) Kind() Kind    { return o.kind }
func (o *object) ID() uint32    { return o.id }
func (o *object) Name() string  { return o.name }
func (o *object) head() *object { return o }

// Tag returns a place for a value of the layer through which calls arrive.
func Tag(o Object) *any { return &o.head().Tag }

// Shared returns the memory an object shares with user space, or nil.
func Shared(o Object) Memory { return o.head().mem }

// Memory is shared with user space. Its size does not change.
type Memory interface {
	Bytes() []byte
	Close()
}

// maxObjects limits how many objects of each kind exist at one time.
const maxObjects = 1 << 16

// add gives an object its id. The caller has checked [System.full].
func (s *System) add(o Object, kind Kind, name string, free func()) {
	h := o.head()
	h.kind, h.name, h.free = kind, name, free
	if h.id == 0 {
		s.last[kind]++
		h.id = s.last[kind]
	}
	if s.byID[kind] == nil {
		s.byID[kind] = map[uint32]Object{}
	}
	s.byID[kind][h.id] = o
}

// full reports whether the limit of objects of a kind is reached.
func (s *System) full(kind Kind) bool { return len(s.byID[kind]) >= maxObjects }

func (s *System) hold(o Object) { o.head().refs++ }

// put drops a reference.
func (s *System) put(o Object) {
	h := o.head()
	if h.refs--; h.refs > 0 {
		return
	}
	if s.byID[h.kind][h.id] != o {
		return
	}
	delete(s.byID[h.kind], h.id)
	if h.free != nil {
		h.free()
	}
	if h.mem != nil {
		s.shared -= len(h.mem.Bytes())
		h.mem.Close()
		h.mem = nil
	}
	if s.cfg.Freed != nil {
		s.cfg.Freed(o)
	}
}

// Release drops the reference of a file whose last descriptor was closed.
func (s *System) Release(o Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(o)
}

// Objects lists the objects of a kind by id.
func (s *System) Objects(kind Kind) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects(kind)
}

func (s *System) objects(kind Kind) []Object {
	out := make([]Object, 0, len(s.byID[kind]))
	for _, o := range s.byID[kind] {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Object) int { return cmp.Compare(a.ID(), b.ID()) })
	return out
}

// nextID is *_GET_NEXT_ID.
func (s *System) nextID(a *attr, kind Kind) Result {
	start, best := a.u32(0), uint32(0)
	for id := range s.byID[kind] {
		if id > start && (best == 0 || id < best) {
			best = id
		}
	}
	if best == 0 {
		return fail(uapi.ENOENT)
	}
	if !a.put32(4, best) {
		return fail(uapi.EFAULT)
	}
	return Result{}
}

// byIDFile is *_GET_FD_BY_ID.
func (s *System) byIDFile(a *attr, kind Kind) Result {
	access, flags := ReadWrite, uint32(0)
	if kind == KindMap {
		flags = a.u32(8)
		var ok bool
		if access, ok = accessOf(flags); !ok || flags&^uint32(uapi.MapRdonly|uapi.MapWronly) != 0 {
			return fail(uapi.EINVAL)
		}
	}
	o := s.byID[kind][a.u32(0)]
	if o == nil {
		return fail(uapi.ENOENT)
	}
	return s.newFile(o, access)
}

// accessOf returns the access mode that a map's flags allow its descriptors (bpf_get_file_flag).
func accessOf(flags uint32) (uint32, bool) {
	switch r, w := flags&uapi.MapRdonly != 0, flags&uapi.MapWronly != 0; {
	case r && w:
		return 0, false
	case r:
		return ReadOnly, true
	case w:
		return WriteOnly, true
	}
	return ReadWrite, true
}

// object returns what a descriptor in the attributes refers to, of type T; EBADF when it is closed, EINVAL when it is something else.
func fileOf[T Object](c Caller, fd int32) (o T, f File, e uapi.Errno) {
	f = c.File(fd)
	if f.Kind == NoFile {
		return o, f, uapi.EBADF
	}
	o, ok := f.Object.(T)
	if !ok {
		return o, f, uapi.EINVAL
	}
	return o, f, 0
}

// validName is bpf_obj_name_cpy: letters, digits, "_" and "." with a NUL at the end.
func validName(b []byte) (string, bool) {
	for i, c := range b {
		switch {
		case c == 0:
			return string(b[:i]), true
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.':
		default:
			return "", false
		}
	}
	return "", false
}
