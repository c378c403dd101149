//go:build linux

package bpfsys_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// fieldTypes returns BTF with a value of 24 bytes for each kind of special field: none, a lock, and
// a timer.
func fieldTypes(t *testing.T) (raw []byte, number btf.ID, values map[string]btf.ID) {
	b := btf.NewBuilder(nil)
	number = b.Int("int", 4, btf.IntSigned)
	long := b.Int("long", 8, btf.IntSigned)
	lock := b.Struct("bpf_spin_lock", 4, btf.Member{Name: "val", Type: number})
	timer := b.Struct("bpf_timer", 16, btf.Member{Name: "a", Type: long}, btf.Member{Name: "b", Type: long, BitOffset: 64})
	values = map[string]btf.ID{
		"numbers": b.Struct("numbers", 24, btf.Member{Name: "a", Type: number}),
		"lock":    b.Struct("locked", 24, btf.Member{Name: "l", Type: lock}),
		"timer":   b.Struct("timed", 24, btf.Member{Name: "t", Type: timer}),
	}
	raw, err := b.Marshal(le)
	require.NoError(t, err)
	return raw, number, values
}

// freezes maps arrays of each kind of value and freezes them twice, by a descriptor for reading
// first.
func freezes(t *testing.T, k *task, try func(fd int64, m mapping) uapi.Errno) string {
	raw, number, values := fieldTypes(t)
	types, e, _ := k.call(btfLoad, field{0, k.put(raw)}, field{16, len(raw)}, field{24, 0})
	require.Zero(t, e)
	var out strings.Builder
	for _, kind := range []string{"numbers", "lock", "timer"} {
		fd, e := k.createMap(uapi.MapTypeArray, 4, 24, 1, uapi.MapMmapable, field{48, int(types)}, field{52, int(number)}, field{56, int(values[kind])})
		require.Zero(t, e, kind)
		info := k.room(88)
		_, e, _ = k.call(infoByFD, field{0, int(fd)}, field{4, 88}, field{8, info})
		require.Zero(t, e)
		reader, e, _ := k.call(uint32(uapi.CmdMapGetFdById), field{0, int(le.Uint32(k.at(info+4, 4)))}, field{8, uapi.MapRdonly})
		require.Zero(t, e)
		fmt.Fprintf(&out, "%s: mmap %s", kind, errnoName(try(fd, mapping{0, 4096, false, true})))
		for _, by := range []int64{reader, fd, fd} {
			_, e, _ = k.call(mapFreeze, field{0, int(by)})
			fmt.Fprintf(&out, ", freeze %s", errnoName(e))
		}
		out.WriteByte('\n')
		k.close(reader)
		k.close(fd)
	}
	return out.String()
}

func errnoName(e uapi.Errno) string {
	if e == 0 {
		return "ok"
	}
	return e.Name()
}

// TestWhichMapsAreMappedAndFrozen: maps with special fields are not mapped, and from Linux 6.2 on
// not frozen either, where before a lock alone allowed it. Descriptors for reading freeze until 6.4
// (map_freeze, bpf_map_mmap; Linux 6.18.44 gives the last answers).
func TestWhichMapsAreMappedAndFrozen(t *testing.T) {
	const refused = ": mmap ENOTSUPP, freeze ENOTSUPP, freeze ENOTSUPP, freeze ENOTSUPP\n"
	for version, want := range map[uint32]string{
		6<<16 | 1<<8:       "numbers: mmap ok, freeze ok, freeze EBUSY, freeze EBUSY\nlock: mmap ENOTSUPP, freeze ok, freeze EBUSY, freeze EBUSY\ntimer" + refused,
		6<<16 | 4<<8:       "numbers: mmap ok, freeze ok, freeze EBUSY, freeze EBUSY\nlock" + refused + "timer" + refused,
		6<<16 | 18<<8 | 44: "numbers: mmap ok, freeze EPERM, freeze ok, freeze EPERM\nlock" + refused + "timer" + refused,
	} {
		k := newTaskOn(t, loader.NewTarget("linux", newestKernel(t), loader.WithVersion(version)))
		got := freezes(t, k, func(fd int64, m mapping) uapi.Errno {
			return k.s.MapRange(k.files[int32(fd)].Object, bpfsys.ReadWrite, m.off, m.length, m.write, m.shared)
		})
		assert.Equal(t, want, got, "%#x", version)
	}
}
