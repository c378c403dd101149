package bpfsys

import (
	"math"
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// Kind is the kind of an object.
type Kind uint8

// Kinds of objects. Each of the first four has its own sequence of ids.
const (
	KindMap Kind = iota
	KindProg
	KindBTF
	KindLink
	KindPerf
	KindIter
	KindToken // tokens, and descriptors of BPF_ENABLE_STATS
	numKinds
)

var kindNames = [...]string{"map", "prog", "btf", "link", "perf event", "iterator", "token"}

// String returns the name of the kind.
func (k Kind) String() string { return kindNames[k] }

// Object is an object of the system that a descriptor can refer to: *[Map], *[Prog], *[BTF],
// *[Link], *[PerfEvent], *[Iter] or *[Token].
type Object interface {
	Kind() Kind
	// ID returns the object's id, which is unique within its kind, as BPF_*_GET_NEXT_ID returns it.
	ID() uint32
	Name() string
	head() *object
}

// object holds the state that all kinds of objects have.
type object struct {
	kind Kind
	id   uint32
	name string
	refs int
	// open counts the open files among the references.
	open int
	free func() // called when the last reference is dropped
	// mem is the memory shared with user space; may be nil.
	mem Memory
	// Tag is reserved for the layer through which calls arrive.
	Tag any
}

func (o *object) Kind() Kind    { return o.kind }
func (o *object) ID() uint32    { return o.id }
func (o *object) Name() string  { return o.name }
func (o *object) head() *object { return o }

// Tag returns a pointer to a value that the layer through which calls arrive may set.
func Tag(o Object) *any { return &o.head().Tag }

// Shared returns the memory that an object shares with user space, or nil.
func Shared(o Object) Memory { return o.head().mem }

// Memory is memory of fixed size that is shared with user space.
type Memory interface {
	Bytes() []byte
	Close()
}

// maxObjects limits the number of objects of each kind that exist at one time.
const maxObjects = 1 << 16

// add registers an object under a new id. The caller must have checked [System.full].
func (s *System) add(o Object, kind Kind, name string, free func()) {
	h := o.head()
	h.kind, h.name, h.free = kind, name, free
	if h.id == 0 {
		s.last[kind]++
		h.id = s.last[kind]
	}
	s.byID[kind].Add(h.id, o)
}

// full reports whether no more objects of a kind can be created.
func (s *System) full(kind Kind) bool { return s.byID[kind].Len() >= maxObjects }

func (s *System) hold(o Object) { o.head().refs++ }

// put drops a reference.
func (s *System) put(o Object) {
	h := o.head()
	if h.refs--; h.refs > 0 {
		return
	}
	if found, _ := s.byID[h.kind].Get(h.id); found != o {
		return
	}
	s.byID[h.kind].Remove(h.id)
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
	h := o.head()
	if h.open--; h.open == 0 {
		if m, ok := o.(*Map); ok {
			s.dropEvents(m)
		}
	}
	s.put(o)
}

// Keep takes the reference of an open file to an object, for a [FileTable] in the middle of a call.
func (s *System) Keep(o Object) {
	o.head().open++
	s.hold(o)
}

// Objects returns the objects of a kind, ordered by id.
func (s *System) Objects(kind Kind) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(s.byID[kind].All())
}

// nextID implements BPF_*_GET_NEXT_ID.
func (s *System) nextID(a bpfattr.ObjectID, kind Kind) Result {
	if a.StartId() >= math.MaxInt32 { // bpf_obj_get_next_id
		return fail(uapi.EINVAL)
	}
	id, _, ok := s.byID[kind].Next(a.StartId())
	if !ok {
		return fail(uapi.ENOENT)
	}
	if !a.PutNextId(id) {
		return fail(uapi.EFAULT)
	}
	return Result{}
}

// byIDFile implements BPF_*_GET_FD_BY_ID.
func (s *System) byIDFile(c Caller, a bpfattr.ObjectID, kind Kind) Result {
	access, flags := ReadWrite, uint32(0)
	if kind == KindMap {
		flags = a.OpenFlags()
		var ok bool
		if access, ok = accessOf(flags); !ok || flags&^uint32(uapi.MapRdonly|uapi.MapWronly) != 0 {
			return fail(uapi.EINVAL)
		}
	}
	if kind == KindBTF && s.has(since.BTFByIDFlags) {
		const tokenFD = uapi.MapTokenFD
		if a.OpenFlags()&^uint32(tokenFD) != 0 {
			return fail(uapi.EINVAL)
		}
		if _, e := s.tokenOf(c, a.OpenFlags()&tokenFD != 0, a.FdByIdTokenFd(), uapi.CmdBtfGetFdById, func(Delegation) bool { return true }, capSysAdmin); e != 0 {
			return fail(e)
		}
	}
	o, ok := s.byID[kind].Get(a.StartId()) // prog_id, map_id, btf_id and link_id are the same field
	if !ok {
		return fail(uapi.ENOENT)
	}
	return s.newFile(o, access)
}

// accessOf returns the access mode that flags request for a descriptor (bpf_get_file_flag).
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

// fileOf returns the object of type T that a descriptor refers to. It fails with EBADF if the
// descriptor is closed, and with EINVAL if it refers to anything else.
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

// validName reads an object name (bpf_obj_name_cpy): letters, digits, "_" and ".", terminated by a
// NUL.
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
