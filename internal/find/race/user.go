package race

import (
	"bytes"
	"encoding/binary"

	"github.com/bpfrun/bpfrun/internal/find/race/order"
	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// UserOp is what a thread of user space does.
type UserOp uint8

// What threads of user space do.
const (
	Lookup UserOp = iota
	Update
	Delete
	Pop   // BPF_MAP_LOOKUP_AND_DELETE_ELEM
	Read  // of mapped memory
	Write // to it
	Consume
)

// UserStep is one call of a thread of user space, or one access of memory that is mapped there.
type UserStep struct {
	Op    UserOp
	Map   maps.Map
	Key   []byte
	Value []byte // as user space passes it; for Write the bytes
	Flags uint64
	// Off and Size are the bytes of the value that Read and Write access.
	Off, Size uint64
	// Text is the step in words: "lookup flows 7".
	Text string
}

// userNext finds out what a thread of user space accesses next. The kernel copies values word by
// word, without a lock.
func (s *system) userNext(i int) {
	p := &s.now[i]
	steps := s.actors[i].User
	if p.step == len(steps) {
		p.state, p.next = order.Done, access{touches: p.next.touches[:0]}
		return
	}
	u := &steps[p.step]
	p.state, p.next = order.Ready, access{touches: p.next.touches[:0]}
	a := &p.next
	a.table = u.Map
	at := func(addr, size uint64, write, atomic bool) {
		if addr != 0 && size > 0 {
			a.touches = append(a.touches, order.Touch{Addr: addr, Size: size, Write: write, Atomic: atomic})
		}
	}
	var value uint64
	if u.Op != Consume {
		value, _ = u.Map.Lookup(0, u.Key)
	}
	size, keyed := uint64(u.Map.Spec().ValueSize), isHash(u.Map.Spec().Type)
	switch u.Op {
	case Lookup:
		if a.kind = plainRead; keyed {
			a.kind = lookup
			at(cellOf(u.Map, u.Key), 1, false, true)
		}
		at(value, size, false, false)
	case Update:
		if a.kind = plainWrite; !keyed {
			at(value, size, true, false)
			break
		}
		a.kind = change
		if u.Flags == uapi.NoExist || u.Flags == uapi.Exist {
			a.kind = validated
		}
		at(cellOf(u.Map, u.Key), 1, true, true)
		at(cellOf(u.Map, nil), 1, true, true)
	case Delete, Pop:
		a.kind = change
		at(cellOf(u.Map, u.Key), 1, true, true)
		at(cellOf(u.Map, nil), 1, true, true)
		at(value, size, true, true)
		a.frees, a.freed = value, size
	case Read:
		a.kind = plainRead
		at(value+u.Off, u.Size, false, false)
	case Write:
		a.kind = plainWrite
		at(value+u.Off, u.Size, true, false)
	}
}

// userStep makes a step of a thread of user space and notes what it returned.
func (s *system) userStep(i int) {
	p := &s.now[i]
	u := &s.actors[i].User[p.step]
	var result []byte
	errno := uapi.Errno(0)
	switch u.Op {
	case Lookup:
		result, errno = s.userValue(u, 0, uint64(u.Map.Spec().ValueSize))
	case Update:
		errno = u.Map.Update(maps.AllCPUs, u.Key, u.Value, u.Flags)
	case Delete:
		errno = u.Map.Delete(u.Key)
	case Pop:
		result = make([]byte, maps.UserValueSize(u.Map))
		if d, ok := u.Map.(maps.LookupDeleter); ok {
			errno = d.LookupDelete(u.Key, result, 0)
		} else if q, ok := u.Map.(maps.Queue); ok {
			errno = q.Pop(result)
		} else {
			errno = uapi.EOPNOTSUPP
		}
	case Read:
		result, errno = s.userValue(u, u.Off, u.Size)
	case Write:
		if addr, e := u.Map.Lookup(0, u.Key); e != 0 {
			errno = e
		} else if s.memory.Write(addr+u.Off, u.Value) != nil {
			errno = uapi.EFAULT
		}
	case Consume:
		switch b := u.Map.(type) {
		case maps.RingBuffer:
			b.Consume()
		case maps.PerfArray:
			b.Consume()
		}
	}
	p.end.user = binary.LittleEndian.AppendUint32(bytes.Clone(p.end.user), uint32(errno))
	if errno == 0 {
		p.end.user = append(p.end.user, result...)
	}
	p.failed = errno != 0
	p.step++
	s.userNext(i)
}

// userValue copies bytes of a value.
func (s *system) userValue(u *UserStep, off, size uint64) ([]byte, uapi.Errno) {
	addr, errno := u.Map.Lookup(0, u.Key)
	if errno != 0 {
		return nil, errno
	}
	b := make([]byte, size)
	if s.memory.Read(addr+off, b) != nil {
		return nil, uapi.EFAULT
	}
	return b, 0
}
