package bpfsys

import (
	"slices"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// Map is a BPF map.
type Map struct {
	object
	def    *loader.Map
	m      maps.Map
	types  *BTF // describes key and value; may be nil
	frozen bool
	// innerTypes is the BTF of the template of inner maps; may be nil.
	innerTypes *BTF
	// mapped counts the writable mappings made since it was last found that none is left; views
	// counts mappings of any kind.
	mapped, views int
	batch         batchCursor
	copied        []byte // the contents when last synchronized with shared memory, to detect changes
	// slots holds the objects that elements refer to (perf events, programs and maps), by key.
	slots map[string]Object
	owner *progOwner // the kind of the programs in it, nil before the first
	ops   *structOps
	// storages are the storages of cgroups in a map of the older kind, and storageOrder is their
	// order of creation.
	storages     map[uint64]bool
	storageOrder []uint64
	arena        arenaView
	// held is the size of the largest buffer of a perf event that had no room for a record, in
	// bytes.
	held uint64
}

// Def returns the map's definition.
func (m *Map) Def() *loader.Map { return m.def }

// mapCreate creates a map (map_create). Limits of key, value and entries are those of its type,
// which checks them last.
func (s *System) mapCreate(c Caller, a bpfattr.MapCreate) Result {
	name, ok := validName(a.MapName())
	if !ok {
		return fail(uapi.EINVAL)
	}
	typ := a.MapType()
	flags := a.MapFlags()
	access, ok := accessOf(flags)
	if !ok {
		return fail(uapi.EINVAL)
	}
	if flags&uapi.MapNumaNode != 0 && a.NumaNode() > 0 && a.NumaNode() != ^uint32(0) {
		return fail(uapi.EINVAL)
	}
	if !s.target.HasMapType(typ) || typ == 0 {
		return fail(uapi.EINVAL)
	}
	if a.MapIfindex() != 0 { // hardware offload
		return Result{Errno: uapi.EINVAL, Note: "maps offloaded to a device (map_ifindex) are not simulated"}
	}
	if s.has(since.Tokens) {
		if _, e := s.tokenOf(c, flags&uapi.MapTokenFD != 0, a.MapTokenFd(), uapi.CmdMapCreate, func(d Delegation) bool { return bit(d.Maps, uint32(typ)) }, mapNeeds(typ)...); e != 0 {
			return fail(e)
		}
		flags &^= uapi.MapTokenFD
	}
	if localStorage(typ) && (a.BtfKeyTypeId() == 0 || a.BtfValueTypeId() == 0) { // bpf_local_storage_map_alloc_check
		return fail(uapi.EINVAL)
	}
	if r := exclusive(c, a); r.Errno != 0 {
		return r
	}
	if typ == uapi.MapTypePerfEventArray && a.MaxEntries() == 0 { // package maps uses the number of CPUs, as libbpf does
		return fail(uapi.EINVAL)
	}
	if s.full(KindMap) {
		return fail(uapi.ENOMEM)
	}
	def := &loader.Map{
		Name: name, Type: typ, KeySize: a.KeySize(), ValueSize: a.ValueSize(), MaxEntries: a.MaxEntries(), Flags: flags, NumaNode: a.NumaNode(), Extra: a.MapExtra(),
		Index: -1, Autocreate: true,
	}
	m := &Map{def: def, slots: map[string]Object{}}
	if e := s.mapTypes(c, a, m); e != 0 {
		return fail(e)
	}
	inner, e := s.innerTemplate(c, a, typ)
	if e != 0 {
		return fail(e)
	}
	var innerTypes *btf.Spec
	if inner != nil {
		if def.Inner, m.innerTypes = inner.def, inner.types; inner.types != nil {
			innerTypes = inner.types.spec
		}
	}
	if typ == uapi.MapTypeStructOps {
		if r := s.createOps(c, a, m); r.Errno != 0 {
			return r
		}
	}
	var spec *btf.Spec
	if m.types != nil {
		spec = m.types.spec
	}
	created, err := s.machine.AddMap(def, spec, innerTypes)
	if err != nil {
		return Result{Errno: envErrno(err), Note: noteOf(err)}
	}
	m.m = created
	// Info commands report the values that the kernel adjusted at creation.
	got := created.Spec()
	def.MaxEntries, def.Flags = got.MaxEntries, got.Flags
	m.id = created.ID()
	s.add(m, KindMap, name, func() { s.freeMap(m) })
	if m.types != nil {
		s.hold(m.types)
	}
	if e := s.connect(m); e != 0 {
		s.hold(m)
		s.put(m)
		return fail(e)
	}
	return s.newFile(m, access)
}

func localStorage(t uapi.MapType) bool {
	return t == uapi.MapTypeSkStorage || t == uapi.MapTypeInodeStorage || t == uapi.MapTypeTaskStorage || t == uapi.MapTypeCgrpStorage
}

// exclusive checks the hash of the only program that may use a map (map_create).
func exclusive(c Caller, a bpfattr.MapCreate) Result {
	const sha256 = 32
	switch {
	case a.ExclProgHash() == 0 && a.ExclProgHashSize() == 0:
		return Result{}
	case a.ExclProgHash() == 0 || a.ExclProgHashSize() != sha256:
		return fail(uapi.EINVAL)
	case !c.Read(a.ExclProgHash(), make([]byte, sha256)):
		return fail(uapi.EFAULT)
	}
	return Result{Errno: uapi.EOPNOTSUPP, Note: "maps for one program alone (excl_prog_hash) are not simulated"}
}

// noteOf returns the message of an error that is caused by the simulation and not by the kernel's
// rules.
func noteOf(err error) string {
	if _, ok := err.(*maps.CreateError); ok {
		return ""
	}
	return err.Error()
}

// mapTypes looks up the types of key and value (map_check_btf).
func (s *System) mapTypes(c Caller, a bpfattr.MapCreate, m *Map) uapi.Errno {
	fd, key, value := a.BtfFd(), btf.ID(a.BtfKeyTypeId()), btf.ID(a.BtfValueTypeId())
	// The values of a struct_ops map are the kernel's own struct.
	if a.BtfVmlinuxValueTypeId() != 0 {
		if m.def.Type != uapi.MapTypeStructOps || key != 0 || value != 0 {
			return uapi.EINVAL
		}
		return 0
	}
	if key != 0 && value == 0 {
		return uapi.EINVAL
	}
	if key == 0 && value == 0 {
		return 0
	}
	b, e := userTypes(c, fd)
	if e != 0 {
		return e
	}
	if key != 0 {
		if n, err := b.spec.Sizeof(key); err != nil || n != int64(m.def.KeySize) {
			return uapi.EINVAL
		}
	}
	if n, err := b.spec.Sizeof(value); err != nil || n != int64(m.def.ValueSize) {
		return uapi.EINVAL
	}
	m.types, m.def.KeyType, m.def.ValueType = b, key, value
	return 0
}

// innerTemplate returns the template of the inner maps of an array or hash of maps
// (bpf_map_meta_alloc).
func (s *System) innerTemplate(c Caller, a bpfattr.MapCreate, typ uapi.MapType) (*Map, uapi.Errno) {
	if typ != uapi.MapTypeArrayOfMaps && typ != uapi.MapTypeHashOfMaps {
		return nil, 0
	}
	inner, _, e := fileOf[*Map](c, a.InnerMapFd())
	if e != 0 {
		return nil, e
	}
	// Maps of maps of maps are not possible.
	if inner.def.Inner != nil {
		return nil, uapi.EINVAL
	}
	return inner, 0
}

// connect sets up the memory that ring buffers and mappable arrays share with user space.
func (s *System) connect(m *Map) uapi.Errno {
	switch t := m.m.(type) {
	case maps.RingBuffer:
		if e := s.share(m, 2*uapi.PageSize+2*int(m.def.MaxEntries)); e != 0 {
			return e
		}
		t.SetSink(&ringSink{s: s, m: m, mem: m.mem.Bytes(), size: uint64(m.def.MaxEntries)})
	case maps.UserRing:
		if e := s.share(m, 2*uapi.PageSize+2*int(m.def.MaxEntries)); e != 0 {
			return e
		}
		t.SetSource(&userSource{mem: m.mem.Bytes(), size: uint64(m.def.MaxEntries)})
	case maps.PerfArray:
		for i := range m.def.MaxEntries {
			_ = t.SetEvent(i, -1)
			if i > 4096 {
				break
			}
		}
		t.SetSink(&perfSink{s: s, m: m})
	}
	return 0
}

// freeMap releases a map after its last reference is dropped.
func (s *System) freeMap(m *Map) {
	s.losses = addLoss(s.losses, lossOf(m))
	for k := range m.slots {
		s.emptySlot(m, k)
	}
	s.machine.RemoveMap(m.def)
	s.dropArena(m)
	s.freeMapPrograms(m)
	if m.types != nil {
		s.put(m.types)
	}
	if m.ops != nil {
		s.freeOps(m)
	}
}

// emptySlot drops the reference that an element holds.
func (s *System) emptySlot(m *Map, key string) {
	if o := m.slots[key]; o != nil {
		delete(m.slots, key)
		s.put(o)
	}
}

func (s *System) fillSlot(m *Map, key []byte, o Object) {
	s.hold(o)
	s.emptySlot(m, string(key))
	m.slots[string(key)] = o
}

// mapFreeze ends changes by user space (map_freeze), for good.
func (s *System) mapFreeze(c Caller, a bpfattr.Elem) Result {
	m, f, e := fileOf[*Map](c, a.MapFd())
	if e != 0 {
		return fail(e)
	}
	access := s.has(since.FreezeAccess)
	switch {
	case m.def.Type == uapi.MapTypeStructOps, s.keepsThawed(m):
		return fail(uapi.ENOTSUPP)
	case access && (f.Access == ReadOnly || m.frozen): // a frozen map is read-only
		return fail(uapi.EPERM)
	case m.writable(), m.frozen:
		// A writable mapping would still change the contents.
		return fail(uapi.EBUSY)
	}
	s.pull(m)
	m.frozen = true
	if m.def.Flags&uapi.MapRdonlyProg != 0 && m.def.Type == uapi.MapTypeArray && m.def.MaxEntries == 1 {
		// The verifier treats the contents of such a map as constants.
		if v, e := maps.UserLookup(m.m, make([]byte, 4), nil, 0); e == 0 {
			m.def.Data, m.def.DataKind = v, loader.DataRodata
		}
	}
	return Result{}
}

// writable reports whether user space has the map's memory mapped for writing.
func (m *Map) writable() bool {
	if w, ok := m.mem.(interface{ Writable() bool }); ok && m.mapped > 0 && !w.Writable() {
		m.mapped = 0
	}
	return m.mapped > 0
}

// special returns the special fields of a map's values.
func (s *System) special(m *Map) []maps.Special {
	fields, err := maps.FieldSpecials(m.m.Spec(), s.target.Version)
	if err != nil {
		return nil
	}
	return fields
}

// keepsThawed reports whether the map's values contain a field that prevents freezing: before
// [since.FreezeRecord] a lock alone does not.
func (s *System) keepsThawed(m *Map) bool {
	return slices.ContainsFunc(s.special(m), func(f maps.Special) bool { return f.Kind.Owns() || s.has(since.FreezeRecord) })
}
