package machine_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
)

const storageIter = "../../testdata/objects/clang-14/storageiter.o"

// TestIteratorsVisitSocketStorage: the program gets the sockets that have a value, and may write
// the value, not past it.
func TestIteratorsVisitSocketStorage(t *testing.T) {
	m := compose(t, load(t, storageIter, target(t, embedded.Name)), machine.Config{Seed: 1})
	for i, sum := range []int64{0, 7, 7 + 14} { // each run adds 7 to the value
		res := run(t, m, "mark")
		require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
		assert.EqualValues(t, i+1, global(t, m, "sockets"))
		assert.Equal(t, sum, global(t, m, "sum"))
	}
	assert.Equal(t, mem.OutOfBounds, memoryFault(t, run(t, m, "past")).Kind)
}

// TestIteratedMapsAreMaps: a struct bpf_map that an iterator hands out stands for its map.
func TestIteratedMapsAreMaps(t *testing.T) {
	m := compose(t, load(t, storageIter, target(t, embedded.Name)), machine.Config{Seed: 1})
	res := run(t, m, "count")
	require.Equal(t, machine.StatusOK, res.Status, "%v", res.Fault)
	assert.EqualValues(t, 1, global(t, m, "elements"), "the one of the hash")
	assert.GreaterOrEqual(t, global(t, m, "maps"), int64(3))
}
