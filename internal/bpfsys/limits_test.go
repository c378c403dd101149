package bpfsys_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/loader"
)

// limits makes calls with the last number that is accepted, and the first that is not.
func limits(t *testing.T, k *task, step func(name string, e uapi.Errno, seen ...any)) {
	t.Helper()
	for _, node := range []int{-1, 0, 1, 1 << 20} {
		fd, e := k.createMap(uapi.MapTypeArray, 4, 4, 1, int(uapi.MapNumaNode), field{24, node})
		step(fmt.Sprintf("create on node %d", node), e)
		if e == 0 {
			k.close(fd)
		}
	}
	fd, e := k.createMap(uapi.MapTypeHash, 4, 4, 4, 0)
	require.Zero(t, e)
	key, out := k.room(4), k.room(64)
	for n := range 4 {
		k.at(key, 1)[0] = byte(n)
		_, e, _ = k.call(mapUpdate, field{0, int(fd)}, field{8, key}, field{16, key}, field{24, uint64(0)})
		require.Zero(t, e)
	}
	for _, flags := range []uint64{0, uapi.NoExist, uapi.Exist, uapi.Lock, uapi.Lock | uapi.Exist, 8} {
		_, e, _ = k.call(mapLookup, field{0, int(fd)}, field{8, key}, field{16, out}, field{24, flags})
		step(fmt.Sprintf("lookup with flags %d", flags), e)
	}
	batches(k, int(fd), step)
	k.close(fd)

	programs, e := k.createMap(uapi.MapTypeProgArray, 4, 4, 3, 0)
	require.Zero(t, e)
	prog, e := k.load(uapi.ProgTypeSocketFilter, exitZero)
	require.Zero(t, e)
	value := k.put([]byte{byte(prog), byte(prog >> 8), byte(prog >> 16), byte(prog >> 24)})
	for _, index := range []byte{2, 3, 4} {
		k.at(key, 4)[0] = index
		_, e, _ = k.call(mapUpdate, field{0, int(programs)}, field{8, key}, field{16, value}, field{24, uint64(0)})
		step(fmt.Sprintf("program %d of 3", index), e)
	}
	k.close(programs)
	k.close(prog)

	for _, count := range []int{0, 1, 1_000_000, 1_000_001} {
		_, e, _ = k.call(progLoad, field{0, int(uapi.ProgTypeSocketFilter)}, field{4, count}, field{8, uint64(1 << 40)}, field{16, k.text("GPL")}, field{112, 0})
		step(fmt.Sprintf("load %d instructions from nowhere", count), e)
	}
	for _, n := range []int{0, 127, 128, 300} {
		prog, e := k.load(uapi.ProgTypeSocketFilter, exitZero, field{16, k.text(strings.Repeat("A", n))})
		step(fmt.Sprintf("a license of %d bytes", n), e)
		if e == 0 {
			k.close(prog)
		}
	}
	_, e = k.load(uapi.ProgTypeSocketFilter, exitZero, field{16, uint64(1 << 40)})
	step("a license nowhere", e)
}

// batches reads the elements of a full hash map in batches, and from cursors that no call returned.
func batches(k *task, fd int, step func(name string, e uapi.Errno, seen ...any)) {
	cursor, keys, values := k.room(8), k.room(64), k.room(64)
	read := func(cmd uint32, from uint64, n int) (uapi.Errno, uint32) {
		_, e, a := k.call(cmd, field{0, from}, field{8, cursor}, field{16, keys}, field{24, values}, field{32, n}, field{36, fd}, field{48, uint64(0)})
		return e, le.Uint32(a[32:])
	}
	e, n := read(lookupBatch, 0, 100)
	step("batch of all", e)
	step(" elements", 0, n)
	e, n = read(lookupBatch, cursor, 100)
	step("batch after the last", e)
	step(" elements", 0, n)
	for _, from := range []uint32{4, 5, 1 << 20, 1<<32 - 1} { // four buckets
		le.PutUint32(k.at(cursor, 4), from)
		e, n = read(lookupBatch, cursor, 100)
		step(fmt.Sprintf("batch from %d", from), e)
		step(" elements", 0, n)
	}
}

// TestBatchesThatDeleteGoOn: the next batch begins at the cursor although the elements before it
// are gone.
func TestBatchesThatDeleteGoOn(t *testing.T) {
	k := newTask(t)
	fd, e := k.createMap(uapi.MapTypeHash, 4, 4, 4, 0)
	require.Zero(t, e)
	all := k.put([]byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0})
	_, e, _ = k.call(updateBatch, field{16, all}, field{24, all}, field{32, 4}, field{36, int(fd)}, field{48, uint64(0)})
	require.Zero(t, e)
	cursor, out, from := k.room(4), k.room(64), uint64(0)
	var got []uint32
	for _, want := range []uapi.Errno{0, uapi.ENOENT} {
		_, e, a := k.call(lookupDeleteBatch, field{0, from}, field{8, cursor}, field{16, out}, field{24, k.room(64)}, field{32, 2}, field{36, int(fd)}, field{48, uint64(0)})
		assert.Equal(t, want, e)
		for i := range le.Uint32(a[32:]) {
			got = append(got, le.Uint32(k.at(out, 16)[4*i:]))
		}
		from = cursor
	}
	assert.ElementsMatch(t, []uint32{1, 2, 3, 4}, got)
}

// writes counts the writes to the memory of a task.
type writes struct {
	*task
	n int
}

func (w *writes) Write(addr uint64, p []byte) bool {
	w.n++
	return w.task.Write(addr, p)
}

// TestBatchesAreWrittenAtOnce: for a process each write to its memory is a system call, so that
// writing elements one by one takes longer than reading them one by one.
func TestBatchesAreWrittenAtOnce(t *testing.T) {
	const elements = 6000 // more than go at once
	k := newTask(t)
	fd, e := k.createMap(uapi.MapTypeHash, 4, 8, elements, 0)
	require.Zero(t, e)
	in := make([]byte, 4*elements)
	for i := range elements {
		le.PutUint32(in[4*i:], uint32(i))
	}
	values := make([]byte, 8*elements)
	for i := range elements {
		le.PutUint64(values[8*i:], uint64(3*i))
	}
	attr := func(keys, values uint64) []field {
		return []field{{0, uint64(0)}, {8, k.room(4)}, {16, keys}, {24, values}, {32, elements}, {36, int(fd)}, {48, uint64(0)}}
	}
	_, e, _ = k.call(updateBatch, attr(k.put(in), k.put(values))...)
	require.Zero(t, e)
	keys, out := k.room(4*elements), k.room(8*elements)
	w := &writes{task: k}
	a := union(attr(keys, out)...)
	require.Equal(t, uapi.ENOENT, k.s.Call(w, lookupBatch, k.put(a), uint32(len(a)), 0, 0).Errno, "there are no more")
	seen := map[uint32]bool{}
	for i := range elements {
		key := le.Uint32(k.at(keys, 4*elements)[4*i:])
		seen[key] = true
		require.Equal(t, uint64(3*key), le.Uint64(k.at(out, 8*elements)[8*i:]))
	}
	assert.Len(t, seen, elements)
	assert.Less(t, w.n, 20)
}

// TestNamesOfPins: those with a dot are the kernel's (bpf_lookup).
func TestNamesOfPins(t *testing.T) {
	k := newTask(t)
	fd, e := k.createMap(uapi.MapTypeArray, 4, 4, 1, 0)
	require.Zero(t, e)
	for name, want := range map[string]uapi.Errno{"m": 0, ".m": uapi.EPERM, "a.b": uapi.EPERM, "m.": uapi.EPERM} {
		_, e, _ := k.call(objPin, field{0, k.text("/sys/fs/bpf/" + name)}, field{8, int(fd)})
		assert.Equal(t, want, e, name)
	}
	for at, want := range map[uint64]uapi.Errno{0: uapi.EFAULT, k.text(""): uapi.ENOENT, k.text("/" + strings.Repeat("a", 4096)): uapi.ENAMETOOLONG} {
		_, e, _ := k.call(objPin, field{0, at}, field{8, int(fd)})
		assert.Equal(t, want, e)
		_, e, _ = k.call(objPin, field{0, at}, field{8, 77})
		assert.Equal(t, uapi.EBADF, e, "the descriptor is looked at first")
	}
}

// TestCommandsBegin: what a release serves, and the one before it does not, or the reverse.
func TestCommandsBegin(t *testing.T) {
	small, err := embedded.Spec()
	require.NoError(t, err)
	large := newestKernel(t)
	for _, tt := range []struct {
		name         string
		from         uapi.Release
		call         func(k *caller) uapi.Errno
		before, with uapi.Errno
	}{
		{"pins relative to a directory", since.PathFD.From(), func(k *caller) uapi.Errno {
			_, e, _ := k.call(objPin, field{0, k.text("/sys/fs/bpf/m")}, field{8, k.hash()}, field{12, int(uapi.MapPathFD)})
			return e
		}, uapi.EINVAL, 0},
		{"XDP on packets in several buffers", since.XDPFrags.From(), func(k *caller) uapi.Errno {
			_, e := k.load(uapi.ProgTypeXDP, exitZero, field{44, 32})
			return e
		}, uapi.EINVAL, 0},
		{"batches of per-CPU arrays", uapi.R(5, 13), func(k *caller) uapi.Errno {
			fd := k.must(k.createMap(uapi.MapTypePercpuArray, 4, 8, 1, 0))
			_, e, _ := k.call(lookupBatch, field{8, k.room(4)}, field{16, k.room(64)}, field{24, k.room(64)}, field{32, 2}, field{36, fd}, field{48, uint64(0)})
			return e
		}, uapi.ENOTSUPP, uapi.ENOENT},
		{"extensions in program arrays", since.ExtendInProgArray.From(), func(k *caller) uapi.Errno {
			ext, r := k.extension()
			array := k.must(k.createMap(uapi.MapTypeProgArray, 4, 4, 1, 0))
			_, e, _ := k.call(mapUpdate, field{0, array}, field{8, k.room(4)}, field{16, k.put(le.AppendUint32(nil, uint32(k.must(ext, r.errno))))}, field{24, uint64(0)})
			return e
		}, 0, uapi.EINVAL},
	} {
		for release, want := range map[uapi.Release]uapi.Errno{since.Previous(tt.from): tt.before, tt.from: tt.with} {
			spec := small
			if tt.from > uapi.R(6, 10) {
				spec = large
			}
			k := &caller{newTaskOn(t, loader.NewTarget("test", spec, loader.WithVersion(uint32(release)<<8))), spec}
			assert.Equal(t, want, tt.call(k), "%s on %s", tt.name, release)
		}
	}
}

// TestNetfilterPriorities: the ends of the list are netfilter's own, and programs that want whole
// packets run behind what puts them together (bpf_nf_check_pf_and_hooks).
func TestNetfilterPriorities(t *testing.T) {
	const defrag = 1
	for _, tt := range []struct {
		release         uapi.Release
		priority, flags int
		want            uapi.Errno
	}{
		{uapi.R(6, 4), -1 << 31, 0, uapi.ERANGE}, {uapi.R(7, 2), 1<<31 - 1, 0, uapi.ERANGE}, {uapi.R(6, 5), 0, 0, 0},
		{uapi.R(6, 5), 0, defrag, uapi.EOPNOTSUPP}, {uapi.R(6, 6), 0, defrag, 0}, {uapi.R(6, 6), 0, 2, uapi.EOPNOTSUPP},
		{uapi.R(6, 6), -400, defrag, uapi.ERANGE}, {uapi.R(6, 6), -399, defrag, 0}, {uapi.R(6, 6), -400, 0, 0},
	} {
		spec := newestKernel(t)
		k := &caller{newTaskOn(t, loader.NewTarget("test", spec, loader.WithVersion(uint32(tt.release)<<8))), spec}
		fd, r := k.program(uapi.ProgTypeNetfilter, uapi.AttachNetfilter)
		prog := k.must(fd, r.errno)
		_, r = k.try(uapi.CmdLinkCreate, field{0, prog}, field{8, int(uapi.AttachNetfilter)}, field{16, 2}, field{24, tt.priority}, field{28, tt.flags})
		assert.Equal(t, tt.want, r.errno, "priority %d, flags %d on %s", tt.priority, tt.flags, tt.release)
	}
}
