package bpfsys

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// userSource reads the samples that user space writes to the mapping of a user ring buffer
// (kernel/bpf/ringbuf.c). User space may write anything at any time: each word is read once, and
// the position up to which samples were consumed is kept here.
type userSource struct {
	mem      []byte
	size     uint64
	consumed uint64
	room     uint64 // of the sample that was peeked
}

// maxSkipped limits the discarded samples that one call skips (BPF_MAX_USER_RINGBUF_SAMPLES).
const maxSkipped = 128 * 1024

// maxDynptr is DYNPTR_MAX_SIZE.
const maxDynptr = 1<<24 - 1

// Peek implements [maps.UserSource] (__bpf_user_ringbuf_peek).
func (u *userSource) Peek() ([]byte, uapi.Errno) {
	for range maxSkipped {
		fence.Add(1)
		produced := le.Uint64(u.mem[uapi.PageSize:])
		switch {
		case produced%8 != 0:
			return nil, uapi.EINVAL
		case u.consumed >= produced:
			return nil, uapi.ENODATA
		}
		data := u.mem[ringData:]
		header := le.Uint32(data[u.consumed&(u.size-1):])
		size := uint64(header &^ (ringBusy | ringDiscard))
		room := (size + ringHeader + 7) &^ 7
		switch {
		case room > produced-u.consumed:
			return nil, uapi.EINVAL
		case room > u.size, size > maxDynptr:
			return nil, uapi.E2BIG
		case header&ringDiscard != 0:
			u.advance(room)
			continue
		case header&ringBusy != 0:
			return nil, uapi.ENODATA
		}
		u.room = room
		at := (u.consumed + ringHeader) & (u.size - 1)
		return slices.Clone(data[at : at+size]), 0 // a sample may go on in the second copy of the data
	}
	return nil, uapi.ENODATA
}

func (u *userSource) advance(n uint64) {
	u.consumed += n
	fence.Add(1)
	le.PutUint64(u.mem, u.consumed)
}

// Release implements [maps.UserSource].
func (u *userSource) Release() {
	u.advance(u.room)
	u.room = 0
}
