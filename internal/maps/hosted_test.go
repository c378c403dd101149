package maps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestHostBytes: what maps keep outside simulated memory has a bound, whatever their size, and what
// is taken away makes room.
func TestHostBytes(t *testing.T) {
	const value, limit = 1000, 10 * (768 + 24*1000)
	data := make([]byte, value)
	for _, c := range []struct {
		spec Spec
		put  func(Map) uapi.Errno
		take func(Map)
	}{
		{Spec{Type: uapi.MapTypeQueue, ValueSize: value, MaxEntries: 1 << 30}, func(m Map) uapi.Errno { return m.(*queue).Push(data, 0) }, func(m Map) {
			for m.(*queue).Pop(make([]byte, value)) == OK {
			}
		}},
		{Spec{Type: uapi.MapTypePerfEventArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}, func(m Map) uapi.Errno { return m.(PerfArray).Output(0, uapi.PerfCurrentCPU, data) }, func(m Map) { m.(PerfArray).TakeRecords() }},
		{Spec{Type: uapi.MapTypeRingbuf, MaxEntries: 1 << 20}, func(m Map) uapi.Errno { return m.(RingBuffer).Output(data, 0) }, func(m Map) { m.(RingBuffer).TakeRecords() }},
	} {
		memory, err := mem.New(mem.Config{Size: 16 << 20})
		require.NoError(t, err)
		t.Cleanup(memory.Close)
		env := &Env{Mem: memory, CPUs: 1, Host: &mem.Host{Limit: limit}}
		m, err := New(env, c.spec)
		require.NoError(t, err)
		for range 2 {
			for range 5 {
				require.Equal(t, OK, c.put(m), "%v", c.spec.Type)
			}
			s := env.Snapshot()
			for range 5 {
				require.Equal(t, OK, c.put(m), "%v", c.spec.Type)
			}
			assert.NoError(t, env.Err())
			assert.Equal(t, uapi.ENOMEM, c.put(m), "%v", c.spec.Type)
			assert.ErrorIs(t, env.Err(), ErrLimit)
			env.Restore(s)
			assert.NoError(t, env.Err())
			require.Equal(t, OK, c.put(m), "%v", c.spec.Type)
			c.take(m)
			assert.Zero(t, env.Host.Used(), "%v", c.spec.Type)
		}
	}
}

// TestSlotsOfManyMaps: definitions are small, so that an object has room for any number of maps
// with many slots.
func TestSlotsOfManyMaps(t *testing.T) {
	for _, s := range []Spec{
		{Type: uapi.MapTypeProgArray, KeySize: 4, ValueSize: 4, MaxEntries: 1000},
		{Type: uapi.MapTypeArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1000, Inner: &Spec{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}},
		{Type: uapi.MapTypeArray, KeySize: 4, ValueSize: arrayChunk, MaxEntries: 500},
	} {
		memory, err := mem.New(mem.Config{Size: 16 << 20})
		require.NoError(t, err)
		t.Cleanup(memory.Close)
		env := &Env{Mem: memory, CPUs: 1, Host: &mem.Host{Limit: 40_000}}
		for range 2 {
			_, err = New(env, s)
			require.NoError(t, err, "%v", s.Type)
		}
		_, err = New(env, s)
		var limit *LimitError
		require.ErrorAs(t, err, &limit, "%v", s.Type)
		assert.NoError(t, env.Err())
	}
}
