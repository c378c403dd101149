package object

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Sizes of pointees whose type does not determine it.
const (
	OpaqueSize   = 256  // behind void * and pointers to types the BTF does not define
	scalarElems  = 8    // elements behind a pointer to a number
	PointerElems = 4    // elements behind a pointer to pointers
	stringRoom   = 4096 // at least, after char * that may be a buffer: programs read as much of it as another argument says
)

// Pointee describes what a pointer type points to.
type Pointee struct {
	ID                 btf.ID // of the target; 0 for void
	Type               *btf.Type
	User, percpu, Fine bool
}

// Target follows a pointer type to its target and collects the type tags on the way.
func Target(spec *btf.Spec, ptr btf.ID) Pointee {
	p := Strip(spec, ptr)
	if p == nil || p.Kind != btf.KindPtr {
		return Pointee{}
	}
	out := Pointee{ID: p.Ref, Fine: true}
	id := p.Ref
	for range MaxNesting {
		t, err := spec.Type(id)
		if err != nil || t == nil || t.Kind == btf.KindVoid {
			return out
		}
		switch t.Kind {
		case btf.KindTypeTag:
			out.User = out.User || t.Name == "user"
			out.percpu = out.percpu || t.Name == "percpu"
			id = t.Ref
			continue
		case btf.KindConst, btf.KindVolatile, btf.KindRestrict, btf.KindTypedef:
			id = t.Ref
			continue
		}
		out.Type = t
		return out
	}
	return out
}

// IsText reports whether a pointer may point to a string: it points to characters, or to void.
func (p Pointee) IsText(spec *btf.Spec) bool { return p.Type == nil || isChar(spec, p.Type.ID) }

// containers lists the types inside which the kernel allocates a type, because its code converts
// between them by container_of or a cast. Path is the first existing alternative.
var containers = map[string][]struct{ typ, path string }{
	"sock":                 {{"tcp_sock", "inet_conn.icsk_inet.sk"}},
	"sock_common":          {{"tcp_sock", "inet_conn.icsk_inet.sk.__sk_common"}},
	"inet_sock":            {{"tcp_sock", "inet_conn.icsk_inet"}},
	"inet_connection_sock": {{"tcp_sock", "inet_conn"}},
	"request_sock":         {{"tcp_request_sock", "req.req"}},
	"inet_request_sock":    {{"tcp_request_sock", "req"}},
	"socket":               {{"socket_alloc", "socket"}},
	"vfsmount":             {{"mount", "mnt"}},
	"block_device":         {{"bdev_inode", "bdev"}},
	"page":                 {{"folio", "page"}},
}

// container returns the layout a type is stored in and its offset there.
func (s *Space) container(l *Layout) (*Layout, uint64, bool) {
	for _, c := range containers[l.Name] {
		outer := s.types.named(l.Spec, c.typ)
		if outer == nil {
			continue
		}
		f, rest, err := outer.Place(c.path)
		if err == nil && rest == "" && f.Size == l.Size {
			return outer, f.Off, true
		}
	}
	return nil, 0, false
}

// defaultPointer creates the pointee of a pointer field of o and returns its address.
func (s *Space) defaultPointer(o *Object, role string, spec *btf.Spec, ptr btf.ID) uint64 {
	to := Target(spec, ptr)
	if !to.Fine || o.depth >= MaxDepth {
		return 0
	}
	if to.User {
		return s.around.UserPointer(role, spec, to)
	}
	if to.Type != nil && to.Type.Kind == btf.KindFuncProto {
		return s.around.FuncPointer(role, spec, to.Type.ID)
	}
	if to.percpu {
		return s.around.PercpuPointer(role, spec, to.ID)
	}
	p := s.newPointee(role, spec, to, o)
	if p == nil {
		return 0
	}
	return p.Addr()
}

// newPointee creates the pointee; it returns nil to end a chain of pointers, or if memory is
// exhausted.
func (s *Space) newPointee(role string, spec *btf.Spec, to Pointee, from *Object) *Object {
	var o *Object
	var err error
	l := (*Layout)(nil)
	if to.Type != nil {
		l = s.types.Of(spec, to.Type.ID)
	}
	switch {
	case to.Type != nil && isChar(spec, to.Type.ID):
		o, err = s.newString(role, s.Word(role, RoleName(role)), from)
	case l == nil || l.Size == 0:
		if to.Type == nil {
			if o := s.BehindVoid(RoleName(role)); o != nil {
				return o
			}
		}
		o, err = s.MakeBytes(role, OpaqueSize, from)
	case to.Type.Kind == btf.KindPtr:
		o, err = s.Make(role, l, PointerElems, from)
	case to.Type.Kind == btf.KindStruct || to.Type.Kind == btf.KindUnion:
		if one := s.Singleton(l.Name); one != nil {
			return one
		}
		if from.Chain(l.Name) >= maxSameType {
			return nil
		}
		if l.Name == "sockaddr" {
			if in := s.LayoutNamed("sockaddr_in"); in != nil {
				l = in
			}
		}
		o, err = s.Make(role, l, 1, from)
	default:
		o, err = s.Make(role, l, scalarElems, from)
	}
	if err != nil {
		s.Fail(err)
		return nil
	}
	return o
}

// NewArgument creates the pointee of a pointer that is not stored in an object.
func (s *Space) NewArgument(role string, spec *btf.Spec, to Pointee) *Object {
	root := &Object{k: s, role: "args"}
	o := s.newPointee(role, spec, to, root)
	if o != nil && o.parent == root {
		o.parent, o.depth = nil, 0
	}
	return o
}

// voidNames maps names of void * fields, those of trace events, to the types behind them.
var voidNames = map[string]string{"skaddr": "sock", "skbaddr": "sk_buff", "sk": "sock", "skb": "sk_buff"}

// BehindVoid returns the object behind a void * whose name determines its type, or nil.
func (s *Space) BehindVoid(name string) *Object {
	typ := voidNames[name]
	if typ == "" {
		return nil
	}
	l := s.LayoutNamed(typ)
	if l == nil {
		return nil
	}
	return s.Shared(name, l)
}

// RoleName returns the last word of a role: "filename" of "arg.bprm.filename".
func RoleName(role string) string {
	role = LastName(role)
	if role == "" {
		return "obj"
	}
	return strings.TrimSuffix(role, "()")
}

// Chain counts the objects of a type among o and its ancestors.
func (o *Object) Chain(name string) int {
	n := 0
	for ; o != nil; o = o.parent {
		if l := o.Layout(); l != nil && l.Name == name {
			n++
		}
	}
	return n
}

// isName reports whether a pointer of a role is to a name, which ends at its NUL: what is after it
// belongs to somebody else. Others may be buffers.
func isName(role string) bool {
	if i := strings.LastIndexByte(role, '.'); i >= 0 {
		role = role[i+1:]
	}
	for _, word := range []string{"name", "path", "label", "title"} {
		if strings.HasSuffix(role, word) {
			return true
		}
	}
	return false
}

// newString creates a NUL-terminated string in kernel memory.
func (s *Space) newString(role, text string, from *Object) (*Object, error) {
	size := uint64(len(text)) + 1
	if !isName(role) {
		size = max(size, stringRoom)
	}
	o := &Object{k: s, role: role, count: 1, size: size, parent: from, char: true, frozen: true}
	if err := s.place(o); err != nil {
		return nil, err
	}
	how := Given
	if s.mode == ModeDefault {
		how = Made
	}
	o.fillString(text, how)
	return o, nil
}

// fillString sets the whole content: the string, then zeros.
func (o *Object) fillString(text string, how byteState) {
	b := make([]byte, o.size)
	copy(b, text)
	o.Poke(0, b, how)
}

// NewString creates a NUL-terminated string in kernel memory, for fields of type char *.
func (s *Space) NewString(role, text string) (*Object, error) {
	o, err := s.newString(role, text, nil)
	if err == nil {
		o.fillString(text, Given)
	}
	return o, err
}

// NewBytes creates untyped kernel memory with the given content.
func (s *Space) NewBytes(role string, data []byte) (*Object, error) {
	o, err := s.MakeBytes(role, uint64(len(data)), nil)
	if err == nil {
		o.Poke(0, data, Given)
	}
	return o, err
}
