package maps

import (
	"maps"
	"slices"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// refArray is a map of objects that file descriptors refer to: programs, cgroups, sockets. Here
// they are Go values; nil is an empty slot.
type refArray struct {
	base
	slots []any
	links []uint64               // see Links
	xsk   map[uint32]*mem.Region // struct bpf_xdp_sock of the sockets of an xskmap
	// state numbers the contents: equal numbers are equal contents. made is the last number given.
	state, made uint64
}

const (
	xskFlags       = uapi.MapNumaNode | uapi.MapRdonly | uapi.MapWronly
	reuseportFlags = uapi.MapNumaNode | accessFlags
	// refLimit is the maximum number of slots of such a map in this simulation.
	refLimit = 1 << 24
	// slotBytes is the size of a slot in bytes.
	slotBytes = 16
)

func newRefArray(b base) (Map, error) {
	s := &b.spec
	var err *CreateError
	switch s.Type {
	case uapi.MapTypeXskmap:
		switch {
		case s.MaxEntries == 0 || s.KeySize != 4 || s.ValueSize != 4:
			err = b.refuse(uapi.EINVAL, "an xskmap needs key_size 4, value_size 4 and max_entries")
		case s.Flags&^uint32(xskFlags) != 0:
			err = b.refuseFlags(xskFlags)
		}
	case uapi.MapTypeReuseportSockarray:
		if s.ValueSize != 4 && s.ValueSize != 8 {
			err = b.refuse(uapi.EINVAL, "value_size must be 4 or 8")
		} else {
			err = b.checkArray(false)
		}
	default:
		err = b.checkFDArray()
	}
	if err != nil {
		return nil, err
	}
	if s.MaxEntries > refLimit {
		return nil, &LimitError{Map: s.Name, Need: uint64(s.MaxEntries) * 8, Limit: refLimit * 8}
	}
	if err := b.reserve(uint64(s.MaxEntries) * slotBytes); err != nil {
		return nil, err
	}
	a := &refArray{base: b, slots: make([]any, s.MaxEntries)}
	a.self = a
	if s.Type == uapi.MapTypeProgArray {
		p := &progArray{a}
		a.self = p
		return p, nil
	}
	return a, nil
}

// put stores a value.
func (a *refArray) put(index uint32, v any) {
	a.slots[index] = v
	a.made++
	a.state = a.made
	if a.links != nil {
		a.links[index] = 0
	}
}

// progArray is BPF_MAP_TYPE_PROG_ARRAY.
type progArray struct{ *refArray }

// maxLinks is the number of slots up to which a program array has links.
const maxLinks = 1 << 12

// Links implements [ProgArray].
func (p *progArray) Links() []uint64 {
	if p.links == nil && len(p.slots) <= maxLinks {
		p.links = make([]uint64, len(p.slots))
	}
	return p.links
}

func (p *progArray) Prog(index uint32) (any, bool)             { return p.Ref(index) }
func (p *progArray) SetProg(index uint32, prog any) uapi.Errno { return p.SetRef(index, prog) }

// checkFDArray mirrors fd_array_map_alloc_check.
func (b *base) checkFDArray() *CreateError {
	switch {
	case b.spec.ValueSize != 4:
		return b.refuse(uapi.EINVAL, "value_size must be 4: elements are file descriptors")
	case b.spec.Flags&(uapi.MapRdonlyProg|uapi.MapWronlyProg) != 0:
		return b.refuse(uapi.EINVAL, "BPF_F_RDONLY_PROG and BPF_F_WRONLY_PROG are not supported")
	}
	return b.checkArray(false)
}

func (a *refArray) index(key []byte) (uint32, bool) {
	if len(key) < 4 {
		return 0, false
	}
	i := a.env.u32(key)
	return i, uint64(i) < uint64(len(a.slots))
}

// Lookup returns the struct bpf_xdp_sock of an xskmap's socket. For the other types the verifier
// allows no lookups, except for sock arrays, whose elements are sockets in the kernel and not here.
func (a *refArray) Lookup(_ int, key []byte) (uint64, uapi.Errno) {
	if a.spec.Type != uapi.MapTypeXskmap {
		return 0, uapi.EOPNOTSUPP
	}
	i, ok := a.index(key)
	if !ok || a.slots[i] == nil || a.xsk[i] == nil {
		return 0, uapi.ENOENT
	}
	return a.xsk[i].Base, OK
}

// SetSocket puts an AF_XDP socket of a queue into an xskmap, as user space does.
func (a *refArray) SetSocket(index, queue uint32) uapi.Errno {
	if e := a.SetRef(index, queue); e != OK {
		return e
	}
	r, err := a.env.Mem.Alloc(4, mem.Region{Kind: mem.Context, Name: "bpf_xdp_sock", ReadOnly: true, Owner: a.self})
	if err != nil {
		return uapi.ENOMEM
	}
	a.env.Mem.ByteOrder().PutUint32(a.env.Mem.Bytes(r), queue)
	if a.xsk == nil {
		a.xsk = map[uint32]*mem.Region{}
	}
	a.env.Mem.Free(a.xsk[index])
	a.xsk[index] = r
	return OK
}

// regions returns the structs of sockets.
func (a *refArray) regions() []*mem.Region { return slices.Collect(maps.Values(a.xsk)) }

// Update needs a file descriptor and is refused; see SetRef.
func (a *refArray) Update(_ int, key, _ []byte, flags uint64) uapi.Errno {
	if e := a.check(key, flags); e != OK {
		return e
	}
	return uapi.EBADF
}

func (a *refArray) check(key []byte, flags uint64) uapi.Errno {
	_, ok := a.index(key)
	switch {
	case flags > uapi.Exist, flags != uapi.Any && a.isFD():
		return uapi.EINVAL
	case !ok:
		return uapi.E2BIG
	}
	return OK
}

func (a *refArray) isFD() bool {
	return a.spec.Type == uapi.MapTypeProgArray || a.spec.Type == uapi.MapTypeCgroupArray
}

func (a *refArray) Delete(key []byte) uapi.Errno {
	i, ok := a.index(key)
	switch {
	case !ok && a.spec.Type == uapi.MapTypeXskmap:
		return uapi.EINVAL // xsk_map_delete_elem
	case !ok:
		return uapi.E2BIG // __fd_array_map_delete_elem
	case a.slots[i] == nil && a.spec.Type != uapi.MapTypeXskmap:
		return uapi.ENOENT
	}
	a.put(i, nil)
	return OK
}

func (a *refArray) NextKey(key []byte) ([]byte, uapi.Errno) {
	return nextIndex(a.env, key, a.spec.MaxEntries)
}

// Ref returns what is in a slot.
func (a *refArray) Ref(index uint32) (any, bool) {
	if uint64(index) >= uint64(len(a.slots)) || a.slots[index] == nil {
		return nil, false
	}
	return a.slots[index], true
}

// SetRef stores v as user space does: E2BIG if out of range; nil deletes.
func (a *refArray) SetRef(index uint32, v any) uapi.Errno {
	if uint64(index) >= uint64(len(a.slots)) {
		return uapi.E2BIG
	}
	a.put(index, v)
	return OK
}

// Entries returns elements with a Ref and no Value.
func (a *refArray) Entries() []Entry {
	var out []Entry
	for i, v := range a.slots {
		if v != nil {
			out = append(out, Entry{Key: a.env.key32(uint32(i)), Ref: v})
		}
	}
	return out
}

// refState is the contents of a refArray.
type refState struct {
	slots []any
	state uint64
}

func (a *refArray) Snapshot() any { return refState{slices.Clone(a.slots), a.state} }
func (a *refArray) Restore(v any) {
	if was := v.(refState); a.state != was.state {
		copy(a.slots, was.slots)
		a.state = was.state
		clear(a.links)
	}
}

// key32 encodes an index as a key.
func (e *Env) key32(i uint32) []byte {
	k := make([]byte, 4)
	e.Mem.ByteOrder().PutUint32(k, i)
	return k
}
