package kernel

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
)

// TestVariablesThatTypesDoNotList: tools look them up by name and read them at their addresses.
func TestVariablesThatTypesDoNotList(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		for name, enum := range map[string]string{"vm_zone_stat": "zone_stat_item", "vm_node_stat": "node_stat_item"} {
			if _, ok := b.spec.Find(btf.KindEnum, enum); !ok {
				continue // of a minimised kernel
			}
			o := k.Variable(name)
			require.NotNil(t, o, name)
			n, ok := b.spec.EnumValue(enum, "NR_"+strings.ToUpper(strings.TrimSuffix(name, "_stat"))+"_STAT_ITEMS")
			require.True(t, ok, name)
			assert.Equal(t, n, o.Count(), name)
			assert.Equal(t, n*uint64(k.Mem().PointerSize()), o.StorageSize(), name)
			found, off, ok := k.SymbolAt(o.Addr() + 9)
			assert.True(t, ok && found == name && off == 9, "%s+%d", found, off)
		}
		if o := k.Variable("avenrun"); o != nil {
			assert.EqualValues(t, 3, o.Count())
			for i := range 3 {
				size := k.Mem().PointerSize()
				v, fault := k.Mem().Load(o.Addr()+uint64(i*size), size)
				require.Nil(t, fault)
				assert.Less(t, v, uint64(2048*k.CPUs()), "more tasks than processors")
			}
		}
		_, ok := k.KsymAddr("nfs_file_operations")
		assert.Equal(t, len(b.spec.IDs(btf.KindFunc, "nfs_file_open")) > 0, ok, "only with the functions of the same module")
	})
	list := newEmbedded(t).DataSymbols()
	for i := 1; i < len(list); i++ {
		require.Less(t, list[i-1].Name, list[i].Name)
	}
}

// TestThePathThatIsWalkedHasAName: nameidata has a qstr inside, of which the length is right.
func TestThePathThatIsWalkedHasAName(t *testing.T) {
	k := newEmbedded(t)
	nd, err := k.NewDefault("nd", "nameidata")
	require.NoError(t, err)
	name, err := nd.String("last.name")
	require.NoError(t, err)
	assert.Contains(t, name, "file-")
	assert.EqualValues(t, len(name), nd.Num("last.len"))
}
