package maps

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestLayoutHoldsForLookups: an address worked out from the layout is the one Lookup gives, before
// and after chunks appear and over Restore, though the layout is asked for once.
func TestLayoutHoldsForLookups(t *testing.T) {
	for _, s := range []Spec{
		{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 8, MaxEntries: 10},
		{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 100, MaxEntries: 5000},
		{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 1 << 20, MaxEntries: 3},
		{Type: uapi.MapTypePercpuArray, KeySize: 4, ValueSize: 12, MaxEntries: 7},
		{Type: uapi.MapTypePercpuArray, KeySize: 4, ValueSize: 3000, MaxEntries: 40},
	} {
		e := newEnv(t, 4)
		m, err := New(e, s)
		require.NoError(t, err)
		a := m.(Array)
		l := a.Layout()
		require.Equal(t, s.MaxEntries, l.Entries)
		check := func(i uint32, cpu int) {
			addr, errno := a.Lookup(cpu, binary.LittleEndian.AppendUint32(nil, i))
			require.Equal(t, OK, errno)
			if s.Type == uapi.MapTypeArray {
				cpu = 0
			}
			require.Equal(t, l.Bases[i>>l.Shift]+uint64(i&(1<<l.Shift-1))*l.Stride+uint64(cpu)*l.CopyStride, addr)
		}
		check(0, 1)
		memory, state := e.Mem.Snapshot(), e.Snapshot()
		missing := 0
		for _, b := range l.Bases {
			if b == 0 {
				missing++
			}
		}
		for i := range s.MaxEntries {
			check(i, int(i)%l.Copies)
		}
		assert.NotContains(t, l.Bases, uint64(0))
		e.Mem.Restore(memory)
		e.Restore(state)
		for _, b := range l.Bases {
			if b == 0 {
				missing--
			}
		}
		assert.Zero(t, missing, "chunks that appeared since are gone")
		check(s.MaxEntries-1, 0)
	}
}

// TestOnlyOrdinaryValuesAreOpen: engines may skip the check of accesses to values without bytes
// that programs may not write.
func TestOnlyOrdinaryValuesAreOpen(t *testing.T) {
	spec, val := valueType(t)
	for _, tt := range []struct {
		name string
		spec Spec
		want uint64
	}{
		{"array", Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 12}, 12},
		{"array per CPU", Spec{Type: uapi.MapTypePercpuArray, KeySize: 4, ValueSize: 12}, 12},
		{"read-only array", Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 12, Flags: uapi.MapRdonlyProg}, 0},
		{"array with a lock", Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 64, BTF: spec, ValueType: val}, 0},
		{"hash", Spec{Type: uapi.MapTypeHash, KeySize: 8, ValueSize: 12}, 12},
		{"read-only hash", Spec{Type: uapi.MapTypeHash, KeySize: 8, ValueSize: 12, Flags: uapi.MapRdonlyProg}, 0},
		{"hash with a lock", Spec{Type: uapi.MapTypeHash, KeySize: 8, ValueSize: 64, BTF: spec, ValueType: val}, 0},
		{"trie", Spec{Type: uapi.MapTypeLPMTrie, KeySize: 8, ValueSize: 4, Flags: uapi.MapNoPrealloc}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.MaxEntries = 8
			m, err := New(newEnv(t, 1), tt.spec)
			require.NoError(t, err)
			if a, ok := m.(Array); ok {
				assert.Equal(t, tt.want, a.Layout().Open)
				return
			}
			p, ok := m.(Probed).Probe()
			require.True(t, ok)
			assert.Equal(t, tt.want, p.Open)
		})
	}
}
