package kernel

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// TestIndexedPointers: an array of pointers has nodes of 64 slots, as many levels as its first node
// says, and nothing beyond.
func TestIndexedPointers(t *testing.T) {
	onTargets(t, func(t *testing.T, b targetBTF) {
		k := newKernel(t, b)
		if k.LayoutNamed("pid_namespace") == nil || k.LayoutNamed("xa_node") == nil {
			t.Skip("no arrays")
		}
		const path = "idr.idr_rt"
		at := func(o *object.Object, index, shift uint64) uint64 {
			entry := o.Num(path + ".xa_head")
			for entry&3 == 2 {
				node := k.ObjectAt(entry &^ 3)
				require.Equal(t, shift, node.Num("shift"))
				entry = node.Num(fmt.Sprintf("slots[%d]", index>>shift&63))
				if shift == 0 {
					break
				}
				shift -= 6
			}
			return entry
		}
		for _, c := range []struct{ shift, most uint64 }{{0, 63}, {6, 4095}, {12, 262143}} {
			o, err := k.NewObjectNamed(fmt.Sprintf("array %d", c.shift), "pid_namespace")
			require.NoError(t, err)
			o.MarkBuiltin()
			a := object.Fill(o)
			for _, index := range []uint64{0, 1, c.most, c.most + 1, ^uint64(0)} {
				a.Index(path, c.shift, index, 0x1000+index<<3)
			}
			for _, index := range []uint64{0, 1, c.most} {
				assert.Equal(t, 0x1000+index<<3, at(o, index, c.shift), "index %d of %d", index, c.most)
			}
			assert.Zero(t, at(o, 2, c.shift), "empty slots")
			first := k.ObjectAt(o.Num(path+".xa_head") &^ 3)
			assert.EqualValues(t, map[uint64]uint64{0: 3, 6: 2, 12: 2}[c.shift], first.Num("count"), "slots of the first node that have something")
			a.Index(path, c.shift, 1, 0x2000)
			assert.EqualValues(t, 0x2000, at(o, 1, c.shift), "a later one replaces it")
			a.Index(path, c.shift, 3, 0)
			assert.Zero(t, at(o, 3, c.shift))
		}
		require.NoError(t, k.Err())
	})
}
