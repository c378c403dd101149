package maps

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestWhereTheNextValueGoes is known before the update.
func TestWhereTheNextValueGoes(t *testing.T) {
	for _, flags := range []uint32{0, uapi.MapNoPrealloc} {
		m, err := mem.New(mem.Config{})
		require.NoError(t, err)
		defer m.Close()
		h, err := New(&Env{Mem: m, CPUs: 2}, Spec{Name: "h", Type: uapi.MapTypeHash, KeySize: 4, ValueSize: 8, MaxEntries: 8, Flags: flags})
		require.NoError(t, err)
		key := func(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }
		value, told := make([]byte, 8), 0
		for i, op := range []struct {
			key    uint32
			delete bool
		}{{1, false}, {2, false}, {1, false}, {1, true}, {3, false}, {2, false}, {2, true}, {3, true}, {4, false}, {5, false}} {
			if op.delete {
				require.Zero(t, h.Delete(key(op.key)))
				continue
			}
			want, ok := h.(Placer).NextValue(0, key(op.key))
			require.Zero(t, h.Update(0, key(op.key), value, 0))
			got, errno := h.Lookup(0, key(op.key))
			require.Zero(t, errno)
			if ok {
				told++
				assert.Equal(t, want, got, "operation %d, flags %d", i, flags)
			}
		}
		assert.Greater(t, told, 5)
	}
}
