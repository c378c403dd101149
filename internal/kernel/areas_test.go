package kernel

import (
	"testing"

	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two address spaces may have an area at the same address. Which one is found must follow from the
// address space, not from the order of a map, so the test asks often enough to meet every order.
func TestAreasBelongToTheirAddressSpace(t *testing.T) {
	for range 20 {
		k := newEmbedded(t)
		var mms [2]*object.Object
		for i := range mms {
			mm, err := k.NewMM([]string{"a", "b"}[i], model.MMSpec{})
			require.NoError(t, err)
			require.NoError(t, k.SetAreas(mm, []model.AreaSpec{{Start: 0x10000, End: 0x20000, PageOffset: uint64(i)}}))
			mms[i] = mm
		}
		for i, mm := range mms {
			vma, err := k.VMAAt(mm, 0x18000)
			require.NoError(t, err)
			require.NotNil(t, vma)
			assert.EqualValues(t, i, uintAt(t, vma, "vm_pgoff"))
			assert.Equal(t, mm.Addr(), uintAt(t, vma, "vm_mm"))
		}
	}
}

func TestAreasThatWereGivenAreAll(t *testing.T) {
	k := newEmbedded(t)
	require.NoError(t, k.UserWrite(0x40000, []byte("x")))
	given, err := k.NewMM("given", model.MMSpec{})
	require.NoError(t, err)
	require.NoError(t, k.SetAreas(given, []model.AreaSpec{{Start: 0x10000, End: 0x20000}}))
	vma, err := k.VMAAt(given, 0x40000)
	require.NoError(t, err)
	assert.Nil(t, vma)
	// Without areas of its own an address space has what user memory has, each its own object.
	seen := map[uint64]bool{}
	for _, name := range []string{"c", "d"} {
		mm, err := k.NewMM(name, model.MMSpec{})
		require.NoError(t, err)
		vma, err := k.VMAAt(mm, 0x40000)
		require.NoError(t, err)
		require.NotNil(t, vma)
		again, err := k.VMAAt(mm, 0x40001)
		require.NoError(t, err)
		assert.Same(t, vma, again)
		assert.Equal(t, mm.Addr(), uintAt(t, vma, "vm_mm"))
		assert.EqualValues(t, 0x40000, uintAt(t, vma, "vm_start"))
		seen[vma.Addr()] = true
	}
	assert.Len(t, seen, 2)
}
