package kernel

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
)

// Sizes of memory behind pointers whose type does not say.
const (
	opaqueSize   = 256  // behind void * and pointers to types the BTF does not define
	scalarElems  = 8    // elements behind a pointer to a number
	pointerElems = 4    // elements behind a pointer to pointers
	stringRoom   = 4096 // at least, behind char *: tools copy names by the size of their own buffers
)

// pointee is what a pointer type says about its target.
type pointee struct {
	id                 btf.ID // of the target; 0 for void
	typ                *btf.Type
	user, percpu, fine bool
}

// target follows a pointer type to what it points to, and collects the type tags on the way.
func target(spec *btf.Spec, ptr btf.ID) pointee {
	p := strip(spec, ptr)
	if p == nil || p.Kind != btf.KindPtr {
		return pointee{}
	}
	out := pointee{id: p.Ref, fine: true}
	id := p.Ref
	for range maxNesting {
		t, err := spec.Type(id)
		if err != nil || t == nil || t.Kind == btf.KindVoid {
			return out
		}
		switch t.Kind {
		case btf.KindTypeTag:
			out.user = out.user || t.Name == "user"
			out.percpu = out.percpu || t.Name == "percpu"
			id = t.Ref
			continue
		case btf.KindConst, btf.KindVolatile, btf.KindRestrict, btf.KindTypedef:
			id = t.Ref
			continue
		}
		out.typ = t
		return out
	}
	return out
}

// isText reports whether a pointer may be one to a string: to characters, or to anything.
func (p pointee) isText(spec *btf.Spec) bool { return p.typ == nil || isChar(spec, p.typ.ID) }

// containers says inside which type the kernel allocates a type, because its code goes from the one to the other
// by container_of or a cast. Path is the first of the alternatives that exists.
var containers = map[string][]struct{ typ, path string }{
	"sock":                 {{"tcp_sock", "inet_conn.icsk_inet.sk"}},
	"sock_common":          {{"tcp_sock", "inet_conn.icsk_inet.sk.__sk_common"}},
	"inet_sock":            {{"tcp_sock", "inet_conn.icsk_inet"}},
	"inet_connection_sock": {{"tcp_sock", "inet_conn"}},
	"request_sock":         {{"tcp_request_sock", "req.req"}},
	"inet_request_sock":    {{"tcp_request_sock", "req"}},
	"socket":               {{"socket_alloc", "socket"}},
	"vfsmount":             {{"mount", "mnt"}},
	"page":                 {{"folio", "page"}},
}

// container returns the layout a type is stored in and its offset there.
func (s *Space) container(l *layout) (*layout, uint64, bool) {
	for _, c := range containers[l.name] {
		outer := s.types.named(l.spec, c.typ)
		if outer == nil {
			continue
		}
		f, rest, err := outer.place(c.path)
		if err == nil && rest == "" && f.Size == l.size {
			return outer, f.Off, true
		}
	}
	return nil, 0, false
}

// defaultPointer makes what a pointer field of o points to and returns its address.
func (s *Space) defaultPointer(o *Object, role string, spec *btf.Spec, ptr btf.ID) uint64 {
	to := target(spec, ptr)
	if !to.fine || o.depth >= maxDepth {
		return 0
	}
	if to.user {
		return s.around.UserPointer(role, spec, to)
	}
	if to.typ != nil && to.typ.Kind == btf.KindFuncProto {
		return s.around.FuncPointer(role, spec, to.typ.ID)
	}
	if to.percpu {
		return s.around.PercpuPointer(role, spec, to.id)
	}
	p := s.newPointee(role, spec, to, o)
	if p == nil {
		return 0
	}
	return p.Addr()
}

// newPointee makes the object behind a pointer; nil ends a chain of pointers, or when memory is exhausted.
func (s *Space) newPointee(role string, spec *btf.Spec, to pointee, from *Object) *Object {
	var o *Object
	var err error
	l := (*layout)(nil)
	if to.typ != nil {
		l = s.types.of(spec, to.typ.ID)
	}
	switch {
	case to.typ != nil && isChar(spec, to.typ.ID):
		o, err = s.newString(role, s.word(role, roleName(role)), from)
	case l == nil || l.size == 0:
		if to.typ == nil {
			if o := s.behindVoid(roleName(role)); o != nil {
				return o
			}
		}
		o, err = s.newBytes(role, opaqueSize, from)
	case to.typ.Kind == btf.KindPtr:
		o, err = s.newObject(role, l, pointerElems, from)
	case to.typ.Kind == btf.KindStruct || to.typ.Kind == btf.KindUnion:
		if one := s.singleton(l.name); one != nil {
			return one
		}
		if from.chain(l.name) >= maxSameType {
			return nil
		}
		if l.name == "sockaddr" {
			if in := s.layoutNamed("sockaddr_in"); in != nil {
				l = in
			}
		}
		o, err = s.newObject(role, l, 1, from)
	default:
		o, err = s.newObject(role, l, scalarElems, from)
	}
	if err != nil {
		s.fail(err)
		return nil
	}
	return o
}

// newArgument makes what a pointer that no object holds points to.
func (s *Space) newArgument(role string, spec *btf.Spec, to pointee) *Object {
	root := &Object{k: s, role: "args"}
	o := s.newPointee(role, spec, to, root)
	if o != nil && o.parent == root {
		o.parent, o.depth = nil, 0
	}
	return o
}

// voidNames says what is behind fields declared void *, by their names: those of trace events.
var voidNames = map[string]string{"skaddr": "sock", "skbaddr": "sk_buff", "sk": "sock", "skb": "sk_buff"}

// behindVoid returns the object behind a void * of a name that tells what it points to, nil for other names.
func (s *Space) behindVoid(name string) *Object {
	typ := voidNames[name]
	if typ == "" {
		return nil
	}
	l := s.layoutNamed(typ)
	if l == nil {
		return nil
	}
	return s.sharedArg(name, l)
}

// roleName is the last word of a role: "filename" of "arg.bprm.filename".
func roleName(role string) string {
	role = lastName(role)
	if role == "" {
		return "obj"
	}
	return strings.TrimSuffix(role, "()")
}

// chain counts the objects of a type among o and those that led to it.
func (o *Object) chain(name string) int {
	n := 0
	for ; o != nil; o = o.parent {
		if l := o.outer(); l != nil && l.name == name {
			n++
		}
	}
	return n
}

// newString makes a NUL-terminated string in kernel memory.
func (s *Space) newString(role, text string, from *Object) (*Object, error) {
	o := &Object{k: s, role: role, count: 1, size: max(uint64(len(text))+1, stringRoom), parent: from, char: true, frozen: true}
	if err := s.place(o); err != nil {
		return nil, err
	}
	how := set
	if s.mode == ModeDefault {
		how = made
	}
	o.fillString(text, how)
	return o, nil
}

// fillString sets the whole content: the text and zeroes.
func (o *Object) fillString(text string, how byteState) {
	b := make([]byte, o.size)
	copy(b, text)
	o.poke(0, b, how)
}

// NewString makes a NUL-terminated string in kernel memory, for fields of type char *.
func (s *Space) NewString(role, text string) (*Object, error) {
	o, err := s.newString(role, text, nil)
	if err == nil {
		o.fillString(text, set)
	}
	return o, err
}

// NewBytes makes untyped kernel memory with the given content.
func (s *Space) NewBytes(role string, data []byte) (*Object, error) {
	o, err := s.newBytes(role, uint64(len(data)), nil)
	if err == nil {
		o.poke(0, data, set)
	}
	return o, err
}
