package pack

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTypesAreSplitWhereTheyEnd: a section that ends between types has all before; one that ends
// within a type, in its head or in its entries, is malformed.
func TestTypesAreSplitWhereTheyEnd(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		spec := sample(t, order)
		at, _ := spec.Sections()
		section := spec.Raw()[at.Off : at.Off+at.Len]
		all, ok := split(section, order)
		require.True(t, ok)
		require.Len(t, all.at, spec.NumTypes()-1, "all but void")
		ends := map[int]int{} // how many types end there
		end := 0
		for i := range all.at {
			ends[end] = i
			end += 4 * len(all.of(i))
		}
		ends[end] = len(all.at)
		require.Equal(t, len(section), end)
		for n := range len(section) + 1 {
			got, ok := split(section[:n], order)
			count, between := ends[n]
			assert.Equal(t, between, ok, "%d bytes", n)
			if between && ok {
				assert.ElementsMatch(t, all.at[:count], got.at, "%d bytes", n)
			}
		}
		broken := append([]byte{}, section...)
		order.PutUint32(broken[4:], 31<<24)
		_, ok = split(broken, order)
		assert.False(t, ok, "of no kind")
	}
}
