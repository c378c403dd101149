package bpftest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/bpftest"
)

const mapsObject = "../testdata/objects/clang-14/maps_all.o"

func TestHashes(t *testing.T) {
	m := bpftest.New(t).Load(mapsObject).Map("lru_hash")
	h := bpftest.New(t).Load(execObject, bpftest.MapSize("execs_by_uid", 2)).Map("execs_by_uid")
	assert.Equal(t, []int{4, 8, 4}, []int{m.KeySize(), m.ValueSize(), m.MaxEntries()})
	assert.Equal(t, "execs_by_uid", h.Name())
	assert.Equal(t, 2, h.MaxEntries())

	var v uint64
	err := h.Lookup(uint32(1), &v)
	require.ErrorIs(t, err, bpftest.ErrKeyNotExist)
	var e *bpftest.MapError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "map execs_by_uid: lookup: ENOENT, key does not exist", err.Error())
	assert.Equal(t, 2, e.Errno)
	assert.False(t, h.Has(uint32(1)))
	require.NoError(t, h.Put(1, 10), "untyped constants have the width of the map's")
	assert.True(t, h.Has(1))
	assert.ErrorIs(t, h.Update(uint32(1), uint64(11), bpftest.NoExist), bpftest.ErrKeyExist)
	assert.ErrorIs(t, h.Update(uint32(2), uint64(11), bpftest.Exist), bpftest.ErrKeyNotExist)
	require.NoError(t, h.Update(uint32(1), uint64(11), bpftest.Exist))
	require.NoError(t, h.Update(uint32(2), uint64(12), bpftest.NoExist))
	assert.ErrorIs(t, h.Put(uint32(3), uint64(1)), bpftest.ErrFull)
	require.NoError(t, h.Lookup(uint32(2), &v))
	assert.Equal(t, uint64(12), v)
	assert.Equal(t, map[uint32]uint64{1: 11, 2: 12}, bpftest.Elements[uint32, uint64](h))
	require.NoError(t, h.LookupAndDelete(uint32(2), &v))
	require.NoError(t, h.Delete(uint32(1)))
	assert.ErrorIs(t, h.Delete(uint32(1)), bpftest.ErrKeyNotExist)
	assert.Empty(t, bpftest.Elements[uint32, uint64](h))

	assert.ErrorIs(t, h.Lookup(uint64(1), &v), bpftest.ErrSize)
	assert.ErrorIs(t, h.Put(uint32(1), uint32(1)), bpftest.ErrSize)
	assert.ErrorContains(t, h.Lookup(nil, &v), "nil is not a value")
	require.NoError(t, h.Put(uint32(1), uint64(1)))
	assert.ErrorIs(t, h.Lookup(uint32(1), new(uint32)), bpftest.ErrSize)
	assert.ErrorContains(t, h.Lookup(uint32(1), v), "want a pointer")
	var raw []byte
	require.NoError(t, h.Lookup([]byte{1, 0, 0, 0}, &raw))
	assert.Equal(t, []byte{1, 0, 0, 0, 0, 0, 0, 0}, raw)
}

func TestIterators(t *testing.T) {
	h := bpftest.New(t).Load(execObject).Map("execs_by_uid")
	for i := range uint32(20) {
		require.NoError(t, h.Put(i, uint64(i)*2))
	}
	var k uint32
	var v uint64
	n := 0
	it := h.Iterate()
	for it.Next(&k, &v) {
		assert.Equal(t, uint64(k)*2, v)
		n++
	}
	assert.NoError(t, it.Err())
	assert.False(t, it.Next(&k, &v))
	assert.Equal(t, 20, n)
	it = h.Iterate()
	assert.False(t, it.Next(&v, &v))
	assert.ErrorIs(t, it.Err(), bpftest.ErrSize)
	assert.False(t, it.Next(&k, &v), "an error stays")
}

func TestQueuesAndStacks(t *testing.T) {
	obj := bpftest.New(t).Load(mapsObject)
	for name, want := range map[string][]uint64{"queue": {1, 2, 3}, "stack": {3, 2, 1}} {
		m := obj.Map(name)
		size := m.ValueSize()
		push := func(v int) error {
			b := make([]byte, size)
			b[0] = byte(v)
			return m.Put(nil, b)
		}
		for v := 1; v <= 3; v++ {
			require.NoError(t, push(v), name)
		}
		var b []byte
		require.NoError(t, m.Lookup(nil, &b), "a look leaves it there")
		for _, v := range want {
			require.NoError(t, m.LookupAndDelete(nil, &b))
			assert.Equal(t, byte(v), b[0], name)
		}
		assert.ErrorIs(t, m.LookupAndDelete(nil, &b), bpftest.ErrKeyNotExist)
	}
	bloom := obj.Map("bloom_filter")
	assert.Error(t, bloom.Delete(nil))
}

func TestPerCPUMaps(t *testing.T) {
	obj := bpftest.New(t, bpftest.CPUs(3)).Load(mapsObject)
	m := obj.Map("lru_percpu_hash")
	require.NoError(t, m.Put(uint32(1), []uint64{5, 6, 7}))
	assert.Equal(t, map[uint32][]uint64{1: {5, 6, 7}}, bpftest.Elements[uint32, []uint64](m))
	assert.ErrorIs(t, m.Put(uint32(1), []uint64{5, 6}), bpftest.ErrSize)
	assert.ErrorIs(t, m.Put(uint32(1), []uint32{5, 6, 7}), bpftest.ErrSize)
	var one uint64
	assert.ErrorContains(t, m.Lookup(uint32(1), &one), "pointer to a slice")
	var small []uint32
	assert.ErrorIs(t, m.Lookup(uint32(1), &small), bpftest.ErrSize)
}

func TestMapsOfMapsAndPrograms(t *testing.T) {
	obj := bpftest.New(t).Load("../testdata/objects/clang-14/maps_values.o")
	outer, inner := obj.Map("outer_hash"), obj.Map("inner_a")
	require.NoError(t, outer.Put(uint32(3), inner))
	assert.ErrorContains(t, outer.Put(uint32(3), uint32(1)), "want a *Map")
	assert.ErrorContains(t, outer.Put(uint32(3), bpftest.New(t).Load("../testdata/objects/clang-14/maps_values.o").Map("inner_a")), "of the object")
	assert.NoError(t, outer.Delete(uint32(3)))

	jumps, first := obj.Map("jumps"), obj.Program("first")
	run := func(mark uint64) int32 {
		return first.Run(bpftest.Input{Fields: map[string]uint64{"mark": mark}}).Ret
	}
	assert.Equal(t, []int32{11, 33}, []int32{run(0), run(3)})
	require.NoError(t, jumps.Put(uint32(0), obj.Program("second")))
	assert.Equal(t, int32(33), run(0))
	assert.ErrorContains(t, jumps.Put(uint32(0), uint32(1)), "want a *Program")
	require.NoError(t, jumps.Delete(uint32(0)))
	assert.Equal(t, int32(11), run(0))
}

// TestMapsOfSockets: a socket of the object goes in, and nothing else.
func TestMapsOfSockets(t *testing.T) {
	load := func() *bpftest.Object { return bpftest.New(t).Load("../examples/sklookup/sklookup.bpf.o") }
	obj := load()
	m, other := obj.Map("server"), load()
	const listens = "s: !sock {state: TCP_LISTEN, sport: 80}"
	require.NoError(t, m.Put(uint32(0), obj.Objects(listens)["s"]))
	assert.ErrorContains(t, m.Put(uint32(0), obj.File("/etc/passwd", nil)), "value of map server")
	var none *bpftest.Struct
	for _, tt := range []struct {
		value any
		want  string
	}{
		{none, "*bpftest.Struct is nil"},
		{other.Objects(listens)["s"], "bpftest.Struct has no fixed size"},
		{m, "bpftest.Map has no fixed size"},
		{uint64(7), "EBADF"}, // descriptors are those of processes
	} {
		assert.ErrorContains(t, m.Put(uint32(0), tt.value), tt.want, "%T", tt.value)
	}
}

func TestVariables(t *testing.T) {
	k := bpftest.New(t)
	obj := k.Load("../examples/globals/globals.bpf.o", bpftest.Set("target_tgid", uint32(77)), bpftest.Set("count_by_number", true))
	prog := obj.Program("on_sys_enter")
	call := func(tgid int) {
		prog.Run(bpftest.Input{Current: obj.Task(bpftest.Fields{"pid": tgid, "tgid": tgid, "comm": "cat"}), Args: bpftest.Fields{"id": 3}})
	}
	call(76)
	call(77)
	assert.Equal(t, uint64(1), bpftest.Get[uint64](obj, "total"))
	assert.Equal(t, "cat", bpftest.Get[string](obj, "last_comm"))
	assert.Equal(t, struct{ Nr, Tgid uint32 }{3, 77}, bpftest.Get[struct{ Nr, Tgid uint32 }](obj, "last"))
	limit := obj.Var("limit")
	assert.Equal(t, 8, limit.Size())
	require.NoError(t, limit.Set(uint64(1)))
	call(77)
	assert.Equal(t, uint64(1), bpftest.Get[uint64](obj, "over_limit"))
	byNumber := bpftest.Get[[512]uint64](obj, "by_number")
	assert.Equal(t, uint64(1), byNumber[3])

	err := obj.Var("target_tgid").Set(uint32(1))
	assert.ErrorIs(t, err, bpftest.ErrReadOnly)
	assert.ErrorContains(t, err, `bpftest.Set("target_tgid", value)`)
	assert.ErrorIs(t, limit.Set(uint32(1)), bpftest.ErrSize)
	assert.ErrorIs(t, limit.Get(new(uint32)), bpftest.ErrSize)
}

// TestPerfRecords: the kernel pads records of perf buffers.
func TestPerfRecords(t *testing.T) {
	type failed struct {
		Tgid       uint32
		Ret, Flags int32
		Comm       [16]byte
		Path       [48]byte
	}
	obj := bpftest.New(t).Load("../examples/perfbuf/perfbuf.bpf.o")
	cat := obj.Task(bpftest.Fields{"pid": 11, "tgid": 10, "comm": "cat"})
	obj.Program("on_enter").Run(bpftest.Input{Current: cat, Args: bpftest.Fields{"filename": "/no/such/file", "flags": 0}})
	res := obj.Program("on_exit").Run(bpftest.Input{Current: cat, Args: bpftest.Fields{"ret": -2}, CPU: 1})
	list := bpftest.Records[failed](res, "events")
	require.Len(t, list, 1)
	assert.Equal(t, int32(-2), list[0].Ret)
	assert.Equal(t, "/no/such/file", bpftest.CString(list[0].Path[:]))
	require.Len(t, res.From("events"), 1)
	assert.Equal(t, 1, res.From("events")[0].CPU)
	assert.Empty(t, res.From("started"))
}

// TestTimersAndAnswers: callbacks run when time passes, or within the run; helpers answer what the
// test says.
func TestTimersAndAnswers(t *testing.T) {
	obj := bpftest.New(t).Load(execObject)
	prog := obj.Program("on_exec")
	res := prog.Run(bpftest.Input{Helpers: map[string]bpftest.Answer{"bpf_ringbuf_reserve": bpftest.Returns(0)}})
	assert.Empty(t, res.Records)
	for range 2 {
		res = prog.Run(bpftest.Input{Helpers: map[string]bpftest.Answer{"bpf_map_update_elem": bpftest.Fails("E2BIG").At(1)}})
		assert.Len(t, res.Records, 1)
	}
	before := obj.Now()
	obj.Advance(5e9)
	assert.Equal(t, before+5e9, obj.Now())

	obj = bpftest.New(t).Load("../testdata/objects/clang-14/callbacks.o")
	assert.NotEmpty(t, obj.Programs())
	r := record(func(t bpftest.TB) {
		obj := bpftest.New(t, bpftest.MaxInstructions(10000)).Load("../testdata/objects/clang-14/ticking.o")
		obj.Program("start").Run()
		obj.Advance(1e9)
	})
	require.Len(t, r.errors, 1)
	assert.Contains(t, r.errors[0], "a callback while time passed")
	assert.Contains(t, r.errors[0], "budget")
}

// TestContexts: syscall programs take Go values, networking programs fields.
func TestContexts(t *testing.T) {
	obj := bpftest.New(t).Load("../testdata/objects/clang-14/packets.o")
	assert.NotEmpty(t, obj.Programs())
	r := record(func(t bpftest.TB) {
		bpftest.New(t).Load(faultsObject).Program("ok_map_value_last").Run(bpftest.Input{Context: map[int]int{}})
	})
	assert.Contains(t, r.fatal, "Context: map[int]int has no fixed size")
	r = record(func(t bpftest.TB) {
		bpftest.New(t).Load(faultsObject).Program("ok_map_value_last").Run(bpftest.Input{Cookie: 5})
	})
	assert.Contains(t, r.fatal, "have no attach cookie")
	res := bpftest.New(t).Load("../examples/syscall/syscall.bpf.o")
	for _, p := range res.Programs() {
		assert.NoError(t, res.Program(p).Err())
	}
}
