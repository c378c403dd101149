package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// batched is a hash table whose caller's reads and writes are counted.
type batched struct {
	*task
	reads int
}

func (b *batched) Read(addr uint64, p []byte) bool {
	b.reads++
	return b.task.Read(addr, p)
}

// TestBatchesAreReadTogether: many keys and values come with one read; where they end before the
// caller's memory does not, elements up to there are stored.
func TestBatchesAreReadTogether(t *testing.T) {
	const n = 1000
	b := &batched{task: newTask(t)}
	fd, e := b.createMap(uapi.MapTypeHash, 4, 8, 2*n, 0)
	require.Zero(t, e)
	update := func(keys, values uint64, count int) (uint32, uapi.Errno) {
		at := b.put(union(field{16, keys}, field{24, values}, field{32, count}, field{36, int(fd)}, field{48, uint64(0)}))
		r := b.s.Call(b, updateBatch, at, 56, 0, 0)
		return le.Uint32(b.at(at+32, 4)), r.Errno
	}
	numbers := make([]byte, 0, 4*n)
	for i := range uint32(n) {
		numbers = le.AppendUint32(numbers, i)
	}
	keys, values := b.put(numbers), b.room(8*n)
	done, e := update(keys, values, n)
	assert.Zero(t, e)
	assert.EqualValues(t, n, done)
	assert.Less(t, b.reads, 20)

	end := b.base + uint64(len(b.mem))
	done, e = update(keys, end-8*n/2, n)
	assert.Equal(t, uapi.EFAULT, e)
	assert.EqualValues(t, n/2, done)
	done, e = update(end-4*3, values, n)
	assert.Equal(t, uapi.EFAULT, e)
	assert.EqualValues(t, 3, done)
}

// TestBatchesGoOnWhereTheyEnded: also if elements before and after that place were deleted.
func TestBatchesGoOnWhereTheyEnded(t *testing.T) {
	k := newTask(t)
	fd, e := k.createMap(uapi.MapTypeHash, 4, 4, 64, 0)
	require.Zero(t, e)
	remove := func(key uint32) {
		_, e, _ := k.call(uint32(uapi.CmdMapDeleteElem), field{0, int(fd)}, field{8, k.put(le.AppendUint32(nil, key))})
		require.Zero(t, e)
	}
	for i := range uint32(12) {
		at := k.put(le.AppendUint32(nil, i))
		_, e, _ := k.call(uint32(uapi.CmdMapUpdateElem), field{0, int(fd)}, field{8, at}, field{16, at}, field{24, uint64(0)})
		require.Zero(t, e)
	}
	cursor, first := k.room(4), true
	next := func(cmd uint32, count int) (keys []uint32, e uapi.Errno) {
		out := k.room(256)
		in := field{0, cursor}
		if first {
			in, first = field{0, uint64(0)}, false
		}
		_, e, a := k.call(cmd, in, field{8, cursor}, field{16, out}, field{24, k.room(256)}, field{32, count}, field{36, int(fd)}, field{48, uint64(0)})
		for i := range le.Uint32(a[32:]) {
			keys = append(keys, le.Uint32(k.at(out+4*uint64(i), 4)))
		}
		return keys, e
	}
	read := func(want []uint32, errno uapi.Errno, cmd uint32, count int) {
		t.Helper()
		got, e := next(cmd, count)
		assert.Equal(t, want, got)
		assert.Equal(t, errno, e)
	}
	read([]uint32{0, 1, 2}, 0, lookupBatch, 3)
	remove(0)
	read([]uint32{3, 4}, 0, lookupBatch, 2)
	remove(4) // the one that it would go on after
	read([]uint32{5, 6}, 0, lookupBatch, 2)
	remove(7)
	read([]uint32{8, 9}, 0, lookupDeleteBatch, 2)
	remove(6)
	read([]uint32{10, 11}, uapi.ENOENT, lookupDeleteBatch, 3)
	first = true
	read([]uint32{1, 2, 3, 5}, uapi.ENOENT, lookupBatch, 9)
}
