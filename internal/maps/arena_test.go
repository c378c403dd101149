package maps

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestArenaMovesBeforeItsFirstPage checks the rules of the first mmap of an arena.
func TestArenaMovesBeforeItsFirstPage(t *testing.T) {
	const at = 0x7a1234560000
	spec := Spec{Type: uapi.MapTypeArena, MaxEntries: 8, Flags: uapi.MapMmapable}
	a := newMap(t, newEnv(t, 1), spec).(Arena)
	assert.Equal(t, uapi.EINVAL, a.SetUserBase(0))
	assert.Equal(t, uapi.EINVAL, a.SetUserBase(at+1))
	assert.Equal(t, uapi.EINVAL, a.SetUserBase(0x7a12ffffe000), "it would cross a 4 GiB boundary")
	assert.Zero(t, a.SetUserBase(at))
	assert.Equal(t, uint64(at), a.UserBase())
	assert.Equal(t, uint64(at), a.AllocPages(0, 1))
	assert.Equal(t, a.KernelBase()+at%(4<<30), a.ToKernel(at))
	assert.Equal(t, uapi.EBUSY, a.SetUserBase(at+1<<20), "it has a page")

	spec.Extra = at
	assert.Equal(t, uapi.EBUSY, newMap(t, newEnv(t, 1), spec).(Arena).SetUserBase(at+1<<20), "map_extra fixes its address")
}

// TestArenaListsItsPages checks that pages are listed that are allocated, not those that are free
// or only reserved.
func TestArenaListsItsPages(t *testing.T) {
	a := newMap(t, newEnv(t, 1), Spec{Type: uapi.MapTypeArena, MaxEntries: 8, Flags: uapi.MapMmapable}).(Arena)
	pages := func() map[uint64]byte {
		out := map[uint64]byte{}
		a.Pages(func(off uint64, data []byte) {
			assert.Len(t, data, uapi.PageSize)
			out[off/uapi.PageSize] = data[5]
		})
		return out
	}
	assert.Empty(t, pages())
	for p, v := range []byte{10, 11, 12} {
		assert.NoError(t, a.Poke(uint64(p)*uapi.PageSize*3+5, []byte{v}))
	}
	assert.Zero(t, a.ReservePages(a.UserBase()+4*uapi.PageSize, 1))
	assert.Equal(t, map[uint64]byte{0: 10, 3: 11, 6: 12}, pages())
	a.FreePages(a.UserBase()+3*uapi.PageSize, 1)
	assert.Equal(t, map[uint64]byte{0: 10, 6: 12}, pages())
}

// TestArenaTakesTheSmallestRangeThatFits frees ranges of three, one and two pages.
func TestArenaTakesTheSmallestRangeThatFits(t *testing.T) {
	a := newMap(t, newEnv(t, 1), Spec{Type: uapi.MapTypeArena, MaxEntries: 16, Flags: uapi.MapMmapable}).(Arena)
	page := func(n uint64) uint64 { return a.UserBase() + n*uapi.PageSize }
	assert.Equal(t, page(0), a.AllocPages(0, 16))
	a.FreePages(page(2), 3)
	a.FreePages(page(7), 1)
	a.FreePages(page(10), 2)
	assert.Equal(t, page(7), a.AllocPages(0, 1))
	assert.Equal(t, page(10), a.AllocPages(0, 2))
	assert.Equal(t, page(2), a.AllocPages(0, 1))
	assert.Zero(t, a.AllocPages(0, 3), "two are left")
	assert.Equal(t, page(3), a.AllocPages(0, 2))
}
