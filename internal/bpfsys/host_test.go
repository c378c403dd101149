//go:build linux

package bpfsys_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/testing/recording"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// sequence makes calls and writes a line for each: what it was, the errno, and what the caller sees
// of it. Nothing is attached or pinned.
func sequence(t *testing.T, k *task) string {
	t.Helper()
	var out strings.Builder
	step := func(name string, e uapi.Errno, seen ...any) {
		text := "ok"
		if e != 0 {
			text = e.Name()
		}
		fmt.Fprintf(&out, "%s: %s", name, text)
		if e == 0 && len(seen) > 0 {
			fmt.Fprintf(&out, " %v", seen)
		}
		out.WriteByte('\n')
	}
	// Every type of map with attributes that are right for many of them, and wrong for others.
	for typ := 1; typ <= int(uapi.MapTypeArena); typ++ {
		for _, s := range [][4]int{{4, 4, 1, 0}, {4, 8, 16, 0}, {0, 4, 4, 0}, {0, 0, 4096, 0}, {8, 4, 16, 1}, {4, 4, 0, 0}, {4, 4, 1, 1 << 30}, {4, 4, 4, int(uapi.MapRdonly | uapi.MapWronly)}, {4, 4, 4, uapi.MapMmapable}} {
			fd, e := k.createMap(uapi.MapType(typ), s[0], s[1], s[2], s[3])
			step(fmt.Sprintf("create %v key %d value %d entries %d flags %#x", uapi.MapType(typ), s[0], s[1], s[2], s[3]), e)
			if e != 0 {
				continue
			}
			key, value := k.put(make([]byte, 64)), k.put([]byte{1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
			big := k.room(4096)
			elem := func(cmd uint32, flags uint64) uapi.Errno {
				_, e, _ := k.call(cmd, field{0, int(fd)}, field{8, key}, field{16, value}, field{24, flags})
				return e
			}
			switch uapi.MapType(typ) {
			case uapi.MapTypeHash, uapi.MapTypeArray, uapi.MapTypeLRUHash, uapi.MapTypeLPMTrie:
				step(" update", elem(mapUpdate, 0))
				if typ != int(uapi.MapTypeLRUHash) || s[2] > 1 { // a kernel's LRU list gives up its only element before it looks
					step(" update if new", elem(mapUpdate, uapi.NoExist))
				}
				step(" update with a lock", elem(mapUpdate, uapi.Lock))
				step(" update with unknown flags", elem(mapUpdate, 1<<20))
				_, e, _ := k.call(mapLookup, field{0, int(fd)}, field{8, key}, field{16, big}, field{24, uint64(0)})
				step(" lookup", e, k.at(big, s[1]))
				_, e, _ = k.call(mapNextKey, field{0, int(fd)}, field{8, uint64(0)}, field{16, big})
				step(" first key", e, k.at(big, s[0]))
				_, e, _ = k.call(mapNextKey, field{0, int(fd)}, field{8, big}, field{16, big})
				step(" next key", e)
				_, e, a := k.call(lookupBatch, field{8, k.room(8)}, field{16, big}, field{24, big + 2048}, field{32, 1}, field{36, int(fd)}, field{48, uint64(0)})
				step(" batch of one", e, le.Uint32(a[32:]))
				_, e, a = k.call(lookupBatch, field{8, k.room(8)}, field{16, big}, field{24, big + 2048}, field{32, 64}, field{36, int(fd)}, field{48, uint64(0)})
				step(" batch of many", e, le.Uint32(a[32:]))
				_, e, _ = k.call(lookupDelete, field{0, int(fd)}, field{8, key}, field{16, big})
				step(" lookup and delete", e)
				_, e, _ = k.call(mapDelete, field{0, int(fd)}, field{8, key})
				step(" delete", e)
			default:
				_, e, _ := k.call(lookupDelete, field{0, int(fd)}, field{8, uint64(0)}, field{16, big})
				step(" pop", e)
			}
			info := k.room(88)
			_, e, a := k.call(infoByFD, field{0, int(fd)}, field{4, 88}, field{8, info})
			b := k.at(info, 88)
			step(" info", e, le.Uint32(a[4:]), le.Uint32(b), le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[16:]), le.Uint32(b[20:]))
			_, e, _ = k.call(mapFreeze, field{0, int(fd)})
			step(" freeze", e)
			_, e, _ = k.call(mapFreeze, field{0, int(fd)})
			step(" freeze again", e)
			k.close(fd)
		}
	}
	log := k.room(8192)
	for _, p := range []struct {
		name  string
		typ   uapi.ProgType
		insns []decode.Insn
		more  []field
	}{
		{"exit", uapi.ProgTypeSocketFilter, exitZero, nil},
		{"no exit", uapi.ProgTypeSocketFilter, exitZero[:1], nil},
		{"uninitialised register", uapi.ProgTypeSocketFilter, []decode.Insn{{Code: 0xbf, Src: 5}, {Code: 0x95}}, nil},
		{"descriptor of nothing", uapi.ProgTypeSocketFilter, []decode.Insn{{Code: 0x18, Dst: 1, Src: 1, Imm: 999}, {}, {Code: 0xb7}, {Code: 0x95}}, nil},
		{"unknown program type", 99, exitZero, nil},
		{"unknown flags", uapi.ProgTypeSocketFilter, exitZero, []field{{44, 1 << 29}}},
		{"BTF of nothing", uapi.ProgTypeSocketFilter, exitZero, []field{{72, 999}}},
		{"attach type that it has not", uapi.ProgTypeCgroupSockopt, exitZero, []field{{68, 3}}},
		{"attach target for a type without", uapi.ProgTypeSocketFilter, exitZero, []field{{108, 1}}},
		{"log without a level", uapi.ProgTypeSocketFilter, exitZero, []field{{28, 100}, {32, log}}},
		{"log that is too small", uapi.ProgTypeSocketFilter, exitZero, []field{{24, 1}, {28, 16}, {32, log}}},
		{"log", uapi.ProgTypeSocketFilter, exitZero, []field{{24, 1}, {28, 8192}, {32, log}}},
		{"unknown log level", uapi.ProgTypeSocketFilter, exitZero, []field{{24, 64}, {28, 8192}, {32, log}}},
	} {
		fd, e := k.load(p.typ, p.insns, p.more...)
		step("load "+p.name, e)
		if e != 0 {
			continue
		}
		packet := k.put(make([]byte, 64))
		_, e, a := k.call(testRun, field{0, int(fd)}, field{8, 64}, field{12, 0}, field{16, packet}, field{68, 0})
		step(" test run", e, le.Uint32(a[4:]), le.Uint32(a[12:]))
		_, e, _ = k.call(testRun, field{0, int(fd)}, field{8, 13}, field{16, packet}, field{68, 0})
		step(" test run on 13 bytes", e)
		_, e, _ = k.call(testRun, field{0, int(fd)}, field{8, 64}, field{16, packet}, field{64, 1}, field{68, 0})
		step(" test run with flags", e)
		_, e, _ = k.call(mapLookup, field{0, int(fd)}, field{8, packet}, field{16, packet}, field{24, uint64(0)})
		step(" lookup in a program", e)
		k.close(fd)
	}
	limits(t, k, step)
	repeatedRuns(t, k, step)
	return out.String()
}

const recorded = "testdata/linux-6.18.44.txt.gz"

// hostTask returns a task whose calls the running kernel answers, with a pause after every few.
func hostTask(t *testing.T, every int, pause time.Duration) *task {
	region, err := unix.Mmap(-1, 0, 1<<22, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	calls := 0
	return &task{mem: region, base: uint64(uintptr(unsafe.Pointer(&region[0]))), nativeClose: func(fd int64) { unix.Close(int(fd)) }, native: func(cmd uint32, addr uint64, size int) (int64, uapi.Errno) {
		if calls++; calls%every == 0 {
			time.Sleep(pause)
		}
		for {
			r, _, e := unix.Syscall(unix.SYS_BPF, uintptr(cmd), uintptr(addr), uintptr(size))
			if e != unix.EAGAIN { // a signal for the thread
				return int64(r), uapi.Errno(e)
			}
		}
	}}
}

// TestCallsAreAnsweredAsByTheKernel compares the answers with those of Linux 6.18.44, where they
// were recorded with -record.
func TestCallsAreAnsweredAsByTheKernel(t *testing.T) {
	if *recording.Flag {
		text := sequence(t, hostTask(t, 1, 2*time.Millisecond))
		require.NotContains(t, text[:200], "EPERM", "want root")
		recording.Write(t, recorded, text)
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	s, err := bpfsys.New(bpfsys.Config{Target: loader.NewTarget(embedded.Name, spec, loader.WithVersion(6<<16|18<<8|44)), Machine: machine.Config{Uncovered: true, Unwatched: true}})
	require.NoError(t, err)
	defer s.Close()
	k := &task{s: s, mem: make([]byte, 1<<22), base: base, files: map[int32]bpfsys.File{0: {Kind: bpfsys.OtherFile}}, next: 3}
	assert.Equal(t, recording.Read(t, recorded), sequence(t, k))
}
