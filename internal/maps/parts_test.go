package maps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestWhichMapsHaveWhichFields walks all kinds of special fields and all types of maps
// (map_check_btf).
func TestWhichMapsHaveWhichFields(t *testing.T) {
	all := []SpecialKind{SpinLock, ResSpinLock, Timer, Workqueue, TaskWork, KptrUntrusted, Kptr, KptrPercpu, Uptr, ListHead, RBRoot, Refcount}
	names := map[SpecialKind]string{SpinLock: "lock", ResSpinLock: "resilient", Timer: "timer", Workqueue: "wq", TaskWork: "task_work", KptrUntrusted: "kptr_untrusted", Kptr: "kptr", KptrPercpu: "percpu_kptr", Uptr: "uptr", ListHead: "list", RBRoot: "tree", Refcount: "refcount"}
	want := map[uapi.MapFields]string{
		uapi.AllFields:      "lock resilient timer wq task_work kptr_untrusted kptr percpu_kptr list tree refcount",
		uapi.UnlockedFields: "timer wq task_work kptr_untrusted kptr percpu_kptr list tree refcount",
		uapi.PointerFields:  "kptr_untrusted kptr percpu_kptr refcount",
		uapi.StorageFields:  "lock resilient kptr_untrusted kptr percpu_kptr refcount",
		uapi.TaskFields:     "lock resilient kptr_untrusted kptr percpu_kptr uptr refcount",
		uapi.CgroupFields:   "lock resilient refcount",
	}
	seen := map[uapi.MapFields]bool{}
	for typ := range constructors {
		got := ""
		for _, k := range all {
			if k.allowed(typ) {
				got += " " + names[k]
			}
		}
		if got != "" {
			got = got[1:]
		}
		assert.Equal(t, want[typ.Fields()], got, "%v", typ)
		seen[typ.Fields()] = true
	}
	for f := range want {
		assert.True(t, seen[f], "%v", f)
	}
}

// TestWhichMapsFitATemplate: each attribute in which an inner map must be as its template.
func TestWhichMapsFitATemplate(t *testing.T) {
	spec, val := valueType(t)
	array := Spec{Name: "in", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 64, MaxEntries: 2}
	typed := array
	typed.BTF, typed.KeyType, typed.ValueType = spec, 1, val
	for name, tt := range map[string]struct {
		template Spec
		change   func(*Spec)
		want     bool
	}{
		"equal":                         {array, func(*Spec) {}, true},
		"more elements":                 {array, func(s *Spec) { s.MaxEntries++ }, false},
		"more elements, allowed":        {with(array, uapi.MapInnerMap), func(s *Spec) { s.MaxEntries++ }, true},
		"a larger value":                {array, func(s *Spec) { s.ValueSize++ }, false},
		"other flags":                   {array, func(s *Spec) { s.Flags = uapi.MapMmapable }, false},
		"another type":                  {array, func(s *Spec) { s.Type = uapi.MapTypeHash }, false},
		"special fields":                {array, func(s *Spec) { *s = typed }, false},
		"special fields of both":        {typed, func(*Spec) {}, true},
		"special fields of one":         {typed, func(s *Spec) { *s = array }, false},
		"a hash with more elements":     {Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 2}, func(s *Spec) { s.MaxEntries++ }, true},
		"a longer key":                  {Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 2}, func(s *Spec) { s.KeySize++ }, false},
		"an xskmap":                     {Spec{Type: uapi.MapTypeXskmap, KeySize: 4, ValueSize: 4, MaxEntries: 2}, func(*Spec) {}, true},
		"an xskmap with more elements":  {Spec{Type: uapi.MapTypeXskmap, KeySize: 4, ValueSize: 4, MaxEntries: 2}, func(s *Spec) { s.MaxEntries++ }, false},
		"a devmap, whose flags changed": {Spec{Type: uapi.MapTypeDevmap, KeySize: 4, ValueSize: 4, MaxEntries: 2}, func(*Spec) {}, true},
		"a hashed devmap":               {Spec{Type: uapi.MapTypeDevmapHash, KeySize: 4, ValueSize: 4, MaxEntries: 2}, func(*Spec) {}, true},
	} {
		env, in := newEnv(t, 1), tt.template
		in.Name = "m"
		tt.change(&in)
		m := newMap(t, env, in)
		assert.Equal(t, tt.want, matches(&tt.template, m), name)
	}
}

func with(s Spec, flags uint32) Spec { s.Flags |= flags; return s }

// TestReservedPages (arena_reserve_pages): at the borders of the arena and of free pages.
func TestReservedPages(t *testing.T) {
	for _, tt := range []struct {
		page   uint64 // from the arena's start
		off    uint64
		count  uint32
		want   uapi.Errno
		before uint32 // pages reserved at 4
	}{
		{0, 0, 8, OK, 0}, {0, 0, 9, uapi.EINVAL, 0}, {7, 0, 1, OK, 0}, {7, 0, 2, uapi.EINVAL, 0}, {8, 0, 1, uapi.EINVAL, 0}, {9, 0, 1, uapi.EINVAL, 0}, {9, 0, 0, OK, 0}, {0, 1, 1, uapi.EINVAL, 0},
		{0, 0, 4, OK, 2}, {0, 0, 5, uapi.EBUSY, 2}, {4, 0, 1, uapi.EBUSY, 2}, {5, 0, 1, uapi.EBUSY, 2}, {6, 0, 2, OK, 2}, {3, 0, 1, OK, 2}, {3, 0, 2, uapi.EBUSY, 2},
	} {
		a := newMap(t, newEnv(t, 1), Spec{Type: uapi.MapTypeArena, MaxEntries: 8, Flags: uapi.MapMmapable}).(Arena)
		require.Equal(t, OK, a.ReservePages(a.UserBase()+4*4096, tt.before))
		assert.Equal(t, tt.want, a.ReservePages(a.UserBase()+tt.page*4096+tt.off, tt.count), "%+v", tt)
	}
}

// TestElementsOfArrays: addresses, walks and rows end with the last element and CPU.
func TestElementsOfArrays(t *testing.T) {
	env := newEnv(t, 2)
	one := newMap(t, env, Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 8, MaxEntries: 1}).(ValueBase)
	base, e := one.DirectValue(0)
	require.Equal(t, OK, e)
	last, e := one.DirectValue(7)
	assert.Equal(t, OK, e)
	assert.Equal(t, base+7, last)
	_, e = one.DirectValue(8)
	assert.Equal(t, uapi.EINVAL, e)
	for _, typ := range []uapi.MapType{uapi.MapTypeArray, uapi.MapTypePercpuArray} {
		m := newMap(t, env, Spec{Type: typ, KeySize: 4, ValueSize: 8, MaxEntries: 3})
		for _, cpu := range []int{-1, 0, 1} {
			var c Cursor
			for i := range uint32(3) {
				key, addr, ok := m.(Walker).Walk(cpu, &c)
				require.True(t, ok)
				assert.Equal(t, k32(i), key)
				want, e := m.Lookup(max(cpu, 0), k32(i))
				require.Equal(t, OK, e)
				assert.Equal(t, want, addr, "%v on %d", typ, cpu)
				row := m.(Strider).Stride(cpu, c)
				assert.Equal(t, addr, row.Addr)
				assert.Equal(t, i, row.Index)
				assert.EqualValues(t, 3, row.End)
			}
			_, _, ok := m.(Walker).Walk(cpu, &c)
			assert.False(t, ok)
		}
		next, e := m.NextKey(nil)
		require.Equal(t, OK, e)
		assert.Equal(t, k32(0), next)
		_, e = m.NextKey(k32(2))
		assert.Equal(t, uapi.ENOENT, e)
		_, e = m.NextKey(k32(0)[:3])
		assert.Equal(t, uapi.EINVAL, e)
	}
}

// full is a sink without room.
type full struct{ samples int }

func (f *full) Sample(uint32, int, []byte) bool { f.samples++; return f.samples == 1 }
func (*full) Count(slot uint32, _ int) (PerfCount, uapi.Errno) {
	return PerfCount{Value: uint64(slot)}, OK
}

// TestSinksOfPerfEvents: what they have no room for is lost, and they count.
func TestSinksOfPerfEvents(t *testing.T) {
	env := newEnv(t, 2)
	p := newMap(t, env, Spec{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 3}).(PerfArray)
	_, known, e := p.Count(0, 0)
	assert.Equal(t, OK, e)
	assert.False(t, known)
	_, known, e = p.Count(2, 0)
	assert.Equal(t, uapi.ENOENT, e)
	assert.True(t, known)
	p.SetSink(&full{})
	assert.Equal(t, OK, p.Output(0, 0, nil))
	assert.Equal(t, uapi.ENOSPC, p.Output(0, 0, nil))
	assert.Equal(t, uint64(1), p.Lost())
	c, known, e := p.Count(1, 1)
	assert.Equal(t, OK, e)
	assert.True(t, known)
	assert.Equal(t, uint64(1), c.Value)
	assert.Equal(t, OK, p.SetEvent(2, 0))
	_, e = p.EventCPU(2)
	assert.Equal(t, OK, e)
	assert.Equal(t, OK, p.SetEvent(2, -1))
	_, e = p.EventCPU(2)
	assert.Equal(t, uapi.ENOENT, e)
	assert.Equal(t, uapi.ENODEV, p.SetEvent(2, 2))
	assert.Equal(t, uapi.E2BIG, p.SetEvent(3, 0))
}

// TestSamplesOfUserRings: the largest one, and one at a time.
func TestSamplesOfUserRings(t *testing.T) {
	u := newMap(t, newEnv(t, 1), Spec{Type: uapi.MapTypeUserRingbuf, MaxEntries: 4096}).(UserRing)
	assert.Equal(t, uapi.E2BIG, u.Push(make([]byte, 4096-7)))
	assert.Equal(t, OK, u.Push(make([]byte, 4096-8)))
	assert.Empty(t, u.(*userRing).regions(), "no sample is being read")
	addr, size, e := u.Next()
	require.Equal(t, OK, e)
	assert.EqualValues(t, 4096-8, size)
	require.Len(t, u.(*userRing).regions(), 1)
	assert.Equal(t, addr, u.(*userRing).regions()[0].Base)
	_, _, e = u.Next()
	assert.Equal(t, uapi.EBUSY, e)
	u.Release(addr)
	assert.Empty(t, u.(*userRing).regions(), "it was read")
	_, _, e = u.Next()
	assert.Equal(t, uapi.ENODATA, e)
}

// TestWhichRecordsAreInRows: those of the first four sizes of up to 128 bytes, from the 65th of a
// size on.
func TestWhichRecordsAreInRows(t *testing.T) {
	r := newMap(t, newEnv(t, 1), Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 4096}).(*ringbuf)
	count := func(size uint64, n int) (row *ringRow) {
		for range n {
			row = r.countRow(size)
		}
		return row
	}
	assert.Nil(t, count(0, rowAfter+1))
	assert.Nil(t, count(MaxRowRecord+1, rowAfter+1))
	for _, size := range []uint64{MaxRowRecord, 1, 8, 16} {
		assert.Nil(t, count(size, rowAfter), "%d bytes", size)
		row := count(size, 1)
		require.NotNil(t, row, "%d bytes", size)
		assert.Equal(t, size, row.size)
		assert.Same(t, row, count(size, 1))
	}
	assert.Nil(t, count(24, rowAfter+1), "a fifth size")
}

// TestKeysAndValuesOfSockmaps: a sockmap has indices, a sockhash keys of any size up to 512 bytes
// (sock_map_alloc, sock_hash_alloc).
func TestKeysAndValuesOfSockmaps(t *testing.T) {
	for _, c := range []struct {
		typ              uapi.MapType
		key, value, most uint32
		want             uapi.Errno
	}{
		{uapi.MapTypeSockmap, 4, 4, 1, OK}, {uapi.MapTypeSockmap, 4, 8, 1, OK}, {uapi.MapTypeSockmap, 4, 5, 1, uapi.EINVAL}, {uapi.MapTypeSockmap, 4, 4, 0, uapi.EINVAL},
		{uapi.MapTypeSockmap, 0, 4, 1, uapi.EINVAL}, {uapi.MapTypeSockmap, 8, 4, 1, uapi.EINVAL},
		{uapi.MapTypeSockhash, 1, 4, 1, OK}, {uapi.MapTypeSockhash, 512, 8, 1, OK}, {uapi.MapTypeSockhash, 0, 4, 1, uapi.EINVAL}, {uapi.MapTypeSockhash, 513, 4, 1, uapi.E2BIG},
	} {
		_, err := New(newEnv(t, 1), Spec{Name: "m", Type: c.typ, KeySize: c.key, ValueSize: c.value, MaxEntries: c.most})
		if c.want == OK {
			assert.NoError(t, err, "%v with keys of %d bytes and values of %d", c.typ, c.key, c.value)
			continue
		}
		assert.ErrorIs(t, err, c.want, "%v with keys of %d bytes and values of %d", c.typ, c.key, c.value)
	}
}

// TestLargeMaps: too many elements to list, or too many bytes.
func TestLargeMaps(t *testing.T) {
	env := newEnv(t, 1)
	h := newMap(t, env, Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 4, MaxEntries: mostListed + 1})
	for i := range uint32(mostListed + 1) {
		n, large := Large(h)
		assert.Equal(t, int(i), n)
		require.False(t, large, "%d", i)
		require.Equal(t, OK, h.Update(0, k32(i), k32(i), 0))
	}
	_, large := Large(h)
	assert.True(t, large)
	const value = 1 << 16
	w := newMap(t, env, Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: value, MaxEntries: mostListedBytes/value + 2})
	for i := range uint32(mostListedBytes/(value+4) + 1) {
		_, large := Large(w)
		require.False(t, large, "%d", i)
		require.Equal(t, OK, w.Update(0, k32(i), make([]byte, value), 0))
	}
	_, large = Large(w)
	assert.True(t, large)
	_, large = Large(newMap(t, env, Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 4, MaxEntries: mostListed + 1}))
	assert.False(t, large, "programs create no elements of arrays")
}

// TestMemoryOfValuesGrows: maps of another machine get the memory that these maps have.
func TestMemoryOfValuesGrows(t *testing.T) {
	specs := []Spec{
		{Name: "q", Type: uapi.MapTypeQueue, ValueSize: 4, MaxEntries: 4},
		{Name: "a", Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 32 << 10, MaxEntries: 8},
		{Name: "h", Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 8},
	}
	env, other := newEnv(t, 1), newEnv(t, 1)
	for _, s := range specs {
		newMap(t, env, s)
		newMap(t, other, s)
	}
	before := env.Grown()
	assert.Len(t, before, len(specs))
	assert.Equal(t, before, other.Grown())
	maps := env.Maps()
	require.Equal(t, OK, maps[1].Update(0, k32(5), make([]byte, 32<<10), 0))
	require.Equal(t, OK, maps[2].Update(0, k32(5), k64(1), 0))
	grown := env.Grown()
	assert.NotEqual(t, before, grown)
	other.Grow(grown)
	assert.Equal(t, grown, other.Grown())
	other.Grow(grown)
	assert.Equal(t, grown, other.Grown(), "they have it already")
	other.Grow(grown[:1])
	assert.Equal(t, grown, other.Grown())
}

// TestFlagsOfDeletionsAndUpdates: a struct that is a link stays, and only values with a lock are
// locked.
func TestFlagsOfDeletionsAndUpdates(t *testing.T) {
	env := newEnv(t, 1)
	for flags, want := range map[uint32]uapi.Errno{0: OK, uapi.MapLink: uapi.EOPNOTSUPP} {
		m := newMap(t, env, Spec{Type: uapi.MapTypeStructOps, KeySize: 4, ValueSize: 8, MaxEntries: 1, Flags: flags})
		require.Equal(t, OK, m.Update(AllCPUs, k32(0), k64(1), 0))
		assert.Equal(t, want, m.Delete(k32(0)), "%#x", flags)
	}
	p := newMap(t, env, Spec{Type: uapi.MapTypeProgArray, KeySize: 4, ValueSize: 4, MaxEntries: 2})
	require.Implements(t, (*ProgArray)(nil), p)
	assert.Len(t, p.(ProgArray).Links(), 2)
	assert.Equal(t, OK, p.(ProgArray).SetProg(1, "program"))
	_, ok := p.(ProgArray).Prog(0)
	assert.False(t, ok)
	prog, ok := p.(ProgArray).Prog(1)
	assert.True(t, ok)
	assert.Equal(t, "program", prog)
	_, ok = p.(ProgArray).Prog(2)
	assert.False(t, ok)
	x := newMap(t, env, Spec{Type: uapi.MapTypeXskmap, KeySize: 4, ValueSize: 4, MaxEntries: 2})
	assert.NotImplements(t, (*ProgArray)(nil), x)
	for _, k := range []SpecialKind{SpinLock, ResSpinLock, Timer} {
		b := base{fields: []Special{{Kind: k}}}
		assert.Equal(t, k != Timer, b.hasLock(), "%v", k)
	}
}
