package bpfsys

import (
	"bytes"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/bpfattr"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

// elemOf returns a command's map after checking the access mode of its file.
func (s *System) elemOf(c Caller, fd int32, read, write bool) (*Map, uapi.Errno) {
	m, f, e := fileOf[*Map](c, fd)
	switch {
	case e != 0:
		return nil, e
	case read && f.Access == WriteOnly, write && (f.Access == ReadOnly || m.frozen):
		return nil, uapi.EPERM
	}
	s.closedSocketsOf(m)
	return m, 0
}

// key reads a key (___bpf_copy_key).
func (m *Map) key(c Caller, addr uint64) ([]byte, uapi.Errno) {
	if m.def.KeySize == 0 {
		if addr != 0 {
			return nil, uapi.EINVAL
		}
		return nil, 0
	}
	b := make([]byte, m.def.KeySize)
	if !c.Read(addr, b) {
		return nil, uapi.EFAULT
	}
	return b, 0
}

// maxValue limits the bytes of a value that is copied from or to user space, for all CPUs. Longer
// ones can be mapped (BPF_F_MMAPABLE).
const maxValue = 64 << 20

// valueOf returns room for a value of the map. It fails with ENOMEM beyond the limit, as a kernel
// does that has no memory for the copy.
func (s *System) valueOf(m *Map) ([]byte, uapi.Errno) {
	n := maps.UserValueSize(m.m)
	if n > maxValue {
		s.note("map %s has values of %d bytes: elements of more than %d MiB are not copied", m.name, n, maxValue>>20)
		return nil, uapi.ENOMEM
	}
	return make([]byte, n), 0
}

// byOwner reports whether this is a local storage map: callers name its elements by the kernel
// objects that own them.
func (m *Map) byOwner() bool {
	switch m.def.Type {
	case uapi.MapTypeSkStorage, uapi.MapTypeInodeStorage, uapi.MapTypeTaskStorage, uapi.MapTypeCgrpStorage:
		return true
	}
	return m.cgroupStorage()
}

// mapLookup copies an element's value to user space (map_lookup_elem).
func (s *System) mapLookup(c Caller, a bpfattr.Elem) Result {
	m, e := s.elemOf(c, a.MapFd(), true, false)
	if e != 0 {
		return fail(e)
	}
	if e = s.flagsOf(m, a.Flags(), uint64(uapi.Lock|uapi.CPU)); e != 0 {
		return fail(e)
	}
	key, e := m.key(c, a.Key())
	if e != 0 {
		return fail(e)
	}
	if m.byOwner() {
		if key, e = s.owner(c, m, key); e != 0 {
			return fail(e)
		}
	}
	value, e := s.valueOf(m)
	if e != 0 {
		return fail(e)
	}
	// A filter is asked for a value, as it has no keys.
	if m.def.Type == uapi.MapTypeBloomFilter && !c.Read(a.Value(), value) {
		return fail(uapi.EFAULT)
	}
	v, e := s.lookup(m, key, value, a.Flags()&uint64(uapi.Lock))
	if e != 0 {
		return fail(e)
	}
	if !c.Write(a.Value(), m.ofCPU(v, a.Flags())) {
		return fail(uapi.EFAULT)
	}
	return Result{}
}

// lookup returns a copy of an element's value, or the id of the object that it refers to.
func (s *System) lookup(m *Map, key, value []byte, flags uint64) ([]byte, uapi.Errno) {
	s.pull(m)
	if t := m.def.Type; t == uapi.MapTypeSockmap || t == uapi.MapTypeSockhash || t == uapi.MapTypeReuseportSockarray {
		return m.socketCookie(key)
	}
	if m.ops != nil { // bpf_struct_ops_map_sys_lookup_elem
		if le.Uint32(key) != 0 {
			return nil, uapi.ENOENT
		}
		return m.ops.userValue(m.def.ValueSize), 0
	}
	v, e := maps.UserLookup(m.m, key, value, flags)
	if e != 0 {
		return nil, e
	}
	if o := m.slots[string(key)]; o != nil {
		switch m.def.Type {
		case uapi.MapTypeProgArray, uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps:
			// A descriptor was stored, which means nothing to another process: an id is read back.
			v = le.AppendUint32(nil, o.ID())
		case uapi.MapTypeDevmap, uapi.MapTypeDevmapHash, uapi.MapTypeCpumap:
			if len(v) >= 8 {
				le.PutUint32(v[4:], o.ID())
			}
		}
	}
	return v, 0
}

// elemToChange returns the map and key of a command that changes an element; refused is the result
// of the command if the change is not permitted.
func (s *System) elemToChange(c Caller, a bpfattr.Elem) (m *Map, key []byte, refused *Result) {
	no := func(r Result) (*Map, []byte, *Result) { return nil, nil, &r }
	m, e := s.elemOf(c, a.MapFd(), false, true)
	if e != 0 {
		return no(fail(e))
	}
	if e := s.updateFlags(m, a.Flags()); e != 0 { // before anything of the caller is read
		return no(fail(e))
	}
	if key, e = m.key(c, a.Key()); e != 0 {
		return no(fail(e))
	}
	if m.byOwner() && !m.cgroupStorage() {
		if key, e = s.owner(c, m, key); e != 0 {
			return no(fail(e))
		}
	}
	return m, key, nil
}

// mapUpdate stores an element (map_update_elem).
func (s *System) mapUpdate(c Caller, a bpfattr.Elem) Result {
	m, key, refused := s.elemToChange(c, a)
	if refused != nil {
		return *refused
	}
	value, e := s.valueOf(m)
	if e != 0 {
		return fail(e)
	}
	if s.ofOneValue(m, a.Flags()) {
		value = value[:m.def.ValueSize]
	}
	if !c.Read(a.Value(), value) {
		return fail(uapi.EFAULT)
	}
	if m.cgroupStorage() { // cgroup_storage_update_elem
		allowed := uint64(uapi.Lock | uapi.Exist)
		if s.ofOneValue(m, a.Flags()) {
			allowed |= oneValue | (1<<32-1)<<32
		}
		if a.Flags()&^allowed != 0 {
			return fail(uapi.EINVAL)
		}
		if key, e = s.owner(c, m, key); e != 0 {
			return fail(e)
		}
	}
	return s.update(c, m, key, value, a.Flags())
}

// update stores an element as the map's type does it (bpf_map_update_value). Elements that refer to
// something are given as descriptors.
func (s *System) update(c Caller, m *Map, key, value []byte, flags uint64) Result {
	s.pull(m)
	if s.ofOneValue(m, flags) {
		var e uapi.Errno
		if value, e = s.forAllCPUs(m, key, value, flags); e != 0 {
			return fail(e)
		}
		flags = uint64(uint32(flags)) &^ oneValue
	}
	switch m.def.Type {
	case uapi.MapTypePerfEventArray, uapi.MapTypeProgArray, uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps:
		return fail(s.updateRef(c, m, key, value, flags))
	case uapi.MapTypeXskmap:
		return s.updateXsk(c, m, key, value, flags)
	case uapi.MapTypeDevmap, uapi.MapTypeDevmapHash, uapi.MapTypeCpumap:
		return fail(s.updateDev(c, m, key, value, flags))
	case uapi.MapTypeStructOps:
		return s.updateOps(c, m, key, value, flags)
	}
	var e uapi.Errno
	switch t := m.m.(type) {
	case maps.SockMap:
		e = s.updateSock(c, m, t, key, value, flags)
	case maps.LocalStorage:
		return s.updateStorage(c, m, t, key, value, flags)
	case maps.RefArray:
		if m.def.Type == uapi.MapTypeCgroupArray {
			e = s.updateCgroups(c, m, t, key, value, flags)
		} else {
			e = s.updateReuseport(c, m, t, key, value, flags)
		}
	default:
		e = maps.UserUpdate(m.m, key, value, flags)
		s.push(m)
	}
	return fail(e)
}

// updateRef stores the object that a descriptor refers to (bpf_fd_array_map_update_elem,
// bpf_fd_htab_map_update_elem).
func (s *System) updateRef(c Caller, m *Map, key, value []byte, flags uint64) uapi.Errno {
	fd := int32(le.Uint32(value))
	index := uint32(0)
	if len(key) == 4 {
		index = le.Uint32(key)
	}
	if m.def.Type != uapi.MapTypeHashOfMaps {
		switch {
		case flags != uapi.Any:
			return uapi.EINVAL
		case index >= m.def.MaxEntries:
			return uapi.E2BIG
		}
	}
	switch t := m.m.(type) {
	case maps.PerfArray:
		ev, _, e := fileOf[*PerfEvent](c, fd)
		if e != 0 { // also for a descriptor of something else (perf_event_get)
			return uapi.EBADF
		}
		if e := t.SetEvent(index, max(ev.cpu, 0)); e != 0 {
			return e
		}
		s.fillSlot(m, key, ev)
	case maps.ProgArray:
		p, _, e := fileOf[*Prog](c, fd)
		if e != 0 {
			return e
		}
		if s.has(since.ExtendInProgArray) { // prog_fd_array_get_ptr
			switch {
			case p.typ == uapi.ProgTypeExt:
				return uapi.EINVAL
			case s.isExtended(p):
				return uapi.EBUSY
			}
		}
		if !s.admits(m, p) {
			return uapi.EINVAL
		}
		if e := s.machine.SetProg(t, index, p.unique); e != nil {
			return uapi.EINVAL
		}
		s.fillSlot(m, key, p)
	case maps.OuterMap:
		in, _, e := fileOf[*Map](c, fd)
		if e != 0 {
			return e
		}
		if e := t.SetInner(key, in.m, flags); e != 0 {
			return e
		}
		s.fillSlot(m, key, in)
	}
	return 0
}

// updateXsk refuses to store an AF_XDP socket, as there are none, and what is no socket as the
// kernel does (xsk_map_update_elem).
func (s *System) updateXsk(c Caller, m *Map, key, value []byte, flags uint64) Result {
	switch f := c.File(int32(le.Uint32(value))); {
	case flags > uapi.Exist:
		return fail(uapi.EINVAL)
	case le.Uint32(key) >= m.def.MaxEntries:
		return fail(uapi.E2BIG)
	case f.Kind == NoFile:
		return fail(uapi.EBADF)
	case f.Kind != SocketFile:
		return fail(uapi.ENOTSOCK)
	}
	return Result{Errno: uapi.EOPNOTSUPP, Note: "elements of xskmap maps are AF_XDP sockets, which are not simulated (map " + m.name + ")"}
}

// updateDev stores an element of a device or CPU map, which may refer to a program.
func (s *System) updateDev(c Caller, m *Map, key, value []byte, flags uint64) uapi.Errno {
	var p *Prog
	if len(value) >= 8 {
		fd := int32(le.Uint32(value[4:]))
		if fd > 0 {
			q, _, e := fileOf[*Prog](c, fd)
			if e != 0 {
				return e
			}
			want := uapi.AttachXDPDevmap
			if m.def.Type == uapi.MapTypeCpumap {
				want = uapi.AttachXDPCpumap
			}
			// The program runs on packets that the map redirects, in another context than at a
			// device.
			if q.typ != uapi.ProgTypeXDP || q.expected != want || s.has(since.XDPFrags) && !s.admits(m, q) {
				return uapi.EINVAL
			}
			p = q
		}
		value = bytes.Clone(value)
		le.PutUint32(value[4:], 0)
	}
	if e := maps.UserUpdate(m.m, key, value, flags); e != 0 {
		return e
	}
	s.emptySlot(m, string(key))
	if p != nil {
		s.fillSlot(m, key, p)
	}
	return 0
}

// mapDelete deletes an element (map_delete_elem).
func (s *System) mapDelete(c Caller, a bpfattr.Elem) Result {
	m, key, refused := s.elemToChange(c, a)
	if refused != nil {
		return *refused
	}
	if m.cgroupStorage() { // cgroup_storage_delete_elem
		return fail(uapi.EINVAL)
	}
	return fail(s.delete(m, key))
}

func (s *System) delete(m *Map, key []byte) uapi.Errno {
	if m.ops != nil {
		return s.deleteOps(m)
	}
	s.pull(m)
	e := maps.UserDelete(m.m, key)
	if e == 0 {
		s.emptySlot(m, string(key))
	}
	return e
}

// mapNextKey returns the key after another one, and the first one for none or for one that is gone
// (map_get_next_key).
func (s *System) mapNextKey(c Caller, a bpfattr.Elem) Result {
	m, e := s.elemOf(c, a.MapFd(), true, false)
	if e != 0 {
		return fail(e)
	}
	var key []byte
	if a.Key() != 0 {
		if key, e = m.key(c, a.Key()); e != 0 {
			return fail(e)
		}
	}
	var next []byte
	switch {
	case m.cgroupStorage():
		next, e = m.nextStorage(key)
	case m.byOwner(): // notsupp_get_next_key
		e = uapi.ENOTSUPP
	default:
		next, e = m.m.NextKey(key)
	}
	if e != 0 {
		return fail(e)
	}
	if !c.Write(a.NextKey(), next) {
		return fail(uapi.EFAULT)
	}
	return Result{}
}

// mapLookupDelete reads and deletes an element at once (map_lookup_and_delete_elem).
func (s *System) mapLookupDelete(c Caller, a bpfattr.Elem) Result {
	m, e := s.elemOf(c, a.MapFd(), true, true)
	if e != 0 {
		return fail(e)
	}
	flags := a.Flags()
	if !s.has(since.LookupDeleteFlags) {
		flags = 0
	}
	if flags&^uint64(uapi.Lock) != 0 {
		return fail(uapi.EINVAL)
	}
	key, e := m.key(c, a.Key())
	if e != 0 {
		return fail(e)
	}
	v, e := maps.UserLookupDelete(m.m, key, flags)
	if e != 0 {
		return fail(e)
	}
	if !c.Write(a.Value(), v) {
		return fail(uapi.EFAULT)
	}
	return Result{}
}
