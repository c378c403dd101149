package maps

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// valueType builds struct val { int a; struct bpf_spin_lock lock; struct bpf_timer t; struct task
// __kptr *p[2]; struct { struct bpf_list_head head; } in; int tail; } with head containing struct
// node by its member n.
func valueType(t *testing.T) (*btf.Spec, btf.ID) {
	t.Helper()
	b := btf.NewBuilder(nil)
	i32 := b.Int("int", 4, btf.IntSigned)
	u64 := b.Int("unsigned long", 8, 0)
	lock := b.Struct("bpf_spin_lock", 4, btf.Member{Name: "val", Type: i32})
	pair := b.Array(u64, i32, 2)
	timer := b.Struct("bpf_timer", 16, btf.Member{Name: "__opaque", Type: pair})
	head := b.Struct("bpf_list_head", 16, btf.Member{Name: "__opaque", Type: pair})
	task := b.Struct("task", 4, btf.Member{Name: "x", Type: i32})
	kptrs := b.Array(b.Ptr(b.Mod(btf.KindTypeTag, "kptr", task)), i32, 2)
	in := b.Struct("inner", 16, btf.Member{Name: "head", Type: head})
	b.Add(btf.Type{Kind: btf.KindDeclTag, Name: "contains:node:n", Ref: in, ComponentIdx: 0})
	val := b.Struct("val", 64,
		btf.Member{Name: "a", Type: i32},
		btf.Member{Name: "lock", Type: lock, BitOffset: 4 * 8},
		btf.Member{Name: "t", Type: timer, BitOffset: 8 * 8},
		btf.Member{Name: "p", Type: kptrs, BitOffset: 24 * 8},
		btf.Member{Name: "in", Type: in, BitOffset: 40 * 8},
		btf.Member{Name: "tail", Type: i32, BitOffset: 56 * 8},
	)
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	return spec, val
}

func TestSpecials(t *testing.T) {
	spec, val := valueType(t)
	got, err := Specials(spec, val)
	require.NoError(t, err)
	type brief struct {
		Kind      SpecialKind
		Off, Size uint32
		Name      string
		Contains  string
	}
	var have []brief
	for _, s := range got {
		have = append(have, brief{s.Kind, s.Off, s.Size, s.Name, s.ContainsType + ":" + s.ContainsField})
	}
	assert.Equal(t, []brief{
		{SpinLock, 4, 4, "lock", ":"},
		{Timer, 8, 16, "t", ":"},
		{Kptr, 24, 8, "p[0]", ":"},
		{Kptr, 32, 8, "p[1]", ":"},
		{ListHead, 40, 16, "in.head", "node:n"},
	}, have)
	none, err := FieldSpecials(&Spec{BTF: spec, ValueType: val, ValueSize: 32}, 0)
	assert.NoError(t, err)
	assert.Empty(t, none, "another size: the map is made without BTF")
}

// TestProgramsMayNotStoreToSpecialFields: in every element of arrays and hash maps, and in one that
// takes the place of a deleted one.
func TestProgramsMayNotStoreToSpecialFields(t *testing.T) {
	spec, val := valueType(t)
	env := newEnv(t, 1)
	specials, err := Specials(spec, val)
	require.NoError(t, err)
	for _, typ := range []uapi.MapType{uapi.MapTypeHash, uapi.MapTypeArray} {
		m := newMap(t, env, Spec{Type: typ, KeySize: 4, ValueSize: 64, MaxEntries: 2, BTF: spec, KeyType: 1, ValueType: val})
		for i := range uint32(4) {
			key := k32(i % 2)
			if typ == uapi.MapTypeHash && i > 1 {
				require.Equal(t, OK, m.Delete(key))
			}
			require.Equal(t, OK, m.Update(0, key, make([]byte, 64), 0))
			at, _ := m.Lookup(0, key)
			guarded := 0
			for off := range uint64(64) {
				inside := slices.ContainsFunc(specials, func(s Special) bool { return off >= uint64(s.Off) && off < uint64(s.Off+s.Size) })
				f := env.Mem.Store(at+off, 1, 1)
				assert.Equal(t, inside, f != nil, "%v %d", typ, off)
				if inside {
					guarded++
					assert.Equal(t, mem.NotPermitted, f.Kind)
					assert.Contains(t, f.Error(), fmt.Sprintf("[%d]", i%2), "named by its key")
				}
			}
			assert.Equal(t, 4+16+8+8+16, guarded)
		}
	}
	assert.Empty(t, Guards([]Special{{Kind: KptrUntrusted, Size: 8}}), "programs store such pointers themselves")
}

func TestSpecialFieldsInUpdates(t *testing.T) {
	spec, val := valueType(t)
	env := newEnv(t, 1)
	var freed []SpecialKind
	env.FreeField = func(_ Map, s Special, _ uint64) { freed = append(freed, s.Kind) }
	fill := func(c byte) []byte {
		v := make([]byte, 64)
		for i := range v {
			v[i] = c
		}
		return v
	}
	// What of a value is not special.
	plain := func(c byte) []byte {
		v := make([]byte, 64)
		for _, s := range []span{{0, 4}, {56, 64}} {
			copy(v[s.off:s.end], fill(c))
		}
		return v
	}
	for _, typ := range []uapi.MapType{uapi.MapTypeHash, uapi.MapTypeArray} {
		freed = nil
		m := newMap(t, env, Spec{Type: typ, KeySize: 4, ValueSize: 64, MaxEntries: 2, BTF: spec, KeyType: 1, ValueType: val})
		require.Equal(t, OK, m.Update(0, k32(1), fill(1), 0))
		a, _ := m.Lookup(0, k32(1))
		read := func() []byte {
			b := make([]byte, 64)
			require.Nil(t, env.Mem.Read(a, b))
			return b
		}
		assert.Equal(t, plain(1), read(), "special fields of a new element are zero")
		r := env.Mem.Find(a)
		copy(env.Mem.Bytes(r)[a-r.Base:], fill(9))
		got, e := UserLookup(m, k32(1), nil, uapi.Lock)
		require.Equal(t, OK, e)
		assert.Equal(t, plain(9), got, "user space does not see them")

		freed = nil
		require.Equal(t, OK, m.Update(0, k32(1), fill(2), uapi.Lock))
		want := plain(2)
		copy(want[4:56], fill(9)[4:56])
		if typ == uapi.MapTypeArray { // bpf_obj_free_fields after every update in place
			clear(want[8:56])
			assert.Equal(t, []SpecialKind{Timer, Kptr, Kptr, ListHead}, freed)
		} else {
			assert.Empty(t, freed)
		}
		assert.Equal(t, want, read())
		if typ == uapi.MapTypeHash {
			freed = nil
			require.Equal(t, OK, m.Update(0, k32(1), fill(3), 0))
			assert.Equal(t, []SpecialKind{Timer, Kptr, Kptr, ListHead}, freed, "the old element's")
			freed = nil
			require.Equal(t, OK, m.Delete(k32(1)))
			assert.Len(t, freed, 4)
		}
	}
	_, err := New(env, Spec{Name: "x", Type: uapi.MapTypePercpuArray, KeySize: 4, ValueSize: 64, MaxEntries: 1, BTF: spec, KeyType: 1, ValueType: val})
	assert.ErrorIs(t, err, uapi.EOPNOTSUPP)
	_, err = New(env, Spec{Name: "x", Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 64, MaxEntries: 1, Flags: uapi.MapRdonlyProg, BTF: spec, KeyType: 1, ValueType: val})
	assert.ErrorIs(t, err, uapi.EACCES)
}

// TestSpecialsOutsideOfValue: damaged type information may place members after the end of their
// struct.
func TestSpecialsOutsideOfValue(t *testing.T) {
	b := btf.NewBuilder(nil)
	i32 := b.Int("int", 4, btf.IntSigned)
	lock := b.Struct("bpf_spin_lock", 4, btf.Member{Name: "val", Type: i32})
	for _, at := range []uint32{5, 8, 1 << 20} {
		val := b.Struct("val", 8, btf.Member{Name: "lock", Type: lock, BitOffset: 8 * at})
		spec, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		_, err = FieldSpecials(&Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 8, MaxEntries: 1, BTF: spec, ValueType: val}, 0)
		assert.ErrorIs(t, err, ErrSpecial, "%d", at)
	}
}

// TestArraysOfSpecialFields: those of what cannot hold any are passed over, however large; others
// are looked at, and a value has 11 special fields (BTF_FIELDS_MAX).
func TestArraysOfSpecialFields(t *testing.T) {
	b := btf.NewBuilder(nil)
	i32 := b.Int("int", 4, btf.IntSigned)
	refcount := b.Struct("bpf_wq", 16, btf.Member{Name: "__opaque", Type: b.Array(i32, i32, 4)})
	in := b.Struct("in", 8, btf.Member{Name: "a", Type: i32})
	kptr := b.Ptr(b.Mod(btf.KindTypeTag, "kptr", in))
	for _, c := range []struct {
		name string
		elem btf.ID
		size uint32
		n    []uint32 // from the innermost array on
		want int      // fields, -1 for too many
	}{
		{"none", refcount, 16, []uint32{0}, 0}, {"one", refcount, 16, []uint32{1}, 1}, {"eleven", kptr, 8, []uint32{11}, 11}, {"twelve", kptr, 8, []uint32{12}, -1},
		{"arrays of arrays", kptr, 8, []uint32{2, 3}, 6}, {"arrays of none", kptr, 8, []uint32{0, 3}, 0},
		{"numbers", i32, 4, []uint32{100000}, 0}, {"arrays of numbers", i32, 4, []uint32{1000, 1000}, 0},
		{"structs without any", in, 8, []uint32{100000}, 0}, {"many", kptr, 8, []uint32{1000, 1000}, -1}, {"very many", kptr, 8, []uint32{100000, 10}, -1},
	} {
		id, size := c.elem, c.size
		for _, n := range c.n {
			id, size = b.Array(id, i32, n), size*n
		}
		val := b.Struct("val", size, btf.Member{Name: "a", Type: id})
		spec, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		got, err := Specials(spec, val)
		if c.want < 0 {
			assert.ErrorIs(t, err, ErrSpecial, c.name)
			continue
		}
		require.NoError(t, err, c.name)
		assert.Len(t, got, c.want, c.name)
	}
}
