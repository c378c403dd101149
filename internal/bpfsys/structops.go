package bpfsys

import (
	"strings"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
)

// structOps is the state of a struct_ops map (kernel/bpf/bpf_struct_ops.c).
type structOps struct {
	value btf.ID // struct bpf_struct_ops_TYPE
	typ   btf.ID // struct TYPE
	name  string
	off   uint32 // offset of the data in the value
	types *BTF
	bytes []byte // the value as user space stored it; nil before that
	state uint32
	at    []*attachment
	progs []*Prog
}

// States of a struct_ops map (enum bpf_struct_ops_state).
const (
	opsInit, opsInUse, opsReady = 0, 1, 3
)

// opsPrefix begins the names of the wrapper structs, which exist for structs whose functions
// programs can implement.
const opsPrefix = "bpf_struct_ops_"

// supportsOps reports whether the kernel lets programs implement the struct that p is loaded for
// (check_struct_ops_btf_id).
func (p *Prog) supportsOps() bool {
	return p.hook.obj != nil && p.hook.id != 0 && len(p.hook.obj.spec.IDs(btf.KindStruct, opsPrefix+p.hook.name)) > 0
}

// createOps determines the type of a struct_ops map.
func (s *System) createOps(c Caller, a bpfattr.MapCreate, m *Map) Result {
	id := btf.ID(a.BtfVmlinuxValueTypeId())
	if id == 0 || m.def.KeySize != 4 || m.def.MaxEntries != 1 { // bpf_struct_ops_map_alloc_check
		return fail(uapi.EINVAL)
	}
	b := s.vmlinux
	if m.def.Flags&uapi.MapVtypeBTFObjFD != 0 {
		var e uapi.Errno
		if b, _, e = fileOf[*BTF](c, a.ValueTypeBtfObjFd()); e != 0 {
			return fail(e)
		}
	}
	if b == nil || !b.kernel {
		return fail(uapi.EINVAL)
	}
	t, err := b.spec.Type(id)
	const prefix = opsPrefix
	if err != nil || t.Kind != btf.KindStruct || !strings.HasPrefix(t.Name, prefix) {
		return fail(uapi.ENOTSUPP)
	}
	data := t.Member("data")
	if data == nil || t.Size != m.def.ValueSize {
		return fail(uapi.EINVAL)
	}
	off, _ := b.spec.MemberBits(t, data)
	m.ops = &structOps{value: id, typ: b.spec.SkipID(data.Type), name: strings.TrimPrefix(t.Name, prefix), off: off / 8, types: b}
	return Result{}
}

// userValue returns the result of a lookup: the data as stored, with the state.
func (o *structOps) userValue(size uint32) []byte {
	v := make([]byte, size)
	if o.state != opsInit {
		copy(v, o.bytes)
		le.PutUint32(v, 1) // refcnt
		le.PutUint32(v[4:], o.state)
	}
	return v
}

// updateOps stores the struct. Its function pointers are given as descriptors of programs.
func (s *System) updateOps(c Caller, m *Map, key, value []byte, flags uint64) Result {
	o := m.ops
	switch {
	case o == nil || flags != 0:
		return fail(uapi.EINVAL)
	case le.Uint32(key) != 0:
		// The map has one element.
		return fail(uapi.E2BIG)
	case o.state != opsInit:
		// What the kernel calls is not changed while it is called.
		return fail(uapi.EBUSY)
	case !zeroFrom(value[:o.off], 0):
		// The state before the struct is the kernel's.
		return fail(uapi.EINVAL)
	}
	spec := o.types.spec
	t := spec.MustType(o.typ)
	var progs []*Prog
	var hooks []*attachment
	for i := range t.Members {
		mem := &t.Members[i]
		ptr := spec.SkipMods(mem.Type)
		if ptr == nil || ptr.Kind != btf.KindPtr || spec.SkipMods(ptr.Ref).Kind != btf.KindFuncProto {
			continue
		}
		off, _ := spec.MemberBits(t, mem)
		at := o.off + off/8
		if int(at)+8 > len(value) {
			return fail(uapi.EINVAL)
		}
		fd := le.Uint64(value[at:])
		if fd == 0 {
			continue
		}
		p, _, e := fileOf[*Prog](c, int32(fd))
		if e != 0 {
			return fail(e)
		}
		// The program was verified for the types of another member.
		if p.typ != uapi.ProgTypeStructOps || p.hook.id != o.typ || int(p.expected) != i {
			return fail(uapi.EINVAL)
		}
		progs = append(progs, p)
		le.PutUint64(value[at:], uint64(p.id)) // what lookups return
		name := o.name + "." + mem.Name
		hooks = append(hooks, &attachment{prog: p, hook: machine.Hook{AttachTo: name, Section: "struct_ops/" + name}})
	}
	if m.def.Flags&uapi.MapLink == 0 && !o.registers() {
		return fail(uapi.EOPNOTSUPP)
	}
	for _, p := range progs {
		s.hold(p)
	}
	o.bytes, o.progs, o.at = value, progs, hooks
	o.state = opsReady
	if m.def.Flags&uapi.MapLink == 0 {
		o.state = opsInUse
		s.registerOps(m)
		s.hold(m) // a registered map outlives its descriptors
	}
	return Result{Note: "struct_ops " + o.name + " is registered; its functions run when an event fires them"}
}

// registers reports whether the kernel calls the functions of the struct at all. Those of
// bpf_dummy_ops exist for test runs alone (bpf_dummy_reg).
func (o *structOps) registers() bool { return o.name != testedOps }

// registerOps lets the kernel call the programs from here on (reg of struct bpf_struct_ops).
func (s *System) registerOps(m *Map) {
	for _, h := range m.ops.at {
		s.attach(h)
	}
}

func (s *System) unregisterOps(m *Map) {
	for _, h := range m.ops.at {
		s.detach(h)
	}
}

// deleteOps unregisters the struct_ops map.
func (s *System) deleteOps(m *Map) uapi.Errno {
	switch {
	case m.def.Flags&uapi.MapLink != 0:
		// Its link ends the registration.
		return uapi.EOPNOTSUPP
	case m.ops.state != opsInUse:
		return uapi.ENOENT
	}
	s.freeOps(m)
	s.put(m)
	return 0
}

func (s *System) freeOps(m *Map) {
	o := m.ops
	s.unregisterOps(m)
	for _, p := range o.progs {
		s.put(p)
	}
	o.progs, o.at, o.bytes, o.state = nil, nil, nil, opsInit
}

// linkOps registers a struct_ops map for as long as the link is (bpf_struct_ops_link_create).
func (s *System) linkOps(c Caller, a bpfattr.LinkCreate) Result {
	m, _, e := fileOf[*Map](c, a.MapFd())
	if e != 0 {
		return fail(e)
	}
	if m.ops == nil || m.def.Flags&uapi.MapLink == 0 || m.ops.state != opsReady {
		return fail(uapi.EINVAL)
	}
	if !m.ops.registers() {
		return fail(uapi.EOPNOTSUPP)
	}
	s.hold(m)
	l := &Link{typ: uapi.LinkStructOps, attach: uapi.AttachStructOps, ops: m}
	if s.full(KindLink) {
		s.put(m)
		return fail(uapi.ENOMEM)
	}
	s.registerOps(m)
	s.add(l, KindLink, m.name, func() { s.freeLink(l) })
	return s.newFile(l, ReadOnly)
}

// updateOpsLink replaces the map of a link by another map of the same type.
func (s *System) updateOpsLink(c Caller, a bpfattr.LinkUpdate, l *Link) Result {
	m, _, e := fileOf[*Map](c, a.NewMapFd())
	if e != 0 {
		return fail(e)
	}
	switch {
	case m.ops == nil || m.def.Flags&uapi.MapLink == 0 || m.ops.state != opsReady:
		return fail(uapi.EINVAL)
	case l.ops == nil:
		return fail(uapi.ENOLINK)
	case m.ops.typ != l.ops.ops.typ:
		return fail(uapi.EINVAL)
	}
	s.hold(m)
	s.unregisterOps(l.ops)
	s.put(l.ops)
	l.ops = m
	s.registerOps(m)
	return Result{}
}

// assocStructOps implements BPF_PROG_ASSOC_STRUCT_OPS (prog_assoc_struct_ops,
// bpf_prog_assoc_struct_ops): the kfuncs that a program calls act for the struct_ops of a map,
// which it keeps. Of those that are simulated, none acts differently for another struct_ops: there
// is one scheduler at a time.
func (s *System) assocStructOps(c Caller, a bpfattr.ProgAssocStructOps) Result {
	if a.Flags() != 0 {
		return fail(uapi.EINVAL)
	}
	p, _, e := fileOf[*Prog](c, a.ProgFd())
	switch {
	case e != 0:
		return fail(e)
	case p.typ == uapi.ProgTypeStructOps: // these belong to the map that they are stored in
		return fail(uapi.EINVAL)
	}
	m, _, e := fileOf[*Map](c, a.MapFd())
	switch {
	case e != 0:
		return fail(e)
	case m.ops == nil:
		return fail(uapi.EINVAL)
	case p.assoc == m:
		return Result{}
	case p.assoc != nil:
		return fail(uapi.EBUSY)
	}
	s.hold(m)
	p.assoc = m
	return Result{}
}
