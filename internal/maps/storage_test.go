package maps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestElementsOfStorageHaveOneValueOrOneForEachCPU: as user space lists them.
func TestElementsOfStorageHaveOneValueOrOneForEachCPU(t *testing.T) {
	const owner = 0x1000
	env := newEnv(t, 2)
	s := newMap(t, env, Spec{Type: uapi.MapTypeTaskStorage, KeySize: 4, ValueSize: 8, Flags: uapi.MapNoPrealloc}).(*storage)
	_, e := s.Get(owner, []byte{1, 2, 3, 4, 5, 6, 7, 8}, true)
	require.Zero(t, e)
	assert.Equal(t, []Entry{{Key: s.owner(owner), Value: []byte{1, 2, 3, 4, 5, 6, 7, 8}}}, s.Entries())
	assert.Equal(t, []uint64{owner}, s.Owners())

	p := newMap(t, env, Spec{Type: uapi.MapTypePercpuCgroupStorage, KeySize: 8, ValueSize: 8}).(*storage)
	_, e = p.GetCPU(owner, nil, true, 1)
	require.Zero(t, e)
	at, e := p.GetCPU(owner, nil, false, 1)
	require.Zero(t, e)
	require.Nil(t, env.Mem.Store(at, 8, 9))
	assert.Equal(t, []Entry{{Key: s.owner(owner), PerCPU: [][]byte{make([]byte, 8), {9, 0, 0, 0, 0, 0, 0, 0}}}}, p.Entries())
}
