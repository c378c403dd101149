package btf

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// found lists what a lookup of the given kind's names finds, by search or in the index.
func found(t *testing.T, s *Spec, k Kind, name string, index bool) (ids []ID) {
	t.Helper()
	add := func(id ID, _ Kind, _ string) bool { ids = append(ids, id); return true }
	s.symbolNames.asked.Store(0)
	if index {
		s.symbolNames.asked.Store(fewLookups)
	}
	s.eachNamed(k, name, add)
	return ids
}

// TestSearchFindsWhatTheIndexHas: lookups before the index is made have the same results in the same order.
func TestSearchFindsWhatTheIndexHas(t *testing.T) {
	raw := kernelBTF(t, benchKernel)
	searched, err := Parse(raw, nil)
	require.NoError(t, err)
	indexed, err := Parse(raw, nil)
	require.NoError(t, err)
	for _, name := range []string{"task_struct", "sk_buff", "u32", "vfs_read", "__x64_sys_openat", "btf_trace_sched_switch", "jiffies", "no_such_name", "bpf_iter", "t", "pid_t"} {
		for _, k := range []Kind{KindStruct, KindFunc} {
			assert.Equal(t, found(t, indexed, k, name, true), found(t, searched, k, name, false), "%s %s", k, name)
		}
	}
	assert.False(t, searched.symbolNames.made.Load())
	searched.symbolNames.asked.Store(0)
	for range fewLookups + 1 {
		assert.False(t, searched.symbolNames.made.Load())
		searched.FindID(KindFunc, "vfs_read")
	}
	assert.True(t, searched.symbolNames.made.Load(), "many lookups make the index")
}

// TestSearchSpellings: flavors, names inside of others, strings that end others, and names in the base's table.
func TestSearchSpellings(t *testing.T) {
	b := NewBuilder(nil)
	i := b.Int("int", 4, IntSigned)
	for _, n := range []string{"foo", "foo___v2", "foo_bar", "xfoo", "foo___", "___foo", "foo____v3", "shared"} {
		b.Struct(n, 4, Member{Name: "foo", Type: i})
	}
	b.Add(Type{Kind: KindFunc, Name: "foo", Ref: b.Add(Type{Kind: KindFuncProto, Ref: i}), Linkage: LinkageGlobal})
	base, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	split := NewBuilder(base)
	split.Struct("shared", 4, Member{Name: "of_module", Type: i})
	split.Struct("foo___module", 4, Member{Name: "m", Type: i})
	mod, err := split.Spec(binary.LittleEndian)
	require.NoError(t, err)

	// The name of one struct becomes the end of another string, as writers that share ends do.
	raw := append([]byte(nil), base.Raw()...)
	id, ok := base.FindID(KindStruct, "xfoo")
	require.True(t, ok)
	at := int(base.hdr.typeOff) + int(base.offs[id-1])
	binary.LittleEndian.PutUint32(raw[at:], binary.LittleEndian.Uint32(raw[at:])+1)
	ends, err := Parse(raw, nil)
	require.NoError(t, err)
	require.Equal(t, "foo", ends.Name(id))

	for _, s := range []*Spec{base, mod, ends} {
		for _, name := range []string{"foo", "foo_bar", "xfoo", "foo___", "___foo", "foo_", "shared", "int", "v2"} {
			for _, k := range []Kind{KindStruct, KindFunc} {
				want := found(t, s, k, name, true)
				fresh, err := Parse(s.Raw(), s.base)
				require.NoError(t, err)
				assert.Equal(t, want, found(t, fresh, k, name, false), "%s %s", k, name)
			}
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	s, err := Parse(kernelBTF(b, benchKernel), nil)
	require.NoError(b, err)
	for b.Loop() {
		s.symbolNames.asked.Store(0)
		if _, ok := s.FindID(KindFunc, "vfs_read"); !ok {
			b.Fatal("no vfs_read")
		}
	}
}

func BenchmarkSymbolIndex(b *testing.B) {
	s, err := Parse(kernelBTF(b, benchKernel), nil)
	require.NoError(b, err)
	for b.Loop() {
		f := &Spec{hdr: s.hdr, types: s.types, strs: s.strs, strTable: s.strTable, offs: s.offs, namedTypes: s.namedTypes, first: 1}
		f.names(KindFunc)
	}
}
