package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/maps"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestMapsOfAnEarlierStateAreForgotten: after a snapshot was restored another map may have the
// address of one made since.
func TestMapsOfAnEarlierStateAreForgotten(t *testing.T) {
	r := newRig(t, newest)
	memory, all, env := r.mem.Snapshot(), r.maps.Snapshot(), r.env.Snapshot()
	var addr uint64
	for _, keySize := range []uint32{4, 8} {
		m := r.newMap(maps.Spec{Type: uapi.MapTypeHash, KeySize: keySize, ValueSize: 8, MaxEntries: 4})
		if addr != 0 {
			require.Equal(t, addr, m.Addr())
		}
		addr = m.Addr()
		for range 2 {
			ref, f := r.env.mapRef(addr)
			require.Nil(t, f)
			assert.Same(t, m, ref.m)
			assert.EqualValues(t, keySize, ref.keySize)
			assert.Nil(t, ref.sock)
		}
		r.mem.Restore(memory)
		r.maps.Restore(all)
		r.env.Restore(env)
		_, f := r.env.mapRef(addr)
		require.NotNil(t, f)
	}
}

// TestMapsAreFoundByTheirAddress among more maps than are remembered.
func TestMapsAreFoundByTheirAddress(t *testing.T) {
	r := newRig(t, newest)
	for range 40 {
		r.newMap(maps.Spec{Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 4})
	}
	sock := r.newMap(maps.Spec{Type: uapi.MapTypeSockmap, KeySize: 4, ValueSize: 4, MaxEntries: 4})
	for range 3 {
		for _, m := range r.bound {
			ref, f := r.env.mapRef(m.Addr())
			require.Nil(t, f)
			require.Same(t, m, ref.m)
			require.Equal(t, m == sock, ref.sock != nil)
			_, f = r.env.mapRef(m.Addr() + 8)
			require.NotNil(t, f)
		}
	}
	_, f := r.env.mapRef(0)
	require.NotNil(t, f)
}
