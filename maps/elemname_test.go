package maps

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/uapi"
)

// A fault beside the value of a hash names the element's key, and never the place of the value in memory.
func TestFaultsNameHashElementsByKey(t *testing.T) {
	long := append([]byte("0123456789abcdef"), "ghij"...)
	for _, tc := range []struct {
		name string
		typ  uapi.MapType
		key  []byte
		want string
	}{
		{"number", uapi.MapTypeHash, k32(70000), "m[70000]"},
		{"LRU", uapi.MapTypeLRUHash, k64(1 << 40), "m[1099511627776]"},
		{"bytes", uapi.MapTypeHash, []byte{1, 2, 3}, "m[010203]"},
		{"long", uapi.MapTypeHash, long, "m[30313233343536373839616263646566...]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env := newEnv(t, 1)
			m := newMap(t, env, Spec{Type: tc.typ, KeySize: uint32(len(tc.key)), ValueSize: 8, MaxEntries: 16})
			require.Equal(t, OK, m.Update(0, tc.key, k64(1), 0))
			addr, _ := m.Lookup(0, tc.key)
			_, fault := env.Mem.Load(addr+8, 1)
			require.NotNil(t, fault)
			assert.Contains(t, fault.Error(), "just past the end of map value "+tc.want)
		})
	}
}
