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
func (k *Kernel) container(l *layout) (*layout, uint64, bool) {
	for _, c := range containers[l.name] {
		outer := k.types.named(l.spec, c.typ)
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
func (k *Kernel) defaultPointer(o *Object, role string, spec *btf.Spec, ptr btf.ID) uint64 {
	to := target(spec, ptr)
	if !to.fine || o.depth >= maxDepth {
		return 0
	}
	if to.user {
		return k.userPointee(role, spec, to)
	}
	if to.typ != nil && to.typ.Kind == btf.KindFuncProto {
		return k.functionFor(role, spec, to.typ.ID)
	}
	if to.percpu {
		return k.percpuPointee(role, spec, to.id)
	}
	p := k.newPointee(role, spec, to, o)
	if p == nil {
		return 0
	}
	return p.Addr()
}

// newPointee makes the object behind a pointer; nil ends a chain of pointers, or when memory is exhausted.
func (k *Kernel) newPointee(role string, spec *btf.Spec, to pointee, from *Object) *Object {
	var o *Object
	var err error
	l := (*layout)(nil)
	if to.typ != nil {
		l = k.types.of(spec, to.typ.ID)
	}
	switch {
	case to.typ != nil && isChar(spec, to.typ.ID):
		o, err = k.newString(role, k.word(role, roleName(role)), from)
	case l == nil || l.size == 0:
		if name := voidNames[roleName(role)]; name != "" && to.typ == nil {
			if l := k.layoutNamed(name); l != nil {
				return k.sharedArg(roleName(role), l)
			}
		}
		o, err = k.newBytes(role, opaqueSize, from)
	case to.typ.Kind == btf.KindPtr:
		o, err = k.newObject(role, l, pointerElems, from)
	case to.typ.Kind == btf.KindStruct || to.typ.Kind == btf.KindUnion:
		if s := k.singleton(l.name); s != nil {
			return s
		}
		if from.chain(l.name) >= maxSameType {
			return nil
		}
		if l.name == "sockaddr" {
			if in := k.layoutNamed("sockaddr_in"); in != nil {
				l = in
			}
		}
		o, err = k.newObject(role, l, 1, from)
	default:
		o, err = k.newObject(role, l, scalarElems, from)
	}
	if err != nil {
		k.fail(err)
		return nil
	}
	return o
}

// voidNames says what is behind fields declared void *, by their names: those of trace events.
var voidNames = map[string]string{"skaddr": "sock", "skbaddr": "sk_buff", "sk": "sock", "skb": "sk_buff"}

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
func (k *Kernel) newString(role, text string, from *Object) (*Object, error) {
	o := &Object{k: k, role: role, count: 1, size: max(uint64(len(text))+1, stringRoom), parent: from, char: true, frozen: true}
	if err := k.place(o); err != nil {
		return nil, err
	}
	how := set
	if k.mode == ModeDefault {
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
func (k *Kernel) NewString(role, text string) (*Object, error) {
	o, err := k.newString(role, text, nil)
	if err == nil {
		o.fillString(text, set)
	}
	return o, err
}

// NewBytes makes untyped kernel memory with the given content.
func (k *Kernel) NewBytes(role string, data []byte) (*Object, error) {
	o, err := k.newBytes(role, uint64(len(data)), nil)
	if err == nil {
		o.poke(0, data, set)
	}
	return o, err
}

// singleton returns the one object of a type of which a kernel has one that matters, such as the initial network
// namespace; nil for all other types.
func (k *Kernel) singleton(typ string) *Object {
	switch typ {
	case "net":
		return k.namedObject("init_net", typ)
	case "user_namespace":
		return k.namedObject("init_user_ns", typ)
	case "pid_namespace":
		return k.namedObject("init_pid_ns", typ)
	}
	return nil
}

// namedObject returns the object of a global variable, made on first use; nil when the BTF lacks the type.
func (k *Kernel) namedObject(name, typ string) *Object {
	if o := k.byRole[name]; o != nil {
		return o
	}
	l := k.layoutNamed(typ)
	if l == nil || l.size == 0 {
		return nil
	}
	o, err := k.newObject(name, l, 1, nil)
	if err != nil {
		k.fail(err)
		return nil
	}
	k.byRole[name] = o
	return o
}
