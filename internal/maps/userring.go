package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// userRing implements BPF_MAP_TYPE_USER_RINGBUF: user space produces samples, programs drain them.
type userRing struct {
	base
	used    uint64 // bytes of the ring in use
	samples [][]byte
	taken   uint64 // address of the sample being read, 0 if none
	takenN  uint64
	source  UserSource
}

func newUserRing(b base) (Map, error) {
	if err := b.checkRing(ringFlags); err != nil {
		return nil, err
	}
	u := &userRing{base: b}
	u.self = u
	return u, nil
}

func sampleRoom(n int) uint64 { return (uint64(n) + uapi.RingbufHdrSize + 7) &^ 7 }

func (u *userRing) Push(sample []byte) uapi.Errno {
	n := sampleRoom(len(sample))
	switch {
	case n > uint64(u.spec.MaxEntries):
		return uapi.E2BIG // libbpf user_ring_buffer__reserve
	case u.used+n > uint64(u.spec.MaxEntries):
		return uapi.ENOSPC
	}
	u.used += n
	u.samples = append(u.samples, slices.Clone(sample))
	return OK
}

func (u *userRing) Next() (uint64, uint32, uapi.Errno) {
	switch {
	case u.taken != 0:
		return 0, 0, uapi.EBUSY
	case u.source == nil && len(u.samples) == 0:
		return 0, 0, uapi.ENODATA
	}
	var s []byte
	if u.source != nil {
		var e uapi.Errno
		if s, e = u.source.Peek(); e != 0 {
			return 0, 0, e
		}
	} else {
		s = u.samples[0]
	}
	// The kernel passes a read-only dynptr (bpf_user_ringbuf_drain).
	reg, err := u.env.Mem.Alloc(uint64(max(len(s), 1)), mem.Region{Kind: mem.RingbufRecord, Name: u.spec.Name, Owner: u, ReadOnly: true})
	if err != nil {
		return 0, 0, u.env.fail(err)
	}
	copy(u.env.Mem.Bytes(reg), s)
	if u.source == nil {
		u.samples = u.samples[1:]
	}
	u.taken, u.takenN = reg.Base, sampleRoom(len(s))
	return reg.Base, uint32(len(s)), OK
}

// regions returns the region of the sample being read.
func (u *userRing) regions() []*mem.Region {
	if u.taken == 0 {
		return nil
	}
	return []*mem.Region{u.env.Mem.Find(u.taken)}
}

func (u *userRing) Release(addr uint64) {
	if addr == 0 || addr != u.taken {
		return
	}
	u.env.Mem.Free(u.env.Mem.Find(addr))
	if u.source != nil {
		u.source.Release()
	} else {
		u.used -= u.takenN
	}
	u.taken, u.takenN = 0, 0
}

func (u *userRing) Pending() int { return len(u.samples) }

// Entries returns the samples not taken yet, oldest first.
func (u *userRing) Entries() []Entry {
	var out []Entry
	for _, s := range u.samples {
		out = append(out, Entry{Value: slices.Clone(s)})
	}
	return out
}

func (u *userRing) Lookup(int, []byte) (uint64, uapi.Errno)       { return 0, uapi.ENOTSUPP }
func (u *userRing) Update(int, []byte, []byte, uint64) uapi.Errno { return uapi.ENOTSUPP }
func (u *userRing) Delete([]byte) uapi.Errno                      { return uapi.ENOTSUPP }
func (u *userRing) NextKey([]byte) ([]byte, uapi.Errno)           { return nil, uapi.ENOTSUPP }

type userRingState struct {
	used, taken, takenN uint64
	samples             [][]byte
}

func (u *userRing) Snapshot() any {
	return &userRingState{u.used, u.taken, u.takenN, slices.Clone(u.samples)}
}

func (u *userRing) Restore(v any) {
	s := v.(*userRingState)
	u.used, u.taken, u.takenN, u.samples = s.used, s.taken, s.takenN, append(u.samples[:0], s.samples...)
}
