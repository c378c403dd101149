//go:build linux

package bpfsys_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/testing/recording"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// mapping is how a descriptor is mapped into memory.
type mapping struct {
	off, length   uint64
	write, shared bool
}

// hostMaps maps a descriptor of the host, and takes the mapping away again.
func hostMaps(fd int64, m mapping) uapi.Errno {
	prot, flags := unix.PROT_READ, unix.MAP_PRIVATE
	if m.write {
		prot |= unix.PROT_WRITE
	}
	if m.shared {
		flags = unix.MAP_SHARED
	}
	b, err := unix.Mmap(int(fd), int64(m.off), int(m.length), prot, flags)
	if err != nil {
		return uapi.Errno(err.(unix.Errno))
	}
	unix.Munmap(b)
	return 0
}

// mappings maps maps of many types, with descriptors for reading and writing, before and after they
// are frozen, at every page and for every number of pages, and writes a line for each.
func mappings(t *testing.T, k *task, try func(int64, mapping) uapi.Errno) string {
	var out strings.Builder
	line := func(name string, fd int64) {
		fmt.Fprintf(&out, "%s:", name)
		for _, shared := range []bool{true, false} {
			for _, write := range []bool{false, true} {
				for off := range uint64(6) {
					for pages := uint64(1); pages <= 6; pages++ {
						e := try(fd, mapping{off * 4096, pages * 4096, write, shared})
						text := "ok"
						if e != 0 {
							text = e.Name()
						}
						fmt.Fprintf(&out, " %s", text)
					}
				}
			}
		}
		out.WriteByte('\n')
	}
	const array, mappable = uapi.MapTypeArray, uapi.MapMmapable
	for _, m := range []struct {
		typ                       uapi.MapType
		key, value, entries, flag int
	}{
		{array, 4, 8, 1024, 0}, {array, 4, 8, 512, mappable}, {array, 4, 8, 513, mappable}, {array, 4, 4, 512, mappable}, {array, 4, 9, 1024, mappable}, {array, 4, 8, 1024, mappable | uapi.MapRdonlyProg},
		{array, 4, 8, 1024, mappable | uapi.MapWronlyProg}, {uapi.MapTypeHash, 4, 8, 16, 0}, {uapi.MapTypePercpuArray, 4, 8, 16, 0}, {uapi.MapTypeLRUHash, 4, 8, 16, 0}, {uapi.MapTypeQueue, 0, 4, 4, 0},
		{uapi.MapTypeBloomFilter, 0, 4, 16, 0}, {uapi.MapTypeProgArray, 4, 4, 4, 0}, {uapi.MapTypeRingbuf, 0, 0, 4096, 0}, {uapi.MapTypeRingbuf, 0, 0, 8192, 0}, {uapi.MapTypeUserRingbuf, 0, 0, 8192, 0},
	} {
		name := fmt.Sprintf("%v of %d times %d, flags %#x", m.typ, m.entries, m.value, m.flag)
		for _, frozen := range []bool{false, true} {
			fd, e := k.createMap(m.typ, m.key, m.value, m.entries, m.flag)
			require.Zero(t, e, "%v", m.typ)
			info := k.room(88)
			_, e, _ = k.call(infoByFD, field{0, int(fd)}, field{4, 88}, field{8, info})
			require.Zero(t, e)
			id, state := int(le.Uint32(k.at(info+4, 4))), ""
			if frozen {
				state = ", frozen"
				_, e, _ = k.call(mapFreeze, field{0, int(fd)})
				require.Zero(t, e, name)
			}
			line(name+state, fd)
			for _, mode := range []struct {
				flag int
				name string
			}{{uapi.MapRdonly, " for reading"}, {uapi.MapWronly, " for writing"}} {
				other, e, _ := k.call(uint32(uapi.CmdMapGetFdById), field{0, id}, field{8, mode.flag})
				require.Zero(t, e)
				line(name+state+mode.name, other)
				k.close(other)
			}
			k.close(fd)
		}
	}
	return out.String()
}

const recordedMappings = "testdata/mmap-6.18.44.txt.gz"

// TestMapsAreMappedAsByTheKernel compares with Linux 6.18.44, where it was recorded with -record,
// which mappings of which maps are refused, and with what.
func TestMapsAreMappedAsByTheKernel(t *testing.T) {
	if *recording.Flag {
		recording.Write(t, recordedMappings, mappings(t, hostTask(t, 1, 2*time.Millisecond), hostMaps))
	}
	k := newTaskOn(t, loader.NewTarget("linux-6.18.44", newestKernel(t), loader.WithVersion(6<<16|18<<8|44)))
	got := mappings(t, k, func(fd int64, m mapping) uapi.Errno {
		f := k.files[int32(fd)]
		return k.s.MapRange(f.Object, f.Access, m.off, m.length, m.write, m.shared)
	})
	assert.Equal(t, strings.Split(recording.Read(t, recordedMappings), "\n"), strings.Split(got, "\n"))
}

// TestMappingsOfPerfEvents: one page and a power of two of others, which other mappings must have
// too (perf_mmap; Linux 6.18.44 gives these answers).
func TestMappingsOfPerfEvents(t *testing.T) {
	const page = uapi.PageSize
	for length, want := range map[uint64]uapi.Errno{
		0: uapi.EINVAL, page: 0, page + 1: uapi.EINVAL, 2*page - 1: uapi.EINVAL, 2 * page: 0, 3 * page: 0, 4 * page: uapi.EINVAL, 5 * page: 0, 6 * page: uapi.EINVAL, 9 * page: 0,
	} {
		k := newTaskOn(t, loader.NewTarget("7.2", newestKernel(t), loader.WithVersion(7<<16|2<<8)))
		event := output(t, k)
		assert.Equal(t, want, k.s.MapRange(event, bpfsys.ReadWrite, 0, length, true, true), "%d bytes", length)
		if want != 0 {
			continue
		}
		for other := uint64(1); other < 10; other++ {
			assert.Equal(t, other*page == length, k.s.MapRange(event, bpfsys.ReadWrite, 0, other*page, true, true) == 0, "%d bytes, %d pages again", length, other)
		}
		assert.Equal(t, uapi.EINVAL, k.s.MapRange(event, bpfsys.ReadWrite, page, page, true, true), "not from the second page on")
		assert.Equal(t, uapi.EINVAL, k.s.MapRange(event, bpfsys.ReadWrite, 0, length, true, false), "not as a copy")
	}
}

// output opens an event for what programs write.
func output(t *testing.T, k *task) bpfsys.Object {
	a := make([]byte, 136)
	le.PutUint32(a, 1) // PERF_TYPE_SOFTWARE
	le.PutUint32(a[4:], 136)
	le.PutUint64(a[8:], 10) // PERF_COUNT_SW_BPF_OUTPUT
	le.PutUint64(a[24:], 1<<10)
	fd, r := (&caller{task: k}).openEvent(a, -1)
	require.Zero(t, r.errno)
	return k.files[int32(fd)].Object
}

// TestMappedMapsAreNotFrozen: while memory of a map is mapped for writing, it cannot be frozen
// (Linux 6.18.44 gives these answers).
func TestMappedMapsAreNotFrozen(t *testing.T) {
	for _, tt := range []struct {
		typ     uapi.MapType
		entries int
		off     uint64
	}{{uapi.MapTypeRingbuf, 8192, 0}, {uapi.MapTypeUserRingbuf, 8192, uapi.PageSize}, {uapi.MapTypeArray, 512, 0}} {
		for write, want := range map[bool]uapi.Errno{false: 0, true: uapi.EBUSY} {
			k := newTaskOn(t, loader.NewTarget("linux-6.18.44", newestKernel(t), loader.WithVersion(6<<16|18<<8|44)))
			key, value, flags := 0, 0, 0
			if tt.typ == uapi.MapTypeArray {
				key, value, flags = 4, 8, uapi.MapMmapable
			}
			fd, e := k.createMap(tt.typ, key, value, tt.entries, flags)
			require.Zero(t, e)
			require.Zero(t, k.s.MapRange(k.files[int32(fd)].Object, bpfsys.ReadWrite, tt.off, uapi.PageSize, write, true))
			_, e, _ = k.call(mapFreeze, field{0, int(fd)})
			assert.Equal(t, want, e, "%v, for writing: %v", tt.typ, write)
		}
	}
}
