package maps

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// A fault beside the value of a hash names the element's key, and never the place of the value in
// memory.
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

// An element of an array is named by its index, whichever chunk and CPU the value is of.
func TestFaultsNameArrayElementsByIndex(t *testing.T) {
	for _, tc := range []struct {
		name           string
		typ            uapi.MapType
		size, n, index uint32
		cpu            int
	}{
		{"array", uapi.MapTypeArray, 8, 16, 5, 0},
		{"in a later chunk", uapi.MapTypeArray, 40000, 16, 5, 0},
		{"in a later chunk of several", uapi.MapTypeArray, 64, 4096, 3000, 0},
		{"per CPU, first CPU", uapi.MapTypePercpuArray, 8, 16, 2, 0},
		{"per CPU, second CPU", uapi.MapTypePercpuArray, 8, 16, 2, 1},
		{"per CPU, in a later chunk", uapi.MapTypePercpuArray, 64, 4096, 3000, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env := newEnv(t, 2)
			m := newMap(t, env, Spec{Type: tc.typ, KeySize: 4, ValueSize: tc.size, MaxEntries: tc.n})
			addr, e := m.Lookup(tc.cpu, k32(tc.index))
			require.Equal(t, OK, e)
			_, fault := env.Mem.Load(addr+uint64(tc.size), 1)
			require.NotNil(t, fault)
			assert.Contains(t, fault.Error(), fmt.Sprintf("just past the end of map value m[%d]", tc.index))
		})
	}
}
