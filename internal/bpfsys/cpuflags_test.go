package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// perCPU is a per-CPU map of two CPUs with one element, 0.
type perCPU struct {
	*task
	t   *testing.T
	fd  int
	key uint64
}

func newPerCPU(t *testing.T, typ uapi.MapType, version uint32) *perCPU {
	k := newTaskOn(t, loader.NewTarget("linux", newestKernel(t), loader.WithVersion(version)))
	fd, e := k.createMap(typ, 4, 12, 4, 0)
	require.Zero(t, e)
	return &perCPU{k, t, int(fd), k.room(4)}
}

// update stores a value whose first number is given; it has the size for one CPU.
func (m *perCPU) update(v uint32, flags uint64) uapi.Errno {
	b := make([]byte, 12)
	le.PutUint32(b, v)
	_, e, _ := m.call(uint32(uapi.CmdMapUpdateElem), field{0, m.fd}, field{8, m.key}, field{16, m.put(b)}, field{24, flags})
	return e
}

// values returns the first numbers of all CPUs.
func (m *perCPU) values() (out []uint32) {
	at := m.room(16 * 64)
	_, e, _ := m.call(uint32(uapi.CmdMapLookupElem), field{0, m.fd}, field{8, m.key}, field{16, at}, field{24, uint64(0)})
	require.Zero(m.t, e)
	for i := range uint64(2) {
		out = append(out, le.Uint32(m.at(at+16*i, 4)))
	}
	return out
}

// TestValuesOfOneCPU: from Linux 7.0 on elements of per-CPU maps are read and stored for one CPU, or
// stored for all (bpf_map_check_op_flags).
func TestValuesOfOneCPU(t *testing.T) {
	const cpu, all, none, first, second = 8, 16, uint64(0), uint64(0) << 32, uint64(1) << 32
	for _, typ := range []uapi.MapType{uapi.MapTypePercpuArray, uapi.MapTypePercpuHash, uapi.MapTypeLRUPercpuHash} {
		m := newPerCPU(t, typ, 7<<16)
		require.Zero(t, m.update(5, cpu|second), "%v", typ)
		assert.Equal(t, []uint32{0, 5}, m.values(), "%v", typ)
		require.Zero(t, m.update(7, cpu|uapi.Exist|first))
		assert.Equal(t, []uint32{7, 5}, m.values())
		at := m.room(12)
		_, e, _ := m.call(uint32(uapi.CmdMapLookupElem), field{0, m.fd}, field{8, m.key}, field{16, at}, field{24, cpu | second})
		require.Zero(t, e)
		assert.EqualValues(t, 5, le.Uint32(m.at(at, 4)))
		require.Zero(t, m.update(9, all))
		assert.Equal(t, []uint32{9, 9}, m.values())
		for name, c := range map[string]struct {
			flags uint64
			want  uapi.Errno
		}{
			"both": {cpu | all, uapi.EINVAL}, "a CPU that does not exist": {cpu | 1000<<32, uapi.ERANGE}, "a CPU without the flag": {second, uapi.EINVAL},
			"all with a condition": {all | uapi.Exist, uapi.EINVAL}, "a flag that does not exist": {cpu | 32, uapi.EINVAL},
		} {
			assert.Equal(t, c.want, m.update(1, c.flags), "%v, %s", typ, name)
		}
		_, e, _ = m.call(uint32(uapi.CmdMapLookupElem), field{0, m.fd}, field{8, m.key}, field{16, at}, field{24, uint64(all)})
		assert.Equal(t, uapi.EINVAL, e, "a lookup for all")

		keys, values := m.room(4), m.room(12)
		_, e, a := m.call(updateBatch, field{16, m.key}, field{24, m.put([]byte{3, 11: 0})}, field{32, 1}, field{36, m.fd}, field{40, cpu | second})
		require.Zero(t, e)
		assert.EqualValues(t, 1, le.Uint32(a[32:]))
		assert.Equal(t, []uint32{9, 3}, m.values())
		_, _, a = m.call(lookupBatch, field{8, m.room(4)}, field{16, keys}, field{24, values}, field{32, 1}, field{36, m.fd}, field{40, cpu | second})
		assert.EqualValues(t, 1, le.Uint32(a[32:]))
		assert.EqualValues(t, 3, le.Uint32(m.at(values, 4)))

		old := newPerCPU(t, typ, 6<<16|19<<8)
		assert.Equal(t, uapi.EINVAL, old.update(5, cpu|second), "%v on 6.19", typ)
	}
	m := newPerCPU(t, uapi.MapTypeHash, 7<<16)
	assert.Equal(t, uapi.EINVAL, m.update(5, cpu|none), "a map without values for each CPU")
}
