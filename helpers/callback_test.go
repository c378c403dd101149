package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/vm"
)

// TestCallbacksReturnZeroOrOne: any other value the verifier would have refused.
func TestCallbacksReturnZeroOrOne(t *testing.T) {
	for name, c := range map[string]vm.Continuation{"bpf_loop": loopState{n: 9, i: 2}, "bpf_for_each_map_elem": eachElem{}, "bpf_rbtree_add": rbtreePlace{}} {
		for _, ret := range []uint64{2, ^uint64(0), 1 << 32} {
			_, action := c.Resume(nil, ret)
			require.NotNil(t, action, "%s %#x", name, ret)
			require.Equal(t, vm.ActFault, action.Kind)
			assert.Equal(t, vm.BadReturn, action.Fault.Kind)
			assert.Contains(t, action.Fault.Text, name)
		}
	}
	done, action := loopState{n: 9, i: 2}.Resume(nil, 1)
	assert.Nil(t, action)
	assert.EqualValues(t, 3, done, "1 ends the loop")
}
