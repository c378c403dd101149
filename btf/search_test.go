package btf

import (
	"encoding/binary"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// found lists what a lookup of the given kind's names finds, by search or in the index.
func found(t *testing.T, s *Spec, k Kind, name string, index bool) (ids []ID) {
	t.Helper()
	add := func(id ID, _ Kind, _ string) bool { ids = append(ids, id); return true }
	s.symbolNames.searches = nil
	if index {
		s.symbolNames.searches = make([]*symbolSearch, fewLookups)
		for i := range s.symbolNames.searches {
			s.symbolNames.searches[i] = &symbolSearch{}
		}
	}
	s.eachNamed(k, name, add)
	first := slices.Clone(ids)
	ids = nil
	s.eachNamed(k, name, add)
	assert.Equal(t, first, ids, "%s again", name)
	return ids
}

// TestSearchFindsWhatTheIndexHas: lookups before the index is made have the same results in the
// same order.
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
	searched.symbolNames.searches = nil
	for range fewLookups + 1 {
		searched.FindID(KindFunc, "vfs_read")
	}
	for i := range fewLookups {
		assert.False(t, searched.symbolNames.made.Load(), "looking for the same again does not count")
		searched.FindID(KindFunc, "vfs_"+[]string{"write", "open", "fsync", "unlink", "mkdir", "rmdir"}[i])
	}
	assert.True(t, searched.symbolNames.made.Load(), "lookups of many symbols make the index")
}

// TestSearchGoesOn: a lookup that stopped at the first symbol does not hide the others, and many
// may look at once.
func TestSearchGoesOn(t *testing.T) {
	b := NewBuilder(nil)
	proto := b.Add(Type{Kind: KindFuncProto, Ref: b.Int("int", 4, IntSigned)})
	var want []ID
	for range 5 {
		want = append(want, b.Add(Type{Kind: KindFunc, Name: "same", Ref: proto, Linkage: LinkageGlobal}))
		b.Struct("other", 4)
	}
	s, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			first, ok := s.FindID(KindFunc, "same")
			assert.True(t, ok)
			assert.Equal(t, want[0], first)
			assert.Equal(t, want, s.IDs(KindFunc, "same"))
			assert.Empty(t, s.IDs(KindFunc, "none"))
		})
	}
	wg.Wait()
	assert.False(t, s.symbolNames.made.Load())
}

// TestSearchSpellings: flavors, names inside of others, strings that end others, and names in the
// base's table.
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
		s.symbolNames.searches = nil
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
