package maps

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Offsets in the kernel types of mapTypes.
const (
	atOps, atMaxEntries   = 0, 8
	atInner               = 16
	atElemSize, atMask    = 24, 28
	atCount, atPerCPU     = 24, 28
	atBuckets, atHashSize = 32, 36
	atUserStart           = 24
)

// mapTypes are a kernel's struct bpf_map, bpf_array, and bpf_htab with or without the counters for
// each CPU that Linux 6.1 brought.
func mapTypes(t *testing.T, perCPUCount bool) *btf.Spec {
	b := btf.NewBuilder(nil)
	u32, u64 := b.Int("unsigned int", 4, 0), b.Int("unsigned long long", 8, 0)
	member := func(name string, typ btf.ID, off uint32) btf.Member {
		return btf.Member{Name: name, Type: typ, BitOffset: off * 8}
	}
	m := b.Struct("bpf_map", 24, member("ops", b.Ptr(u64), atOps), member("max_entries", u32, atMaxEntries), member("inner_map_meta", b.Ptr(0), atInner))
	b.Struct("bpf_array", 32, member("map", m, 0), member("elem_size", u32, atElemSize), member("index_mask", u32, atMask))
	htab := []btf.Member{member("map", m, 0), member("count", u32, atCount), member("n_buckets", u32, atBuckets), member("elem_size", u32, atHashSize)}
	if perCPUCount {
		htab = append(htab, member("use_percpu_counter", u32, atPerCPU))
	}
	b.Struct("bpf_htab", 40, htab...)
	b.Struct("htab_elem", 48)
	b.Struct("bpf_arena", 40, member("map", m, 0), member("user_vm_start", u64, atUserStart))
	spec, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	return spec
}

// TestMapPointersShowWhatTheKernelComputes: a program that reads a map as the struct of its type
// finds what the kernel derives from the map's attributes (array_map_alloc, htab_map_alloc).
func TestMapPointersShowWhatTheKernelComputes(t *testing.T) {
	const cpus = 2
	hash := Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 12, MaxEntries: 100}
	counted := hash
	counted.Flags = uapi.MapNoPrealloc
	perCPU := hash
	perCPU.Type = uapi.MapTypePercpuHash
	// Half of the elements may be more than 32 for each CPU.
	border, large := counted, counted
	border.MaxEntries, large.MaxEntries = 2*32*cpus+1, 2*32*cpus+2
	for _, tt := range []struct {
		name string
		spec Spec
		old  bool // before Linux 6.1
		add  int  // elements
		want map[uint64]uint64
	}{
		{"array", Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 12, MaxEntries: 100}, false, 0, map[uint64]uint64{atMaxEntries: 100, atElemSize: 16, atMask: 127}},
		{"array of a power of two", Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 16, MaxEntries: 64}, false, 0, map[uint64]uint64{atElemSize: 16, atMask: 63}},
		{"array of one", Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 1, MaxEntries: 1}, false, 0, map[uint64]uint64{atElemSize: 8, atMask: 0}},
		{"hash, elements there from the start", hash, false, 3, map[uint64]uint64{atMaxEntries: 100, atBuckets: 128, atHashSize: 48 + 8 + 16, atCount: 0}},
		{"hash, allocated elements", counted, false, 3, map[uint64]uint64{atCount: 3}},
		{"hash of each CPU", perCPU, false, 0, map[uint64]uint64{atHashSize: 48 + 8 + 8}},
		{"hash, at the border of a counter for each CPU", border, false, 3, map[uint64]uint64{atCount: 3}},
		{"hash with a counter for each CPU", large, false, 3, map[uint64]uint64{atCount: 0}},
		{"hash before Linux 6.1", large, true, 3, map[uint64]uint64{atCount: 3}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := newEnv(t, cpus)
			env.KernelBTF = mapTypes(t, !tt.old)
			m := newMap(t, env, tt.spec)
			for i := range tt.add {
				require.Zero(t, m.Update(0, []byte{byte(i), 0, 0, 0}, make([]byte, tt.spec.ValueSize), 0))
			}
			for off, want := range tt.want {
				got, f := env.Mem.Load(m.Addr()+off, 4)
				require.Nil(t, f, "offset %d", off)
				assert.Equal(t, want, got, "offset %d", off)
			}
		})
	}
}

// TestArenasShowTheirAddressInUserSpace: as map_extra says, else as user space mapped it
// (arena_map_alloc, arena_map_mmap).
func TestArenasShowTheirAddressInUserSpace(t *testing.T) {
	const fixed, mapped = 0x7a0000000000, 0x7b0000000000
	for extra, want := range map[uint64]uint64{fixed: fixed, 0: mapped} {
		env := newEnv(t, 1)
		env.KernelBTF = mapTypes(t, true)
		a := newMap(t, env, Spec{Type: uapi.MapTypeArena, MaxEntries: 4, Flags: uapi.MapMmapable, Extra: extra}).(Arena)
		if extra == 0 {
			require.Zero(t, a.SetUserBase(mapped))
		}
		got, f := env.Mem.Load(a.(Map).Addr()+atUserStart, 8)
		require.Nil(t, f)
		assert.Equal(t, want, got)
	}
}

// TestMapPointersRefuseTheRestByName: what a kernel keeps besides is not simulated, and cannot be
// written.
func TestMapPointersRefuseTheRestByName(t *testing.T) {
	env := newEnv(t, 1)
	env.KernelBTF = mapTypes(t, true)
	m := newMap(t, env, Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 4, MaxEntries: 4})
	inner, f := env.Mem.Load(m.Addr()+atInner, 8)
	require.Nil(t, f)
	assert.Zero(t, inner, "no map of maps")
	_, f = env.Mem.Load(m.Addr()+atOps, 8)
	require.NotNil(t, f)
	assert.Equal(t, mem.NotSimulated, f.Kind)
	assert.ErrorContains(t, f, "not simulated")
	assert.ErrorContains(t, f, "map.ops")
	_, f = env.Mem.Load(m.Addr()+atOps+1, 4)
	require.NotNil(t, f)
	assert.Equal(t, mem.NotPermitted, f.Kind, "a part of a pointer")
	f = env.Mem.Store(m.Addr()+atMaxEntries, 4, 1)
	require.NotNil(t, f)
	assert.Equal(t, mem.ReadOnly, f.Kind)
	_, f = env.Mem.Load(m.Addr()+40, 4)
	require.NotNil(t, f)
	assert.Equal(t, mem.OutOfBounds, f.Kind)
}
