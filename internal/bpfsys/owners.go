package bpfsys

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	kobject "github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// User space names tasks, sockets, inodes and cgroups by its descriptors. Each gets an object of
// the simulated kernel on first use, which stays the same for as long as the system runs.

// maxOwners limits the simulated objects of one kind that stand for files of the host.
const maxOwners = 1 << 16

// fileID identifies a file of the host.
type fileID struct {
	kind     FileKind
	dev, ino uint64
}

// standing returns the simulated object for a file, created by make.
func (s *System) standing(id fileID, create func() (*kobject.Object, error)) (*kobject.Object, uapi.Errno) {
	if o := s.stand[id]; o != nil {
		return o, 0
	}
	if len(s.stand) >= maxOwners {
		return nil, uapi.ENOMEM
	}
	o, err := create()
	if err != nil || o == nil {
		s.note("the simulated kernel has no object for a file of the host: %v", err)
		return nil, uapi.ENOMEM
	}
	if s.stand == nil {
		s.stand = map[fileID]*kobject.Object{}
	}
	s.stand[id] = o
	return o, 0
}

// socketFor returns the simulated socket that stands for one of the host (sockfd_lookup).
func (s *System) socketFor(c Caller, fd int32) (*net.Socket, *SocketInfo, uapi.Errno) {
	f := c.File(fd)
	switch {
	case f.Kind == NoFile:
		return nil, nil, uapi.EBADF
	case f.Kind != SocketFile || f.Socket == nil:
		return nil, nil, uapi.ENOTSOCK
	}
	k := s.machine.Kernel()
	o, e := s.standing(fileID{SocketFile, 0, f.Inode}, func() (*kobject.Object, error) {
		o, err := k.NewSock(fmt.Sprintf("socket %d", f.Inode), f.Socket.spec())
		if err == nil {
			_ = o.Set("__sk_common.skc_cookie.counter", f.Socket.Cookie)
		}
		return o, err
	})
	if e != 0 {
		return nil, nil, e
	}
	if s.mapSockets == nil {
		s.mapSockets = map[uint64]bool{}
	}
	s.mapSockets[f.Inode] = true
	_ = o.Set("__sk_common.skc_state", f.Socket.State) // it may have connected since
	sk, err := k.SocketOf(o)
	if err != nil {
		return nil, nil, uapi.EINVAL
	}
	return sk, f.Socket, 0
}

// spec describes the socket that stands for one of the host.
func (i *SocketInfo) spec() net.SockSpec {
	return net.SockSpec{
		Family: i.Family, Protocol: i.Protocol, Type: i.Type, State: i.State,
		Source: i.Local.Addr().AsSlice(), Dest: i.Remote.Addr().AsSlice(), SourcePort: i.Local.Port(), DestPort: i.Remote.Port(),
	}
}

// HostSocket is a socket of the host that an event is about.
type HostSocket struct {
	Inode uint64
	Info  SocketInfo
}

// maxHostSockets limits the sockets of events that are kept: a new one takes the place of the
// oldest, whose events are over.
const maxHostSockets = 1024

// hostSocket returns the simulated socket that stands for the one of an event. Tools that have named
// it by its descriptor find the same one.
func (s *System) hostSocket(h HostSocket) (*kobject.Object, error) {
	if o := s.stand[fileID{SocketFile, 0, h.Inode}]; o != nil {
		return o, s.machine.Kernel().SetSock(o, h.Info.spec())
	}
	kind := [2]uint16{h.Info.Family, h.Info.Protocol} // which decide the type of the object
	l := s.eventSockets[kind]
	if l == nil {
		l = &socketRing{at: map[uint64]int{}}
		if s.eventSockets == nil {
			s.eventSockets = map[[2]uint16]*socketRing{}
		}
		s.eventSockets[kind] = l
	}
	i, known := l.at[h.Inode]
	switch {
	case known:
	case len(l.list) < maxHostSockets:
		o, err := s.machine.Kernel().NewSock(fmt.Sprintf("event socket %d.%d.%d", h.Info.Family, h.Info.Protocol, len(l.list)), h.Info.spec())
		if err != nil {
			return nil, err
		}
		i, l.list = len(l.list), append(l.list, ringSocket{h.Inode, o})
	default:
		i, l.next = l.next, (l.next+1)%maxHostSockets
		delete(l.at, l.list[i].inode)
		l.list[i].inode = h.Inode
	}
	l.at[h.Inode] = i
	o := l.list[i].object
	if err := s.machine.Kernel().SetSock(o, h.Info.spec()); err != nil {
		return nil, err
	}
	return o, o.Set("__sk_common.skc_cookie.counter", h.Info.Cookie)
}

// socketRing are the sockets of events of one type.
type socketRing struct {
	list []ringSocket
	at   map[uint64]int // by inode
	next int            // the oldest one, when the list is full
}

type ringSocket struct {
	inode  uint64
	object *kobject.Object
}

// cgroupFor returns the simulated cgroup that stands for one of the host.
func (s *System) cgroupFor(f File) (*kobject.Object, uapi.Errno) {
	k := s.machine.Kernel()
	return s.standing(fileID{CgroupFile, 0, f.Inode}, func() (*kobject.Object, error) {
		if o := k.CgroupByID(f.Inode); o != nil {
			return o, nil
		}
		path := f.Path
		if path == "" || path == "/" {
			path = fmt.Sprintf("/cgroup-%d", f.Inode)
		}
		return k.NewCgroup("cgroup "+path, path, f.Inode)
	})
}

// taskFor returns the simulated task of a process of the host, which events with its pid share.
func (s *System) taskFor(pid, tgid uint32) (*kobject.Object, uapi.Errno) {
	t, err := s.task(map[string]any{"pid": pid, "tgid": tgid})
	if err != nil {
		return nil, uapi.ENOMEM
	}
	return t, 0
}

// owner returns the key of a local storage map's element as package maps knows it: the object whose
// descriptor or id is the caller's key (bpf_pid_task_storage_lookup_elem,
// bpf_fd_inode_storage_lookup_elem, bpf_fd_sk_storage_lookup_elem, bpf_cgrp_storage_lookup_elem).
func (s *System) owner(c Caller, m *Map, key []byte) ([]byte, uapi.Errno) {
	if m.cgroupStorage() {
		id := storageOf(m, key)
		if !m.storages[id] {
			return nil, uapi.ENOENT
		}
		return le.AppendUint64(nil, id), 0
	}
	fd := int32(le.Uint32(key))
	var o *kobject.Object
	var e uapi.Errno
	switch m.def.Type {
	case uapi.MapTypeTaskStorage:
		f := c.File(fd)
		if f.Kind != PidFile {
			return nil, uapi.EBADF
		}
		if !c.HasProcess(f.PID) {
			return nil, uapi.ENOENT
		}
		o, e = s.taskFor(f.PID, f.TGID)
	case uapi.MapTypeCgrpStorage:
		f := c.File(fd)
		if f.Kind != CgroupFile {
			return nil, uapi.EBADF
		}
		o, e = s.cgroupFor(f)
	case uapi.MapTypeInodeStorage:
		f := c.File(fd)
		if f.Kind == NoFile {
			return nil, uapi.EBADF
		}
		o, e = s.standing(fileID{OtherFile, f.Dev, f.Inode}, func() (*kobject.Object, error) {
			in, err := s.machine.Kernel().NewDefault(fmt.Sprintf("inode %d:%d", f.Dev, f.Inode), "inode")
			if err == nil {
				err = in.Set("i_ino", f.Inode)
			}
			return in, err
		})
	case uapi.MapTypeSkStorage:
		sk, _, e := s.socketFor(c, fd)
		if e != 0 {
			return nil, e
		}
		return le.AppendUint64(nil, sk.Key()), 0
	}
	if e != 0 {
		return nil, e
	}
	return le.AppendUint64(nil, o.Addr()), 0
}

// cgroupStorage reports whether this is the older kind of cgroup storage, whose keys are ids of
// cgroups.
func (m *Map) cgroupStorage() bool {
	return m.def.Type == uapi.MapTypeCgroupStorage || m.def.Type == uapi.MapTypePercpuCgroupStorage
}

// cgroupBits are the bits of a storage's number that hold the cgroup's id; the rest holds the
// attach type.
const cgroupBits = 56

// storageOf returns the number of the storage that a key names: struct bpf_cgroup_storage_key, or
// only the cgroup's id if programs of all attach types share the storage (attach_type_isolated).
func storageOf(m *Map, key []byte) uint64 {
	id := le.Uint64(key) & (1<<cgroupBits - 1)
	if m.def.KeySize == 16 {
		id |= uint64(le.Uint32(key[8:])) << cgroupBits
	}
	return id
}

// storageAt returns the number of the storage that a program attached to a cgroup uses.
func storageAt(m *Map, p place) uint64 {
	id := p.id & (1<<cgroupBits - 1)
	if m.def.KeySize == 16 {
		id |= uint64(p.at) << cgroupBits
	}
	return id
}

// keyOfStorage is the inverse of [storageOf].
func keyOfStorage(m *Map, id uint64) []byte {
	key := make([]byte, m.def.KeySize)
	le.PutUint64(key, id&(1<<cgroupBits-1))
	if m.def.KeySize == 16 {
		le.PutUint32(key[8:], uint32(id>>cgroupBits))
	}
	return key
}

// addStorage creates the cgroup storage of a program when it is attached
// (bpf_cgroup_storages_alloc). It stays until the map is freed.
func (s *System) addStorage(p *Prog, at place) {
	if p == nil || at.kind != onCgroup {
		return
	}
	for _, m := range p.maps {
		st, ok := m.m.(maps.LocalStorage)
		if !ok || !m.cgroupStorage() {
			continue
		}
		id := storageAt(m, at)
		if _, e := st.Get(id, nil, true); e == 0 && !m.storages[id] {
			if m.storages == nil {
				m.storages = map[uint64]bool{}
			}
			m.storages[id] = true
			m.storageOrder = append(m.storageOrder, id)
		}
	}
}

// storageFor returns the number of the storage that a program uses when it runs for an attachment,
// 0 without one.
func storageFor(p *Prog, at place) uint64 {
	if at.kind == onCgroup {
		for _, m := range p.maps {
			if m.cgroupStorage() {
				return storageAt(m, at)
			}
		}
	}
	return 0
}

// nextStorage returns the key after key in the order of attachment (cgroup_storage_get_next_key).
func (m *Map) nextStorage(key []byte) ([]byte, uapi.Errno) {
	i := 0
	if key != nil {
		id := storageOf(m, key)
		for i = range m.storageOrder {
			if m.storageOrder[i] == id {
				break
			}
		}
		i++
	}
	if i >= len(m.storageOrder) || key != nil && !m.storages[storageOf(m, key)] {
		return nil, uapi.ENOENT
	}
	return keyOfStorage(m, m.storageOrder[i]), 0
}

// States of TCP sockets (include/net/tcp_states.h).
const (
	tcpEstablished = 1
	tcpListen      = 10
)

// Numbers of socket types and protocols.
const (
	sockStream, sockDgram, sockSeqpacket = 1, 2, 5
	afUnix, afInet, afInet6, afVsock     = 1, 2, 10, 40
	protoTCP, protoUDP                   = 6, 17
)

// socketFD reads the descriptor in the value of a socket map or reuseport array.
func socketFD(value []byte) (int32, uapi.Errno) {
	fd := uint64(le.Uint32(value))
	if len(value) >= 8 {
		fd = le.Uint64(value)
	}
	if fd > 1<<31-1 {
		return 0, uapi.EINVAL
	}
	return int32(fd), 0
}

// updateSock stores a socket (sock_map_update_elem_sys).
func (s *System) updateSock(c Caller, m *Map, t maps.SockMap, key, value []byte, flags uint64) uapi.Errno {
	fd, e := socketFD(value)
	if e != 0 {
		return e
	}
	sk, info, e := s.socketFor(c, fd)
	switch {
	case e != 0:
		return e
	case !info.inMaps():
		return uapi.EOPNOTSUPP
	}
	return t.SetSock(key, sk, flags)
}

// inMaps reports whether a socket may be in a socket map (sock_map_sk_is_suitable,
// sock_map_sk_state_allowed).
func (i *SocketInfo) inMaps() bool {
	inet := i.Family == afInet || i.Family == afInet6
	switch {
	case inet && i.Protocol == protoTCP && i.Type == sockStream:
		return i.State == tcpEstablished || i.State == tcpListen
	case inet && i.Protocol == protoUDP && i.Type == sockDgram:
		return i.Bound
	case i.Family == afUnix && i.Type == sockStream, i.Family == afVsock && (i.Type == sockStream || i.Type == sockSeqpacket):
		return i.State == tcpEstablished
	case i.Family == afUnix, i.Family == afVsock:
		return true
	}
	return false
}

// updateReuseport stores a socket of a reuseport group (bpf_fd_reuseport_array_update_elem,
// reuseport_array_update_check).
func (s *System) updateReuseport(c Caller, m *Map, t maps.RefArray, key, value []byte, flags uint64) uapi.Errno {
	index := le.Uint32(key)
	switch {
	case flags > uapi.Exist:
		return uapi.EINVAL
	case index >= m.def.MaxEntries:
		return uapi.E2BIG
	}
	fd, e := socketFD(value)
	if e != 0 {
		return e
	}
	sk, info, e := s.socketFor(c, fd)
	if e != 0 {
		return e
	}
	_, taken := t.Ref(index)
	switch {
	case taken && flags == uapi.NoExist:
		return uapi.EEXIST
	case !taken && flags == uapi.Exist:
		return uapi.ENOENT
	case info.Protocol != protoUDP && info.Protocol != protoTCP, info.Family != afInet && info.Family != afInet6, info.Type != sockStream && info.Type != sockDgram:
		return uapi.ENOTSUPP
	case !info.Bound || !info.Reuseport || info.Protocol == protoTCP && info.State != tcpListen:
		return uapi.EINVAL
	}
	for _, x := range t.Entries() {
		if x.Ref == any(sk) { // sk_user_data is in use
			return uapi.EBUSY
		}
	}
	return t.SetRef(index, sk)
}

// updateCgroups stores a cgroup (cgroup_fd_array_get_ptr).
func (s *System) updateCgroups(c Caller, m *Map, t maps.RefArray, key, value []byte, flags uint64) uapi.Errno {
	index := le.Uint32(key)
	switch {
	case flags != uapi.Any:
		return uapi.EINVAL
	case index >= m.def.MaxEntries:
		return uapi.E2BIG
	}
	id, e := cgroupOf(c, int32(le.Uint32(value)))
	if e != 0 {
		return e
	}
	return t.SetRef(index, id)
}

// socketCookie returns what a lookup of a socket by user space returns: its cookie
// (sock_map_lookup_sys, bpf_fd_reuseport_array_lookup_elem).
func (m *Map) socketCookie(key []byte) ([]byte, uapi.Errno) {
	if m.def.ValueSize != 8 {
		return nil, uapi.ENOSPC
	}
	var ref any
	switch t := m.m.(type) {
	case maps.SockMap:
		ref, _ = t.Sock(key)
	case maps.RefArray:
		ref, _ = t.Ref(le.Uint32(key))
	}
	if sk, ok := ref.(*net.Socket); ok {
		return le.AppendUint64(nil, sk.Cookie()), 0
	}
	return nil, uapi.ENOENT
}
