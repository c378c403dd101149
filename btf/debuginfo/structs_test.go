package debuginfo

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

func TestStructs(t *testing.T) {
	object, err := os.ReadFile("../../testdata/objects/clang-14/records.o")
	require.NoError(t, err)
	alone, err := Structs(object, nil, nil)
	require.NoError(t, err)
	for _, name := range []string{"opened", "place"} {
		_, ok := alone.Find(btf.KindStruct, name)
		assert.True(t, ok, name)
	}
	b := btf.NewBuilder(nil)
	u32 := b.Int("u32", 4, 0)
	b.Struct("opened", 32, btf.Member{Name: "ours", Type: u32})
	b.Struct("place", 4, btf.Member{Name: "other", Type: u32})
	base, err := b.Spec(binary.LittleEndian)
	require.NoError(t, err)
	both, err := Structs(object, base, nil)
	require.NoError(t, err)
	opened, _ := both.Find(btf.KindStruct, "opened")
	assert.Equal(t, "ours", opened.Members[0].Name, "BTF has it")
	var sizes []uint32
	for id := btf.ID(1); int(id) < both.NumTypes(); id++ {
		if both.Name(id) == "place" {
			sizes = append(sizes, both.MustType(id).Size)
		}
	}
	assert.Equal(t, []uint32{4, 8}, sizes, "another struct of that name")
	size, err := alone.Sizeof(mustFind(t, alone, "opened"))
	require.NoError(t, err)
	assert.EqualValues(t, 32, size)

	inSource, err := Structs(object, nil, map[string]bool{"place": true})
	require.NoError(t, err)
	mustFind(t, inSource, "opened") // the source itself is no kernel's header

	for _, name := range []string{"globals", "baked"} { // nothing to add, no DWARF
		stripped, err := os.ReadFile("../../testdata/objects/clang-14/" + name + ".o")
		require.NoError(t, err)
		none, err := Structs(stripped, base, nil)
		require.NoError(t, err)
		assert.Nil(t, none, name)
	}
}

func mustFind(t *testing.T, s *btf.Spec, name string) btf.ID {
	t.Helper()
	st, ok := s.Find(btf.KindStruct, name)
	require.True(t, ok, name)
	return st.ID
}

// TestDamagedDWARF: whatever is in the sections, there is a result or an error.
func TestDamagedDWARF(t *testing.T) {
	object, err := os.ReadFile("../../testdata/objects/clang-14/records.o")
	require.NoError(t, err)
	const step = 3
	for i := 0; i < len(object); i += step {
		broken := bytes.Clone(object)
		broken[i] ^= byte(1 << (i % 8))
		if spec, err := Structs(broken, nil, nil); err == nil && spec != nil {
			for id := btf.ID(1); int(id) < spec.NumTypes(); id++ {
				_ = spec.TypeString(id)
			}
		}
	}
}

// TestHeadersOfKernels: what a header like vmlinux.h declares is not the object's own.
func TestHeadersOfKernels(t *testing.T) {
	object, err := os.ReadFile("../../conformance/testdata/cases/strings.o")
	require.NoError(t, err)
	all, err := Structs(object, nil, nil)
	require.NoError(t, err)
	mustFind(t, all, "__sk_buff")
	mustFind(t, all, "bpf_flow_keys")
	own, err := Structs(object, nil, map[string]bool{"__sk_buff": true})
	require.NoError(t, err)
	if own != nil {
		for _, name := range []string{"__sk_buff", "bpf_flow_keys"} {
			_, found := own.Find(btf.KindStruct, name)
			assert.False(t, found, name)
		}
	}
}
