package maps

import (
	"slices"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// queue implements BPF_MAP_TYPE_QUEUE and STACK (kernel/bpf/queue_stack_maps.c). Elements are only
// copied in and out, so they are kept here and not in simulated memory.
type queue struct {
	base
	stack bool
	elems [][]byte // oldest first
}

const queueFlags = uapi.MapNumaNode | accessFlags

func newQueue(b base) (Map, error) {
	s := &b.spec
	switch {
	case s.MaxEntries == 0 || s.KeySize != 0 || s.ValueSize == 0:
		return nil, b.refuse(uapi.EINVAL, "a queue or stack needs key_size 0, a value_size and max_entries")
	case s.Flags&^uint32(queueFlags) != 0 || !accessOK(s.Flags):
		return nil, b.refuseFlags(queueFlags)
	case s.ValueSize > kmallocMax:
		return nil, b.refuse(uapi.E2BIG, "value_size is at most 4 MiB")
	}
	q := &queue{base: b, stack: s.Type == uapi.MapTypeStack}
	q.self = q
	return q, nil
}

// Push adds an element. In a full map, BPF_EXIST drops the oldest element, even of a stack.
func (q *queue) Push(value []byte, flags uint64) uapi.Errno {
	if flags&uapi.NoExist != 0 || flags > uapi.Exist || len(value) < int(q.spec.ValueSize) {
		return uapi.EINVAL
	}
	if len(q.elems) >= int(q.spec.MaxEntries) {
		if flags&uapi.Exist == 0 {
			return uapi.E2BIG
		}
		q.elems = q.elems[1:]
		q.env.unhost(int(q.spec.ValueSize))
	}
	if e := q.env.host(&q.base, int(q.spec.ValueSize)); e != OK {
		return e
	}
	q.elems = append(q.elems, slices.Clone(value[:q.spec.ValueSize]))
	return OK
}

func (q *queue) get(value []byte, remove bool) uapi.Errno {
	value = value[:min(len(value), int(q.spec.ValueSize))]
	if len(q.elems) == 0 {
		clear(value)
		return uapi.ENOENT
	}
	if remove {
		q.env.unhost(int(q.spec.ValueSize))
	}
	if i := len(q.elems) - 1; q.stack {
		copy(value, q.elems[i])
		if remove {
			q.elems = q.elems[:i]
		}
		return OK
	}
	copy(value, q.elems[0])
	if remove {
		q.elems = q.elems[1:]
	}
	return OK
}

func (q *queue) Pop(value []byte) uapi.Errno  { return q.get(value, true) }
func (q *queue) Peek(value []byte) uapi.Errno { return q.get(value, false) }

func (q *queue) Lookup(int, []byte) (uint64, uapi.Errno) { return 0, uapi.ENOENT }

// Entries returns the elements in pop order.
func (q *queue) Entries() []Entry {
	var out []Entry
	for _, e := range q.elems {
		out = append(out, Entry{Value: slices.Clone(e)})
	}
	if q.stack {
		slices.Reverse(out)
	}
	return out
}

// Snapshot shares the elements, which never change.
func (q *queue) Snapshot() any { return slices.Clone(q.elems) }
func (q *queue) Restore(v any) { q.elems = append(q.elems[:0], v.([][]byte)...) }
