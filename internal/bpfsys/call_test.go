package bpfsys_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

var le = binary.LittleEndian

// Numbers of commands (enum bpf_cmd).
const (
	mapCreate, mapLookup, mapUpdate, mapDelete, mapNextKey, progLoad, objPin, objGet, progAttach, progDetach, testRun = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
	progNextID, mapNextID, progByID, mapByID, infoByFD, progQuery, rawOpen, btfLoad                                   = 11, 12, 13, 14, 15, 16, 17, 18
	lookupDelete, mapFreeze, lookupBatch, lookupDeleteBatch, updateBatch, deleteBatch, linkCreate                     = 21, 22, 24, 25, 26, 27, 28
)

func (t *task) createMap(typ uapi.MapType, key, value, entries, flags int, more ...field) (int64, uapi.Errno) {
	fd, e, _ := t.call(mapCreate, append([]field{{0, int(typ)}, {4, key}, {8, value}, {12, entries}, {16, flags}, {28, "m"}}, more...)...)
	return fd, e
}

func TestAttributesAreCheckedAsTheReleaseDoes(t *testing.T) {
	k := newTask(t)
	hash, e := k.createMap(uapi.MapTypeHash, 4, 8, 8, 0)
	require.Zero(t, e)
	key := k.put([]byte{1, 0, 0, 0})
	for name, c := range map[string]struct {
		cmd    uint32
		fields []field
		want   uapi.Errno
	}{
		"no such command":                      {99, nil, uapi.EINVAL},
		"a command of a later release":         {38, []field{{0, 0}}, uapi.EINVAL},
		"what follows the last field":          {mapLookup, []field{{0, int(hash)}, {8, key}, {16, key}, {32, 1}}, uapi.EINVAL},
		"closed descriptor":                    {mapLookup, []field{{0, 77}, {8, key}, {16, key}, {24, uint64(0)}}, uapi.EBADF},
		"no element":                           {mapLookup, []field{{0, int(hash)}, {8, key}, {16, key}, {24, uint64(0)}}, uapi.ENOENT},
		"key nowhere":                          {mapLookup, []field{{0, int(hash)}, {8, uint64(1)}, {16, key}, {24, uint64(0)}}, uapi.EFAULT},
		"flags nobody has":                     {mapLookup, []field{{0, int(hash)}, {8, key}, {16, key}, {24, uint64(1 << 40)}}, uapi.EINVAL},
		"flags of updates, before the key":     {mapLookup, []field{{0, int(hash)}, {8, uint64(1)}, {16, key}, {24, uint64(uapi.NoExist)}}, uapi.EINVAL},
		"delete what is not there":             {mapDelete, []field{{0, int(hash)}, {8, key}}, uapi.ENOENT},
		"map type of no release":               {mapCreate, []field{{0, 77}, {4, 4}, {8, 4}, {12, 1}}, uapi.EINVAL},
		"map name with a slash":                {mapCreate, []field{{0, 1}, {4, 4}, {8, 4}, {12, 1}, {28, "a/b"}}, uapi.EINVAL},
		"ring of a size that is not a power":   {mapCreate, []field{{0, 27}, {12, 12288}}, uapi.EINVAL},
		"inner map missing":                    {mapCreate, []field{{0, 12}, {4, 4}, {8, 4}, {12, 1}, {20, 77}}, uapi.EBADF},
		"BTF missing":                          {mapCreate, []field{{0, 1}, {4, 4}, {8, 4}, {12, 1}, {48, 77}, {52, 1}, {56, 1}}, uapi.EBADF},
		"pin outside of the file system":       {objPin, []field{{0, k.text("/tmp/x")}, {8, int(hash)}}, uapi.EPERM},
		"pin where no directory is":            {objPin, []field{{0, k.text("/sys/fs/bpf/no/x")}, {8, int(hash)}}, uapi.ENOENT},
		"get what is not pinned":               {objGet, []field{{0, k.text("/sys/fs/bpf/x")}, {12, 0}}, uapi.ENOENT},
		"no instructions":                      {progLoad, []field{{0, 1}, {4, 0}, {8, key}, {16, key}}, uapi.E2BIG},
		"program flags nobody has":             {progLoad, []field{{0, 1}, {4, 1}, {8, key}, {16, key}, {44, 1 << 30}}, uapi.EINVAL},
		"program of no BTF":                    {progLoad, []field{{0, 1}, {4, 1}, {8, key}, {16, key}, {72, 77}, {76, 8}, {80, key}, {88, 1}}, uapi.EBADF},
		"link of no program":                   {linkCreate, []field{{0, 77}, {4, 0}, {8, 0}, {12, 0}}, uapi.EBADF},
		"batch of an unknown descriptor":       {lookupBatch, []field{{36, 77}}, uapi.EBADF},
		"batch flags":                          {lookupBatch, []field{{36, int(hash)}, {48, uint64(1)}}, uapi.EINVAL},
		"info of a closed descriptor":          {infoByFD, []field{{0, 77}, {4, 8}, {8, key}}, uapi.EBADFD},
		"a raw tracepoint without a program":   {rawOpen, []field{{0, uint64(0)}, {8, 77}}, uapi.EBADF},
		"no program after the last":            {progNextID, []field{{0, 0}, {4, 0}}, uapi.ENOENT},
		"BTF that is none":                     {btfLoad, []field{{0, key}, {16, 4}, {20, 0}}, uapi.EINVAL},
		"log buffer without a level":           {btfLoad, []field{{0, key}, {8, key}, {16, 4}, {20, 100}, {24, 0}}, uapi.EINVAL},
		"test run of a map":                    {testRun, []field{{0, int(hash)}}, uapi.EINVAL},
		"freeze of a closed descriptor":        {mapFreeze, []field{{0, 77}}, uapi.EBADF},
		"lookup and delete without an element": {lookupDelete, []field{{0, int(hash)}, {8, key}, {16, key}}, uapi.ENOENT},
	} {
		t.Run(name, func(t *testing.T) {
			_, e, _ := k.call(c.cmd, c.fields...)
			assert.Equal(t, c.want, e)
		})
	}
	addr := k.put(make([]byte, 4096))
	assert.Equal(t, uapi.EINVAL, k.s.Call(k, 99, addr, 4096, 0, 0).Errno, "zeros beyond the union")
	assert.Equal(t, uapi.E2BIG, k.s.Call(k, mapCreate, addr, 4097, 0, 0).Errno)
	k.at(addr+300, 1)[0] = 1
	assert.Equal(t, uapi.E2BIG, k.s.Call(k, mapCreate, addr, 4096, 0, 0).Errno)
	assert.Equal(t, uapi.EFAULT, k.s.Call(k, mapCreate, 1, 64, 0, 0).Errno)
}

func TestElementsOfMaps(t *testing.T) {
	k := newTask(t)
	fd, e := k.createMap(uapi.MapTypeHash, 4, 4, 4, 0)
	require.Zero(t, e)
	key, value, out := k.put([]byte{1, 0, 0, 0}), k.put([]byte{7, 0, 0, 0}), k.room(8)
	_, e, _ = k.call(mapUpdate, field{0, int(fd)}, field{8, key}, field{16, value}, field{24, uint64(uapi.NoExist)})
	require.Zero(t, e)
	_, e, _ = k.call(mapUpdate, field{0, int(fd)}, field{8, key}, field{16, value}, field{24, uint64(uapi.NoExist)})
	assert.Equal(t, uapi.EEXIST, e)
	_, e, _ = k.call(mapLookup, field{0, int(fd)}, field{8, key}, field{16, out}, field{24, uint64(0)})
	require.Zero(t, e)
	assert.Equal(t, uint32(7), le.Uint32(k.at(out, 4)))
	_, e, _ = k.call(mapNextKey, field{0, int(fd)}, field{8, uint64(0)}, field{16, out})
	require.Zero(t, e)
	assert.Equal(t, uint32(1), le.Uint32(k.at(out, 4)))

	keys, values := k.put([]byte{2, 0, 0, 0, 3, 0, 0, 0}), k.put([]byte{8, 0, 0, 0, 9, 0, 0, 0})
	_, e, a := k.call(updateBatch, field{16, keys}, field{24, values}, field{32, 2}, field{36, int(fd)}, field{48, uint64(0)})
	require.Zero(t, e)
	assert.Equal(t, uint32(2), le.Uint32(a[32:]))
	_, e, a = k.call(lookupDeleteBatch, field{8, k.room(4)}, field{16, k.room(64)}, field{24, k.room(64)}, field{32, 8}, field{36, int(fd)}, field{48, uint64(0)})
	assert.Equal(t, uapi.ENOENT, e, "all were read")
	assert.Equal(t, uint32(3), le.Uint32(a[32:]))
	_, e, _ = k.call(mapNextKey, field{0, int(fd)}, field{8, uint64(0)}, field{16, out})
	assert.Equal(t, uapi.ENOENT, e)

	_, e, _ = k.call(mapFreeze, field{0, int(fd)})
	require.Zero(t, e)
	_, e, _ = k.call(mapUpdate, field{0, int(fd)}, field{8, key}, field{16, value}, field{24, uint64(0)})
	assert.Equal(t, uapi.EPERM, e, "frozen")
}

// TestBatchesOfRhash: the cursor is the element that comes next, and a batch that begins at one
// that is gone fails. Values that are too long to be copied can only be mapped.
func TestLongValues(t *testing.T) {
	k := newTask(t)
	for _, size := range []int{64 << 20, 64<<20 + 8} {
		fd, e := k.createMap(uapi.MapTypeArray, 4, size, 1, int(uapi.MapMmapable))
		require.Zero(t, e)
		key, nowhere := k.room(4), uint64(1<<40)
		want := uapi.EFAULT // it was looked up
		if size > 64<<20 {
			want = uapi.ENOMEM
		}
		for _, cmd := range []uint32{uint32(uapi.CmdMapLookupElem), uint32(uapi.CmdMapUpdateElem)} {
			_, e, _ := k.call(cmd, field{0, int(fd)}, field{8, key}, field{16, nowhere})
			assert.Equal(t, want, e, "%d bytes, command %d", size, cmd)
		}
		k.close(fd)
	}
}

func TestBatchesOfRhash(t *testing.T) {
	types, err := btf.NewBuilder(nil).Spec(binary.LittleEndian) // says nothing of map types
	require.NoError(t, err)
	target := loader.NewTarget("7.2", types)
	target.Version = uapi.VersionCode(7, 2)
	k := newTaskOn(t, target)
	fd, e := k.createMap(uapi.MapTypeRhash, 4, 4, 8, uapi.MapNoPrealloc)
	require.Zero(t, e)
	keys := k.put([]byte{1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0})
	_, e, _ = k.call(updateBatch, field{16, keys}, field{24, keys}, field{32, 3}, field{36, int(fd)}, field{48, uint64(0)})
	require.Zero(t, e)
	cursor, out := k.room(4), k.room(64)
	read := func(cmd uint32, from uint64, n int) (uapi.Errno, []byte) {
		_, e, a := k.call(cmd, field{0, from}, field{8, cursor}, field{16, out}, field{24, k.room(64)}, field{32, n}, field{36, int(fd)}, field{48, uint64(0)})
		return e, append([]byte(nil), k.at(out, 4*int(le.Uint32(a[32:])))...)
	}
	e, got := read(lookupBatch, 0, 2)
	require.Zero(t, e)
	assert.Equal(t, k.at(keys, 8), got)
	assert.Equal(t, uint32(3), le.Uint32(k.at(cursor, 4)), "the next one")
	e, got = read(lookupBatch, cursor, 1)
	assert.Equal(t, uapi.ENOENT, e, "that was the last one")
	assert.Equal(t, k.at(keys+8, 4), got)
	e, got = read(lookupDeleteBatch, 0, 1)
	require.Zero(t, e)
	assert.Equal(t, k.at(keys, 4), got)
	e, got = read(lookupDeleteBatch, cursor, 9)
	assert.Equal(t, uapi.ENOENT, e)
	assert.Equal(t, k.at(keys+4, 8), got)
	e, _ = read(lookupBatch, cursor, 1)
	assert.Equal(t, uapi.EAGAIN, e, "the cursor's element is gone")
	e, _ = read(lookupBatch, 0, 1)
	assert.Equal(t, uapi.ENOENT, e, "empty")
}

func (t *task) load(typ uapi.ProgType, insns []decode.Insn, more ...field) (int64, uapi.Errno) {
	raw := decode.Marshal(insns, le)
	fd, e, _ := t.call(progLoad, append([]field{{0, int(typ)}, {4, len(insns)}, {8, t.put(raw)}, {16, t.text("GPL")}, {48, "p"}, {112, 0}}, more...)...)
	return fd, e
}

var exitZero = []decode.Insn{{Code: 0xb7}, {Code: 0x95}}

// sends is a program that sends the number 7 to a ring buffer.
func sends(ring int64) []decode.Insn {
	return []decode.Insn{
		{Code: 0x7a, Dst: 10, Off: -8, Imm: 7},
		{Code: 0x18, Dst: 1, Src: 1, Imm: int32(ring)}, {},
		{Code: 0xbf, Dst: 2, Src: 10}, {Code: 0x07, Dst: 2, Imm: -8},
		{Code: 0xb7, Dst: 3, Imm: 8}, {Code: 0xb7, Dst: 4},
		{Code: 0x85, Imm: int32(uapi.FuncRingbufOutput)},
		{Code: 0xb7}, {Code: 0x95},
	}
}

func TestProgramsRunWhereTheyAreAttached(t *testing.T) {
	k := newTask(t)
	ring, e := k.createMap(uapi.MapTypeRingbuf, 0, 0, 4096, 0)
	require.Zero(t, e)
	prog, e := k.load(uapi.ProgTypeRawTracepoint, sends(ring))
	require.Zero(t, e, "%v", k.notes)
	_, e, _ = k.call(rawOpen, field{0, k.text("no_such_tracepoint")}, field{8, int(prog)})
	assert.Equal(t, uapi.ENOENT, e)
	link, e, _ := k.call(rawOpen, field{0, k.text("sched_switch")}, field{8, int(prog)})
	require.Zero(t, e)

	m := k.files[int32(ring)].Object
	assert.False(t, k.s.Readable(m))
	fired, err := k.s.Fire(bpfsys.Event{Hook: "sched_switch"})
	require.NoError(t, err)
	require.Len(t, fired, 1)
	require.NoError(t, fired[0].Err)
	assert.True(t, k.s.Readable(m))
	b := bpfsys.Shared(m).Bytes()
	assert.Equal(t, uint64(16), le.Uint64(b[4096:]), "producer's position")
	assert.Equal(t, uint32(8), le.Uint32(b[8192:]), "length, neither busy nor discarded")
	assert.Equal(t, uint64(7), le.Uint64(b[8200:]))
	assert.Equal(t, b[8192:8208], b[12288:12304], "the second mapping")

	// The link holds the program, the program holds the map.
	k.close(prog)
	k.close(ring)
	assert.Len(t, k.s.Objects(bpfsys.KindProg), 1)
	assert.Len(t, k.s.Objects(bpfsys.KindMap), 1)
	k.close(link)
	assert.Empty(t, k.s.Objects(bpfsys.KindProg))
	assert.Empty(t, k.s.Objects(bpfsys.KindMap))
	_, err = k.s.Fire(bpfsys.Event{Hook: "sched_switch"})
	require.ErrorIs(t, err, bpfsys.ErrNoHook)
}

func TestTheVerifierRefusesWithItsLog(t *testing.T) {
	k := newTask(t)
	log := k.room(4096)
	_, e := k.load(uapi.ProgTypeSocketFilter, []decode.Insn{{Code: 0xbf, Src: 5}, {Code: 0x95}}, field{24, 1}, field{28, 4096}, field{32, log})
	assert.Equal(t, uapi.EACCES, e)
	assert.Contains(t, string(k.at(log, 4096)), "R5 !read_ok")
	_, e = k.load(uapi.ProgTypeSocketFilter, []decode.Insn{{Code: 0xbf, Src: 5}, {Code: 0x95}}, field{24, 1}, field{28, 16}, field{32, log})
	assert.Equal(t, uapi.EACCES, e, "a log that does not fit does not hide the reason")
	_, e = k.load(uapi.ProgTypeSocketFilter, exitZero, field{24, 1}, field{28, 16}, field{32, log})
	assert.Equal(t, uapi.ENOSPC, e)
}

func TestPinsOutliveDescriptors(t *testing.T) {
	k := newTask(t)
	fd, e := k.createMap(uapi.MapTypeArray, 4, 4, 1, 0)
	require.Zero(t, e)
	require.Zero(t, k.s.Mkdir("/sys/fs/bpf/d"))
	path := k.text("/sys/fs/bpf/d/m")
	_, e, _ = k.call(objPin, field{0, path}, field{8, int(fd)})
	require.Zero(t, e)
	_, e, _ = k.call(objPin, field{0, path}, field{8, int(fd)})
	assert.Equal(t, uapi.EEXIST, e)
	k.close(fd)
	assert.Equal(t, []string{"m"}, k.s.ReadDir("/sys/fs/bpf/d"))
	assert.Equal(t, uapi.ENOTEMPTY, k.s.Unlink("/sys/fs/bpf/d", true))
	require.Zero(t, k.s.Rename("/sys/fs/bpf/d", "/sys/fs/bpf/e", false))
	again, e, _ := k.call(objGet, field{0, k.text("/sys/fs/bpf/e/m")}, field{12, int(uapi.MapRdonly)})
	require.Zero(t, e)
	key := k.put(make([]byte, 8))
	_, e, _ = k.call(mapUpdate, field{0, int(again)}, field{8, key}, field{16, key}, field{24, uint64(0)})
	assert.Equal(t, uapi.EPERM, e, "opened to be read")
	require.Zero(t, k.s.Unlink("/sys/fs/bpf/e/m", false))
	k.close(again)
	assert.Empty(t, k.s.Objects(bpfsys.KindMap))
}

func TestInfoSaysWhatWasLoaded(t *testing.T) {
	k := newTask(t)
	m, e := k.createMap(uapi.MapTypeArray, 4, 8, 3, 0)
	require.Zero(t, e)
	info := k.room(88)
	_, e, a := k.call(infoByFD, field{0, int(m)}, field{4, 88}, field{8, info})
	require.Zero(t, e)
	assert.Equal(t, uint32(88), le.Uint32(a[4:]))
	b := k.at(info, 88)
	assert.Equal(t, []uint32{2, 1, 4, 8, 3, 0}, []uint32{le.Uint32(b), le.Uint32(b[4:]), le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[16:]), le.Uint32(b[20:])})
	assert.Equal(t, "m", string(b[24:25]))

	p, e := k.load(uapi.ProgTypeXDP, []decode.Insn{{Code: 0xb7, Imm: 2}, {Code: 0x95}})
	require.Zero(t, e)
	info = k.room(232)
	insns := k.room(16)
	le.PutUint32(k.at(info+20, 4), 16)
	le.PutUint64(k.at(info+32, 8), insns)
	_, e, _ = k.call(infoByFD, field{0, int(p)}, field{4, 232}, field{8, info})
	require.Zero(t, e)
	b = k.at(info, 232)
	assert.Equal(t, uint32(uapi.ProgTypeXDP), le.Uint32(b))
	assert.Equal(t, uint32(16), le.Uint32(b[20:]))
	assert.Equal(t, byte(2), k.at(insns, 16)[4])
	assert.Equal(t, "3b185187f1855c4c", hexOf(b[8:16]), `the tag of "r0 = 2; exit" by SHA-1, as kernels before 6.18 print it`)

	packet := k.put(make([]byte, 64))
	_, e, a = k.call(testRun, field{0, int(p)}, field{8, 64}, field{12, 0}, field{16, packet}, field{68, 0})
	require.Zero(t, e, "%v", k.notes)
	assert.Equal(t, uint32(2), le.Uint32(a[4:]), "XDP_PASS")
	assert.Equal(t, uint32(64), le.Uint32(a[12:]))
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var out []byte
	for _, c := range b {
		out = append(out, digits[c>>4], digits[c&15])
	}
	return string(out)
}

// FuzzCommands makes sequences of calls with any attributes.
func FuzzCommands(f *testing.F) {
	f.Add([]byte{0, 5, 0, 0, 0, 1, 4, 0, 0, 0, 4, 0, 0, 0, 4})
	for cmd := range byte(40) {
		f.Add(append([]byte{cmd}, make([]byte, 40)...))
	}
	k := newTask(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		k.used = 1 << 16
		copy(k.mem, data)
		for n := 0; len(data) > 2 && n < 32; n++ {
			cmd, size := uint32(data[0]), min(int(data[1]), len(data)-2)
			a := make([]byte, 168)
			copy(a, data[2:2+size])
			// Pointers lead into the task's memory more often than not.
			for at := 0; at+8 <= len(a); at += 8 {
				if le.Uint32(a[at+4:]) == 0 && a[at+3] == 0x7f {
					le.PutUint64(a[at:], base+uint64(le.Uint16(a[at:])))
				}
			}
			addr := k.put(a)
			r := k.s.Call(k, cmd, addr, uint32(max(size, 4)), 0, 0)
			if r.File != nil {
				k.files[k.next] = *r.File
				if k.next++; k.next > 40 {
					k.next = 3
				}
				if old, ok := k.files[k.next]; ok {
					delete(k.files, k.next)
					k.s.Release(old.Object)
				}
			}
			data = data[2+size:]
		}
	})
}
