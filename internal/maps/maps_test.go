package maps

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func k32(i uint32) []byte { return binary.LittleEndian.AppendUint32(nil, i) }
func k64(i uint64) []byte { return binary.LittleEndian.AppendUint64(nil, i) }

func newEnv(t testing.TB, cpus int) *Env {
	t.Helper()
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return &Env{Mem: m, CPUs: cpus}
}

func newMap(t testing.TB, env *Env, s Spec) Map {
	t.Helper()
	if s.Name == "" {
		s.Name = "m"
	}
	m, err := New(env, s)
	require.NoError(t, err)
	return m
}

func TestRefusals(t *testing.T) {
	env := newEnv(t, 2)
	var ns *NotSimulated
	for _, typ := range []uapi.MapType{uapi.MapTypeUnspec, 9999} {
		_, err := New(env, Spec{Name: "x", Type: typ, KeySize: 4, ValueSize: 4, MaxEntries: 1})
		require.ErrorAs(t, err, &ns)
		assert.Equal(t, typ, ns.Type)
	}
	_, err := New(env, Spec{Name: "big", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 1 << 20, MaxEntries: 1 << 30})
	assert.ErrorIs(t, err, ErrLimit)
	_, err = New(env, Spec{Name: "z", Type: uapi.MapTypeHash, KeySize: 0, ValueSize: 4, MaxEntries: 1})
	assert.ErrorIs(t, err, uapi.EINVAL)
	assert.Empty(t, env.Maps())
}

// TestMemoryOfAnElementThatNeverWasIsNamed: a program may read there, and the message must not need
// a key.
func TestMemoryOfAnElementThatNeverWasIsNamed(t *testing.T) {
	env := newEnv(t, 1)
	m := newMap(t, env, Spec{Type: uapi.MapTypeHash, KeySize: 44, ValueSize: 64, MaxEntries: 16})
	require.Equal(t, OK, m.Update(0, make([]byte, 44), make([]byte, 64), 0))
	addr, e := m.Lookup(0, make([]byte, 44))
	require.Equal(t, OK, e)
	r := env.Mem.Find(addr)
	require.NotNil(t, r)
	for i := range r.Count {
		assert.Contains(t, r.Describe(r.Base+i*r.Stride), "m")
	}
}

func TestLargeMapsAreLazy(t *testing.T) {
	env := newEnv(t, 4)
	for _, typ := range []uapi.MapType{uapi.MapTypeHash, uapi.MapTypeLRUHash, uapi.MapTypePercpuHash, uapi.MapTypeArray, uapi.MapTypePercpuArray} {
		before := env.Mem.Used()
		m := newMap(t, env, Spec{Type: typ, KeySize: 4, ValueSize: 64, MaxEntries: 10_000_000})
		for _, i := range []uint32{0, 5_000_000, 9_999_999} {
			require.Equal(t, OK, m.Update(0, k32(i), make([]byte, 64), 0))
			addr, e := m.Lookup(3, k32(i))
			require.Equal(t, OK, e)
			require.Nil(t, env.Mem.Store(addr+56, 8, 7))
			f := env.Mem.Store(addr+64, 1, 7)
			require.NotNil(t, f)
			assert.Equal(t, mem.OutOfBounds, f.Kind)
		}
		assert.Less(t, env.Mem.Used()-before, uint64(1<<20), typ)
		assert.Len(t, m.Entries(), 3)
	}
	require.NoError(t, env.Err())
}

func TestExhaustedMemoryIsReported(t *testing.T) {
	m, err := mem.New(mem.Config{Size: 16 << 20})
	require.NoError(t, err)
	defer m.Close()
	env := &Env{Mem: m, CPUs: 1}
	h := newMap(t, env, Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 1 << 20, MaxEntries: 100})
	var e uapi.Errno
	for i := uint32(0); i < 100 && e == OK; i++ {
		e = h.Update(0, k32(i), make([]byte, 1<<20), 0)
	}
	assert.Equal(t, uapi.ENOMEM, e)
	assert.Error(t, env.Err())
}

// A pointer to a deleted or replaced element, as a program may still hold it.
func TestDeletedElements(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags uint32
	}{{"preallocated", 0}, {"no prealloc", uapi.MapNoPrealloc}} {
		t.Run(tc.name, func(t *testing.T) {
			env := newEnv(t, 2)
			m := newMap(t, env, Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 4, Flags: tc.flags})
			require.Equal(t, OK, m.Update(0, k32(1), k64(11), 0))
			old, _ := m.Lookup(0, k32(1))
			require.Equal(t, OK, m.Update(0, k32(1), k64(12), 0))
			v, f := env.Mem.Load(old, 8)
			require.Nil(t, f)
			assert.Equal(t, uint64(11), v, "the replaced element keeps its value")
			now, _ := m.Lookup(0, k32(1))
			assert.NotEqual(t, old, now)
			require.Equal(t, OK, m.Delete(k32(1)))
			v, f = env.Mem.Load(now, 8)
			require.Nil(t, f, "deleted elements stay readable within the run")
			assert.Equal(t, uint64(12), v)

			require.Equal(t, OK, m.Update(0, k32(2), k64(21), 0))
			reused, _ := m.Lookup(0, k32(2))
			assert.Equal(t, tc.flags == 0, reused == now, "a preallocated element is reused at once")

			env.EndRun()
			for _, a := range []uint64{old, now} {
				if a == reused {
					continue
				}
				_, f = env.Mem.Load(a, 8)
				require.NotNil(t, f)
				assert.Equal(t, mem.UseAfterFree, f.Kind)
			}
			v, f = env.Mem.Load(reused, 8)
			require.Nil(t, f)
			assert.Equal(t, uint64(21), v)
			// Freed elements come back into use.
			for i := uint32(3); i < 6; i++ {
				require.Equal(t, OK, m.Update(0, k32(i), k64(uint64(i)), 0))
				a, _ := m.Lookup(0, k32(i))
				v, f = env.Mem.Load(a, 8)
				require.Nil(t, f)
				assert.Equal(t, uint64(i), v)
			}
			assert.Equal(t, uapi.E2BIG, m.Update(0, k32(9), k64(9), 0))
		})
	}
}

func TestLimboIsBounded(t *testing.T) {
	env := newEnv(t, 1)
	m := newMap(t, env, Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 4, Flags: uapi.MapNoPrealloc})
	for i := range uint32(100_000) {
		require.Equal(t, OK, m.Update(0, k32(i), k64(1), 0))
		require.Equal(t, OK, m.Delete(k32(i)))
	}
	assert.Less(t, env.Mem.Used(), uint64(1<<20))
}

func TestPerCPUValues(t *testing.T) {
	for _, typ := range []uapi.MapType{uapi.MapTypePercpuHash, uapi.MapTypeLRUPercpuHash, uapi.MapTypePercpuArray} {
		env := newEnv(t, 3)
		m := newMap(t, env, Spec{Type: typ, KeySize: 4, ValueSize: 4, MaxEntries: 2})
		require.Equal(t, OK, m.Update(1, k32(1), k32(7), 0))
		assert.Equal(t, []Entry{{Key: k32(1), PerCPU: [][]byte{k32(0), k32(7), k32(0)}}}, m.Entries(), "other CPUs' copies are zero")
		require.Equal(t, OK, m.Update(2, k32(1), k32(8), 0))
		all := append(append(k64(1), k64(2)...), k64(3)...)
		a, e := m.(PercpuLookup).LookupCPU(k32(1), 2)
		require.Equal(t, OK, e)
		b, _ := m.Lookup(2, k32(1))
		assert.Equal(t, a, b)
		_, e = m.(PercpuLookup).LookupCPU(k32(1), 3)
		assert.Equal(t, uapi.ENOENT, e)
		require.Equal(t, OK, UserUpdate(m, k32(1), all, 0))
		got, e := UserLookup(m, k32(1), nil, 0)
		require.Equal(t, OK, e)
		assert.Equal(t, all, got)
		if typ == uapi.MapTypePercpuArray {
			require.Equal(t, uapi.EEXIST, m.Update(0, k32(1), k32(9), uapi.NoExist))
		}
	}
}

// TestLRUOfOneElement: an update evicts the only element before it looks for its key.
func TestLRUOfOneElement(t *testing.T) {
	for _, c := range []struct {
		typ   uapi.MapType
		flags uint64
		errno uapi.Errno
		n     int // elements afterwards
	}{
		{uapi.MapTypeLRUHash, uapi.Any, OK, 1}, {uapi.MapTypeLRUHash, uapi.NoExist, OK, 1}, {uapi.MapTypeLRUHash, uapi.Exist, uapi.ENOENT, 0},
		{uapi.MapTypeLRUPercpuHash, uapi.Any, OK, 1}, {uapi.MapTypeLRUPercpuHash, uapi.NoExist, OK, 1}, {uapi.MapTypeLRUPercpuHash, uapi.Exist, OK, 1},
	} {
		m := newMap(t, newEnv(t, 2), Spec{Type: c.typ, KeySize: 4, ValueSize: 8, MaxEntries: 1})
		require.Equal(t, OK, m.Update(0, []byte{1, 0, 0, 0}, make([]byte, 8), 0))
		assert.Equal(t, c.errno, m.Update(0, []byte{1, 0, 0, 0}, []byte{9, 0, 0, 0, 0, 0, 0, 0}, c.flags), "%v flags %d", c.typ, c.flags)
		assert.Len(t, m.Entries(), c.n, "%v flags %d", c.typ, c.flags)
	}
	m := newMap(t, newEnv(t, 2), Spec{Type: uapi.MapTypeLRUHash, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	require.Equal(t, OK, m.Update(0, []byte{1, 0, 0, 0}, make([]byte, 8), 0))
	assert.Equal(t, uapi.ENOENT, m.Update(0, []byte{2, 0, 0, 0}, make([]byte, 8), uapi.Exist))
	assert.Empty(t, m.Entries(), "evicted for nothing")
}

func TestLRU(t *testing.T) {
	env := newEnv(t, 2)
	m := newMap(t, env, Spec{Type: uapi.MapTypeLRUHash, KeySize: 4, ValueSize: 8, MaxEntries: 3})
	for i := range uint32(3) {
		require.Equal(t, OK, m.Update(0, k32(i), k64(uint64(i)), 0))
	}
	_, e := m.Lookup(0, k32(0)) // 0 is used, 1 is the oldest
	require.Equal(t, OK, e)
	require.Equal(t, OK, m.Update(0, k32(3), k64(3), 0))
	_, e = UserLookup(m, k32(1), nil, 0)
	assert.Equal(t, uapi.ENOENT, e)
	_, e = UserLookup(m, k32(2), nil, 0) // user space's lookups do not count
	assert.Equal(t, OK, e)
	require.Equal(t, OK, m.Update(0, k32(4), k64(4), 0))
	_, e = UserLookup(m, k32(2), nil, 0)
	assert.Equal(t, uapi.ENOENT, e)
	// Replacement is a use, and evicts nothing.
	require.Equal(t, OK, m.Update(0, k32(0), k64(5), uapi.Exist))
	require.Equal(t, OK, m.Update(0, k32(5), k64(5), 0))
	_, e = UserLookup(m, k32(3), nil, 0)
	assert.Equal(t, uapi.ENOENT, e)

	for i := range uint32(1000) {
		require.Equal(t, OK, m.Update(0, k32(i), k64(uint64(i)), 0))
		require.LessOrEqual(t, len(m.Entries()), 3)
	}

	per := newMap(t, env, Spec{Type: uapi.MapTypeLRUHash, KeySize: 4, ValueSize: 8, MaxEntries: 3, Flags: uapi.MapNoCommonLRU})
	assert.Equal(t, uint32(4), per.Spec().MaxEntries, "rounded up to a multiple of the CPUs")
	for i := range uint32(10) {
		require.Equal(t, OK, per.Update(0, k32(i), k64(0), 0))
	}
	assert.Len(t, per.Entries(), 2, "one CPU's share")
}

// TestListsOfCPUs: with BPF_F_NO_COMMON_LRU an element stays in the list of the CPU that stores it,
// also when it replaces one.
func TestListsOfCPUs(t *testing.T) {
	m := newMap(t, newEnv(t, 2), Spec{Type: uapi.MapTypeLRUHash, KeySize: 4, ValueSize: 8, MaxEntries: 4, Flags: uapi.MapNoCommonLRU})
	for _, key := range []uint32{1, 2, 1, 3} { // 2 is the least recently used when 3 comes
		require.Equal(t, OK, m.Update(1, k32(key), k64(0), 0))
	}
	for key, want := range map[uint32]uapi.Errno{1: OK, 2: uapi.ENOENT, 3: OK} {
		_, e := UserLookup(m, k32(key), nil, 0)
		assert.Equal(t, want, e, key)
	}
}

func TestRingbufAccounting(t *testing.T) {
	env := newEnv(t, 1)
	r := newMap(t, env, Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 4096}).(RingBuffer)
	_, ok := r.Reserve(4096-8+1, 0)
	assert.False(t, ok)
	// A record that would fill the ring completely does not fit: the positions may differ by 4095
	// at most.
	_, ok = r.Reserve(4096-8, 0)
	assert.False(t, ok)
	_, ok = r.Reserve(8, 1)
	assert.False(t, ok, "flags must be 0")

	a, ok := r.Reserve(5, 0)
	require.True(t, ok)
	b, ok := r.Reserve(16, 0)
	require.True(t, ok)
	assert.Equal(t, uint64(16+24), r.Query(uapi.RbAvailData))
	require.Nil(t, env.Mem.Write(a, []byte("hello")))
	require.NotNil(t, env.Mem.Store(a+5, 1, 0), "a record ends where its size ends")
	require.Equal(t, OK, r.Submit(b, 0))
	f := env.Mem.Store(b, 8, 1)
	require.NotNil(t, f)
	assert.Equal(t, mem.UseAfterFree, f.Kind)
	assert.Equal(t, uapi.ENOENT, r.Submit(b, 0))
	assert.Empty(t, r.Records(), "an open record blocks those behind it")
	assert.Equal(t, []uint64{a}, r.Open())
	env.EndRun()
	assert.Equal(t, uint64(0), r.Query(uapi.RbConsPos))
	require.Equal(t, OK, r.Submit(a, 0))
	env.EndRun()
	assert.Equal(t, uint64(40), r.Query(uapi.RbConsPos))
	assert.Equal(t, uint64(40), r.Query(uapi.RbProdPos))
	assert.Equal(t, uint64(4096), r.Query(uapi.RbRingSize))
	rec := r.Records()
	require.Len(t, rec, 2)
	assert.Equal(t, "hello", string(rec[0].Data))
	assert.Equal(t, []uint64{2, 2}, []uint64{rec[0].Seq, rec[1].Seq}, "in the order of reservation, whatever that of completion")

	c, ok := r.Reserve(0, 0)
	require.True(t, ok)
	require.Equal(t, OK, r.Discard(c, 0))
	n := 0
	for r.Output(make([]byte, 24), 0) == OK {
		n++
	}
	assert.Equal(t, (4095-8)/32, n)
	assert.Equal(t, uapi.EAGAIN, r.Output(make([]byte, 24), 0))
	assert.Equal(t, uapi.EINVAL, r.Output(nil, 4))
	assert.Len(t, r.TakeRecords(), n+2)
	assert.Empty(t, r.Records())
}

func TestConsumeModes(t *testing.T) {
	for mode, want := range map[ConsumeMode]int{ConsumeEachRun: 2 * 255, ConsumeAtOnce: 2 * 300, ConsumeNever: 255} {
		env := newEnv(t, 1)
		env.Consume = mode
		r := newMap(t, env, Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 4096}).(RingBuffer)
		for range 2 {
			for range 300 {
				r.Output(make([]byte, 8), 0)
			}
			env.EndRun()
		}
		assert.Len(t, r.Records(), want, mode)
	}
}

func TestPerfArray(t *testing.T) {
	env := newEnv(t, 2)
	p := newMap(t, env, Spec{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 4}).(PerfArray)
	assert.Equal(t, OK, p.Output(1, uapi.PerfCurrentCPU, []byte("a")))
	assert.Equal(t, OK, p.Output(0, 0, []byte("b")))
	assert.Equal(t, uapi.EOPNOTSUPP, p.Output(0, 1, []byte("c")), "the event of another CPU")
	assert.Equal(t, uapi.ENOENT, p.Output(0, 3, nil))
	assert.Equal(t, uapi.E2BIG, p.Output(0, 4, nil))
	assert.Equal(t, uapi.EINVAL, p.Output(0, 1<<40, nil))
	assert.Equal(t, []Record{{Seq: 1, CPU: 1, Data: []byte("a")}, {Seq: 2, Data: []byte("b")}}, p.Records())
	env.Now = func() uint64 { return 77 }
	assert.Equal(t, OK, p.Output(0, 0, []byte("c")))
	assert.Equal(t, uint64(77), p.TakeRecords()[2].At, "when it was sent")
	env.PerfBytes = 64
	assert.Equal(t, OK, p.Output(0, 0, make([]byte, 40)))
	assert.Equal(t, uapi.ENOSPC, p.Output(0, 0, make([]byte, 4)))
	assert.Equal(t, uint64(1), p.Lost())
	env.EndRun()
	assert.Equal(t, OK, p.Output(0, 0, make([]byte, 4)))
	auto := newMap(t, env, Spec{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4})
	assert.Equal(t, uint32(2), auto.Spec().MaxEntries)
}

func TestStackTrace(t *testing.T) {
	env := newEnv(t, 1)
	s := newMap(t, env, Spec{Type: uapi.MapTypeStackTrace, KeySize: 4, ValueSize: 16, MaxEntries: 2}).(StackTrace)
	id := s.StackID([]uint64{1, 2, 3}, 0)
	require.GreaterOrEqual(t, id, int64(0))
	assert.Equal(t, id, s.StackID([]uint64{1, 2, 9}, 0), "only two frames fit")
	assert.Equal(t, id, s.StackID([]uint64{7, 1, 2}, 1), "one frame skipped")
	assert.Equal(t, uapi.EFAULT.Neg(), s.StackID([]uint64{7}, 1))
	assert.Equal(t, uapi.EINVAL.Neg(), s.StackID([]uint64{7}, 1<<20))
	ips, ok := s.Stack(uint32(id))
	require.True(t, ok)
	assert.Equal(t, []uint64{1, 2}, ips)
	var clash uint64
	for i := uint64(100); ; i++ {
		if e := s.StackID([]uint64{i}, 0); e == uapi.EEXIST.Neg() {
			clash = i
			break
		}
	}
	got := s.StackID([]uint64{clash}, uapi.StackReuseID)
	ips, _ = s.Stack(uint32(got))
	assert.Equal(t, []uint64{clash}, ips)
}

func TestMapsOfMaps(t *testing.T) {
	env := newEnv(t, 1)
	inner := Spec{Name: "in", Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 1}
	a, other := newMap(t, env, inner), newMap(t, env, Spec{Type: uapi.MapTypeHash, KeySize: 8, ValueSize: 8, MaxEntries: 1})
	bigger := inner
	bigger.MaxEntries = 50
	b := newMap(t, env, bigger)
	for _, typ := range []uapi.MapType{uapi.MapTypeArrayOfMaps, uapi.MapTypeHashOfMaps} {
		o := newMap(t, env, Spec{Name: "out", Type: typ, KeySize: 4, ValueSize: 4, MaxEntries: 2, Inner: &inner}).(OuterMap)
		assert.Equal(t, OK, o.SetInner(k32(0), a, 0))
		assert.Equal(t, OK, o.SetInner(k32(1), b, 0), "max_entries may differ")
		assert.Equal(t, uapi.E2BIG, o.SetInner(k32(2), a, 0))
		assert.Equal(t, uapi.EINVAL, o.SetInner(k32(1), other, 0))
		addr, e := o.Lookup(0, k32(0))
		assert.Equal(t, OK, e)
		assert.Equal(t, a.Addr(), addr)
		m, ok := env.ByAddr(addr)
		require.True(t, ok)
		assert.Equal(t, a, m)
		_, e = o.Lookup(0, k32(7))
		assert.Equal(t, uapi.ENOENT, e)
		assert.Len(t, o.Entries(), 2)
		assert.Equal(t, OK, o.Delete(k32(0)))
		assert.Equal(t, uapi.ENOENT, o.Delete(k32(0)))
	}
	_, err := New(env, Spec{Type: uapi.MapTypeArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1, Inner: &Spec{Type: uapi.MapTypeProgArray}})
	assert.ErrorIs(t, err, uapi.ENOTSUPP)
}

func TestStorage(t *testing.T) {
	env := newEnv(t, 1)
	s := newMap(t, env, Spec{Type: uapi.MapTypeTaskStorage, KeySize: 4, ValueSize: 8, Flags: uapi.MapNoPrealloc}).(LocalStorage)
	_, e := s.Get(0x1000, nil, false)
	assert.Equal(t, uapi.ENOENT, e)
	a, e := s.Get(0x1000, k64(5), true)
	require.Equal(t, OK, e)
	b, _ := s.Get(0x1000, k64(9), true)
	assert.Equal(t, a, b)
	c, _ := s.Get(0x2000, nil, true)
	assert.NotEqual(t, a, c)
	v, _ := env.Mem.Load(a, 8)
	assert.Equal(t, uint64(5), v)
	assert.Equal(t, OK, s.DeleteOwner(0x1000))
	assert.Equal(t, uapi.ENOENT, s.DeleteOwner(0x1000))
	env.EndRun()
	_, f := env.Mem.Load(a, 8)
	assert.NotNil(t, f)
	assert.Len(t, s.Entries(), 1)
}

func TestArena(t *testing.T) {
	env := newEnv(t, 1)
	a := newMap(t, env, Spec{Type: uapi.MapTypeArena, MaxEntries: 8, Flags: uapi.MapMmapable}).(Arena)
	p := a.AllocPages(0, 2)
	require.Equal(t, a.UserBase(), p)
	k := a.ToKernel(p)
	require.Nil(t, env.Mem.Store(k+8, 8, 42))
	v, f := env.Mem.Load(k+8, 8)
	require.Nil(t, f)
	assert.Equal(t, uint64(42), v)
	assert.Equal(t, p, a.ToUser(k))
	assert.Zero(t, a.ToKernel(0))
	assert.Equal(t, p+4096*4, a.AllocPages(p+4096*4, 1))
	assert.Zero(t, a.AllocPages(p, 1), "taken")
	assert.Equal(t, p+4096*2, a.AllocPages(0, 2), "the smallest range that fits")
	a.FreePages(p, 1)
	assert.Equal(t, p, a.AllocPages(0, 1))
	assert.Zero(t, a.AllocPages(0, 4))
	v, f = env.Mem.Load(a.ToKernel(p)+8, 8)
	require.Nil(t, f)
	assert.Zero(t, v, "a fresh page is zero")
}

func TestUserRing(t *testing.T) {
	env := newEnv(t, 1)
	u := newMap(t, env, Spec{Type: uapi.MapTypeUserRingbuf, MaxEntries: 4096}).(UserRing)
	_, _, e := u.Next()
	assert.Equal(t, uapi.ENODATA, e)
	require.Equal(t, OK, u.Push([]byte("one")))
	addr, n, e := u.Next()
	require.Equal(t, OK, e)
	buf := make([]byte, n)
	require.Nil(t, env.Mem.Read(addr, buf))
	assert.Equal(t, "one", string(buf))
	assert.NotNil(t, env.Mem.Store(addr, 1, 0), "samples are read-only")
	u.Release(addr)
	assert.NotNil(t, env.Mem.Read(addr, buf))
	for range 256 {
		require.Equal(t, OK, u.Push(make([]byte, 8)))
	}
	assert.Equal(t, uapi.ENOSPC, u.Push(nil))
}

func TestLPMOrderAndLookup(t *testing.T) {
	env := newEnv(t, 1)
	m := newMap(t, env, Spec{Type: uapi.MapTypeLPMTrie, KeySize: 8, ValueSize: 4, MaxEntries: 10, Flags: uapi.MapNoPrealloc})
	key := func(n uint32, ip ...byte) []byte { return append(k32(n), ip...) }
	for i, k := range [][]byte{key(16, 192, 168, 9, 9), key(24, 192, 168, 0, 0), key(24, 192, 168, 128, 0), key(24, 192, 168, 1, 0), key(0, 1, 1, 1, 1)} {
		require.Equal(t, OK, m.Update(0, k, k32(uint32(i)), 0))
	}
	look := func(k []byte) int {
		a, e := m.Lookup(0, k)
		if e != OK {
			return -1
		}
		v, _ := env.Mem.Load(a, 4)
		return int(v)
	}
	assert.Equal(t, 3, look(key(32, 192, 168, 1, 77)))
	assert.Equal(t, 0, look(key(32, 192, 168, 7, 77)))
	assert.Equal(t, 0, look(key(20, 192, 168, 1, 77)))
	assert.Equal(t, 4, look(key(32, 10, 0, 0, 1)))
	var order []string
	for k, e := m.NextKey(nil); e == OK; k, e = m.NextKey(k) {
		order = append(order, fmt.Sprint(k[0], k[4:]))
	}
	assert.Equal(t, []string{"24 [192 168 0 0]", "24 [192 168 1 0]", "24 [192 168 128 0]", "16 [192 168 9 9]", "0 [1 1 1 1]"}, order)
}

func TestIndexAgainstMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, size := range []int{1, 4, 8, 13, 16} {
		x := index{keySize: size}
		want := map[string]uint32{}
		var free []uint32
		var next uint32
		for range 20000 {
			key := make([]byte, size)
			key[0], key[size-1] = byte(rnd.IntN(256)), byte(rnd.IntN(4))
			h := hashKey(key)
			slot := x.find(h, key)
			w, ok := want[string(key)]
			require.Equal(t, ok, slot != noSlot)
			switch {
			case ok:
				require.Equal(t, w, slot)
				if rnd.IntN(2) == 0 {
					x.remove(h, slot)
					delete(want, string(key))
					free = append(free, slot)
				}
			default:
				if n := len(free); n > 0 {
					slot, free = free[n-1], free[:n-1]
				} else {
					slot = next
					next++
				}
				x.insert(h, slot, key)
				want[string(key)] = slot
			}
			require.Equal(t, len(want), x.n)
		}
	}
}

// TestRingbufOverwrite follows the positions of a full ring through records that take the place of
// old ones.
func TestRingbufOverwrite(t *testing.T) {
	for _, mode := range []ConsumeMode{ConsumeNever, ConsumeEachRun, ConsumeAtOnce} {
		env := newEnv(t, 1)
		env.Consume = mode
		env.KernelVersion = uapi.VersionCode(6, 19)
		r := newMap(t, env, Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 4096, Flags: uapi.MapRbOverwrite}).(RingBuffer)
		for i := range 3 {
			require.Equal(t, OK, r.Output([]byte{byte(i)}, 0)) // 16 bytes in the ring
		}
		assert.Zero(t, r.Query(uapi.RbOverwritePos))
		require.Equal(t, OK, r.Output(make([]byte, 4096-3*16-8-16), 0), "all but 16 bytes are taken")
		require.Equal(t, OK, r.Output(make([]byte, 8), 0), "the first record is given up")
		assert.EqualValues(t, 16, r.Query(uapi.RbOverwritePos), mode)
		assert.EqualValues(t, 4096, r.Query(uapi.RbProdPos))
		if mode == ConsumeAtOnce {
			assert.Zero(t, r.Query(uapi.RbAvailData))
		} else {
			assert.EqualValues(t, 4080, r.Query(uapi.RbAvailData))
			assert.EqualValues(t, []byte{1}, r.Records()[0].Data, "the oldest is lost")
		}
		open, ok := r.Reserve(8, 0)
		require.True(t, ok)
		assert.EqualValues(t, 32, r.Query(uapi.RbOverwritePos))
		_, ok = r.Reserve(4096-8-16, 0)
		assert.False(t, ok, "an open record is not overwritten")
		assert.EqualValues(t, 32, r.Query(uapi.RbOverwritePos), "nothing is given up for a record that does not fit")
		require.Equal(t, OK, r.Submit(open, 0))
		require.Equal(t, OK, r.Output(make([]byte, 4096-8-16), 0))
		assert.EqualValues(t, 4112, r.Query(uapi.RbOverwritePos))
		env.EndRun()
		if mode == ConsumeEachRun {
			assert.Len(t, r.Records(), 1)
			assert.Equal(t, r.Query(uapi.RbProdPos), r.Query(uapi.RbConsPos))
			assert.Zero(t, r.Query(uapi.RbAvailData))
		}
	}
}

// TestRingbufOverwriteRelease: the flag exists since 6.19, and only for ring buffers that programs
// write.
func TestRingbufOverwriteRelease(t *testing.T) {
	for _, c := range []struct {
		minor uint32
		typ   uapi.MapType
		ok    bool
	}{{18, uapi.MapTypeRingbuf, false}, {19, uapi.MapTypeRingbuf, true}, {19, uapi.MapTypeUserRingbuf, false}} {
		env := newEnv(t, 1)
		env.KernelVersion = uapi.VersionCode(6, c.minor)
		_, err := New(env, Spec{Type: c.typ, MaxEntries: 4096, Flags: uapi.MapRbOverwrite})
		assert.Equal(t, c.ok, err == nil, "6.%d %v: %v", c.minor, c.typ, err)
	}
}
