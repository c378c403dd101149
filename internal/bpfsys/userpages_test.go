package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// userStorage creates task storage whose values are
//
//	struct value { struct POINTEE __uptr *first; struct POINTEE __uptr *second; [struct bpf_spin_lock lock;] };
//
// with a pointee of size bytes.
func (k *caller) userStorage(pointee string, size uint32, locked bool) (int64, uapi.Errno) {
	b := btf.NewBuilder(nil)
	word := b.Int("unsigned long", 8, 0)
	number := b.Int("int", 4, btf.IntSigned)
	members := []btf.Member{{Name: "in", Type: word}, {Name: "out", Type: word, BitOffset: 64}}
	if size < 16 {
		members = nil
	}
	ptr := b.Ptr(b.Mod(btf.KindTypeTag, "uptr", b.Struct(pointee, size, members...)))
	fields := []btf.Member{{Name: "first", Type: ptr}, {Name: "second", Type: ptr, BitOffset: 64}}
	n := uint32(16)
	if locked {
		lock := b.Struct("bpf_spin_lock", 4, btf.Member{Name: "val", Type: number})
		fields, n = append(fields, btf.Member{Name: "lock", Type: lock, BitOffset: 128}), 24
	}
	value := b.Struct("value", n, fields...)
	spec, err := b.Spec(le)
	if err != nil {
		panic(err)
	}
	fd, r := k.try(uapi.CmdBtfLoad, field{0, k.put(spec.Raw())}, field{16, len(spec.Raw())})
	return k.createMap(uapi.MapTypeTaskStorage, 4, int(n), 0, 1, field{48, k.must(fd, r.errno)}, field{52, int(number)}, field{56, int(value)})
}

// pointers are the bytes of a value with these pointers.
func (k *caller) pointers(first, second uint64) uint64 {
	return k.put(le.AppendUint64(le.AppendUint64(le.AppendUint64(nil, first), second), 0))
}

// TestPointersToUserMemoryAreChecked has what map_create and map_update_elem refuse of values with
// pointers to user memory.
func TestPointersToUserMemoryAreChecked(t *testing.T) {
	for _, tt := range []struct {
		pointee string
		size    uint32
		want    uapi.Errno
	}{
		{"of_the_program", 16, 0},
		{"of_the_program", uapi.PageSize, 0},
		{"of_the_program", uapi.PageSize + 1, uapi.E2BIG},
		{"of_the_program", 0, uapi.EINVAL},
		{"task_struct", 16, uapi.EINVAL},
	} {
		_, e := newCaller(t, newestKernel(t)).userStorage(tt.pointee, tt.size, false)
		assert.Equal(t, tt.want, e, "%+v", tt)
	}

	k := newCaller(t, newestKernel(t))
	m := int64(k.must(k.userStorage("of_the_program", 16, true)))
	key, page := k.fdKey(pidFD), uint64(base+128*uapi.PageSize)
	for _, tt := range []struct {
		name          string
		first, second uint64
		flags         uint64
		want          uapi.Errno
	}{
		{"no memory", 1 << 40, 0, 0, uapi.EFAULT},
		{"no memory behind memory", page, 1 << 40, 0, uapi.EFAULT},
		{"over the end of the address space", ^uint64(0) - 14, 0, 0, uapi.EFAULT},
		{"up to the end of a page", page + uapi.PageSize - 16, 0, uapi.Exist, uapi.ENOENT},
		{"over the end of a page", page + uapi.PageSize - 15, 0, 0, uapi.EOPNOTSUPP},
		{"under the lock", page, 0, uapi.Lock, uapi.EOPNOTSUPP},
		{"null", 0, 0, uapi.Exist, uapi.ENOENT},
		{"new", page, page + 16, uapi.NoExist, 0},
		{"there", page, page + 16, uapi.NoExist, uapi.EEXIST},
	} {
		assert.Equal(t, tt.want, k.elem(uapi.CmdMapUpdateElem, m, key, k.pointers(tt.first, tt.second), tt.flags), tt.name)
	}
	v, e := k.read(m, key)
	assert.Zero(t, e)
	assert.Zero(t, v, "user space does not see the addresses")
}

// TestPointersToUserMemoryAreNumbersBefore613: a kernel that does not know the tag stores what it is
// given, and checks nothing.
func TestPointersToUserMemoryAreNumbersBefore613(t *testing.T) {
	spec := newestKernel(t)
	for version, known := range map[uint32]bool{6<<16 | 12<<8 | 118: false, 6<<16 | 13<<8: true} {
		k := &caller{newTaskOn(t, loader.NewTarget("kernel", spec, loader.WithVersion(version))), spec}
		k.files[pidFD] = bpfsys.File{Kind: bpfsys.PidFile, PID: 1, TGID: 1}
		_, e := k.userStorage("of_the_program", uapi.PageSize+1, false)
		assert.Equal(t, known, e == uapi.E2BIG, "%#x %v", version, e)
		m := int64(k.must(k.userStorage("of_the_program", 16, false)))
		e = k.elem(uapi.CmdMapUpdateElem, m, k.fdKey(pidFD), k.pointers(1<<40, 0), 0)
		if known {
			assert.Equal(t, uapi.EFAULT, e)
			continue
		}
		assert.Zero(t, e)
		v, e := k.read(m, k.fdKey(pidFD))
		assert.Zero(t, e)
		assert.Equal(t, uint64(1<<40), v)
	}
}

// TestProgramsReadAndWriteUserMemory runs a program that adds 1 to the first word of the memory to
// which the storage of its task points, and stores the sum in the second.
func TestProgramsReadAndWriteUserMemory(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	m := int64(k.must(k.userStorage("of_the_program", 16, false)))
	p := k.must(k.load(uapi.ProgTypeTracing, []decode.Insn{
		{Code: 0x85, Imm: 158},                          // bpf_get_current_task_btf
		{Code: 0xbf, Dst: 2},                            // r2 = r0
		{Code: 0x18, Dst: 1, Src: 1, Imm: int32(m)}, {}, // r1 = map
		{Code: 0xb7, Dst: 3}, {Code: 0xb7, Dst: 4}, // no value, no flags
		{Code: 0x85, Imm: 156},               // bpf_task_storage_get
		{Code: 0x15, Off: 6},                 // if !r0 goto out
		{Code: 0x79, Dst: 1, Src: 0, Off: 8}, // r1 = r0->second
		{Code: 0xb7, Dst: 0, Imm: 7},
		{Code: 0x15, Dst: 1, Off: 3}, // if !r1 goto out
		{Code: 0x79, Dst: 0, Src: 1}, // r0 = r1->in
		{Code: 0x07, Dst: 0, Imm: 1}, // r0 += 1
		{Code: 0x7b, Dst: 1, Src: 0, Off: 8},
		{Code: 0x95},
	}, field{68, int(uapi.AttachTraceRawTp)}, k.target(uapi.ProgTypeTracing, uapi.AttachTraceRawTp)[0], field{112, 0}))
	_, r := k.try(uapi.CmdRawTracepointOpen, field{0, uint64(0)}, field{8, p})
	require.Zero(t, r.errno, r.notes)
	run := func() uint64 {
		fired, err := k.s.Fire(bpfsys.Event{Hook: "sched_switch", Task: map[string]any{"pid": int64(1)}})
		require.NoError(t, err)
		require.NoError(t, fired[0].Err)
		return fired[0].Ret
	}
	at := func(addr uint64) []byte { return k.at(addr, 8) }
	data := uint64(base + 2*uapi.PageSize + 40)
	update := func(second uint64) {
		require.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, k.fdKey(pidFD), k.pointers(0, second), 0))
	}

	le.PutUint64(at(data), 41)
	assert.Zero(t, run(), "nothing is stored")
	update(data)
	assert.Equal(t, uint64(42), run())
	assert.Equal(t, uint64(42), le.Uint64(at(data+8)))
	le.PutUint64(at(data), 1)
	assert.Equal(t, uint64(2), run(), "what user space stored since")
	assert.Equal(t, uint64(2), le.Uint64(at(data+8)))
	update(data + 16)
	assert.Equal(t, uint64(1), run(), "another place in the page")
	update(0)
	assert.Equal(t, uint64(7), run(), "no pointer")

	update(data)
	le.PutUint64(at(data), 5)
	assert.Equal(t, uint64(6), run())
	k.mem = k.mem[:uapi.PageSize]
	assert.Equal(t, uint64(6), run(), "the page is gone from the process, and programs keep it")
}
