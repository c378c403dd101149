package bpfsys_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// repeated are programs whose runs find what the runs before them left: in the packet, its length,
// the context, a map.
var repeated = []struct {
	name string
	typ  uapi.ProgType
	text string // with 0 ll for an array map
	ctx  int    // size of the context that the caller reads
}{
	{"mark and a byte of the packet", uapi.ProgTypeSchedCls, `
		r6 = r1
		r0 = *(u32 *)(r6 + 8)
		r0 += 1
		*(u32 *)(r6 + 8) = r0
		r2 = *(u32 *)(r6 + 76)
		r3 = *(u32 *)(r6 + 80)
		r4 = r2
		r4 += 20
		if r4 > r3 goto out
		r5 = *(u8 *)(r2 + 16)
		r5 += 3
		*(u8 *)(r2 + 16) = r5
	out:	exit`, 192},
	{"control block of a socket filter", uapi.ProgTypeSocketFilter, `
		r0 = *(u32 *)(r1 + 48)
		r0 += 2
		*(u32 *)(r1 + 48) = r0
		exit`, 192},
	{"control block of a cgroup's program", uapi.ProgTypeCgroupSkb, `
		r0 = *(u32 *)(r1 + 52)
		r0 += 1
		*(u32 *)(r1 + 52) = r0
		r0 &= 1
		exit`, 192},
	{"start of a frame", uapi.ProgTypeXDP, `
		r6 = r1
		r2 = 1
		call 44
		r1 = *(u32 *)(r6 + 0)
		r2 = *(u32 *)(r6 + 4)
		r2 -= r1
		r0 += r2
		exit`, 0},
	{"bytes of a frame", uapi.ProgTypeXDP, `
		r2 = *(u32 *)(r1 + 0)
		r3 = *(u32 *)(r1 + 4)
		r0 = 1
		r4 = r2
		r4 += 14
		if r4 > r3 goto out
		r0 = *(u8 *)(r2 + 5)
		r0 += 7
		*(u8 *)(r2 + 5) = r0
	out:	exit`, 0},
	{"end of a packet", uapi.ProgTypeSchedCls, `
		r6 = r1
		r2 = *(u32 *)(r6 + 0)
		r2 += -1
		r3 = 0
		call 38
		r0 = *(u32 *)(r6 + 0)
		exit`, 192},
	{"counter in a map", uapi.ProgTypeXDP, `
		*(u32 *)(r10 - 4) = 0
		r1 = 0 ll
		r2 = r10
		r2 += -4
		call 1
		if r0 == 0 goto out
		r1 = 1
		lock *(u64 *)(r0 + 0) += r1
		r0 = *(u64 *)(r0 + 0)
	out:	exit`, 0},
}

// loadRepeated loads a program, and an array map for it.
func loadRepeated(t testing.TB, k *task, typ uapi.ProgType, text string) (prog, array int64) {
	t.Helper()
	array, e := k.createMap(uapi.MapTypeArray, 4, 8, 1, 0)
	require.Zero(t, e)
	insns, err := decode.Assemble(text)
	require.NoError(t, err)
	for i := range insns {
		if insns[i].IsLdImm64() {
			insns[i].Src, insns[i].Imm = 1, int32(array)
		}
	}
	prog, e = k.load(typ, insns)
	require.Zero(t, e, text)
	return prog, array
}

// repeatedRuns makes test runs with repetitions and tells the steps what the caller sees.
func repeatedRuns(t *testing.T, k *task, step func(name string, e uapi.Errno, seen ...any)) {
	for _, p := range repeated {
		for _, n := range []int{1, 2, 65, 1000} {
			fd, array := loadRepeated(t, k, p.typ, p.text)
			step("load "+p.name, 0)
			packet, out, ctx := make([]byte, 200), k.room(4096), k.room(256)
			for i := range packet {
				packet[i] = byte(i)
			}
			binary.BigEndian.PutUint16(packet[12:], 0x0800)
			packet[14] = 0x45
			more := []field{{0, int(fd)}, {8, len(packet)}, {12, 4096}, {16, k.put(packet)}, {24, out}, {32, n}, {68, 0}}
			if p.ctx > 0 {
				more = append(more, field{44, p.ctx}, field{56, ctx})
			}
			_, e, a := k.call(testRun, more...)
			seen := []any{le.Uint32(a[4:]), le.Uint32(a[12:]), fmt.Sprintf("%x", k.at(out, 32))}
			if p.ctx > 0 {
				seen = append(seen, le.Uint32(k.at(ctx+8, 4)), fmt.Sprintf("%x", k.at(ctx+48, 20)), le.Uint32(k.at(ctx, 4)))
			}
			step(fmt.Sprintf(" %d runs", n), e, seen...)
			key, value := k.put(make([]byte, 4)), k.room(8)
			_, e, _ = k.call(mapLookup, field{0, int(array)}, field{8, key}, field{16, value}, field{24, uint64(0)})
			step(" counted", e, le.Uint64(k.at(value, 8)))
			k.close(fd)
			k.close(array)
		}
	}
}

// printing prints a line, and returns the number of its run from the control block.
const printing = `
	r6 = r1
	*(u32 *)(r10 - 4) = 0x0a6968
	r1 = r10
	r1 += -4
	r2 = 4
	call 6
	r0 = *(u32 *)(r6 + 48)
	r0 += 1
	*(u32 *)(r6 + 48) = r0
	exit`

// TestRepeatedRunsAreSeenAndInterrupted: what each run printed can be read, and a signal ends the
// repetitions (bpf_test_timer_continue).
func TestRepeatedRunsAreSeenAndInterrupted(t *testing.T) {
	k := newTask(t)
	fd, _ := loadRepeated(t, k, uapi.ProgTypeSocketFilter, printing)
	run := func(n int) (uint32, uapi.Errno) {
		_, e, a := k.call(testRun, field{0, int(fd)}, field{8, 64}, field{16, k.room(64)}, field{32, n}, field{68, 0})
		return le.Uint32(a[4:]), e
	}
	ret, e := run(200)
	require.Zero(t, e)
	assert.EqualValues(t, 200, ret)
	lines := func() int {
		out, found := k.s.ReadFile("/sys/kernel/tracing/trace_pipe")
		require.NotZero(t, found)
		return strings.Count(string(out), "hi\n")
	}
	assert.Equal(t, 200, lines())
	k.interrupted = true
	_, e = run(1000)
	assert.Equal(t, uapi.EINTR, e)
	assert.Equal(t, 64, lines())
}

// BenchmarkRepeatedTestRun makes test runs of 1,000 repetitions.
func BenchmarkRepeatedTestRun(b *testing.B) {
	for _, p := range repeated {
		b.Run(p.name, func(b *testing.B) {
			k := newTask(b)
			fd, _ := loadRepeated(b, k, p.typ, p.text)
			packet := k.put(make([]byte, 1400))
			for b.Loop() {
				_, e, _ := k.call(testRun, field{0, int(fd)}, field{8, 1400}, field{16, packet}, field{32, 1000}, field{68, 0})
				require.Zero(b, e)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/run")
		})
	}
}

// TestWireLengthOfTestRuns: with a context, given or only asked for, wire_len is the packet's
// length before the program; without one it is 0. So Linux 6.18 answers.
func TestWireLengthOfTestRuns(t *testing.T) {
	k := newTask(t)
	prog, e := k.load(uapi.ProgTypeSchedCls, []decode.Insn{
		{Code: 0xbf, Dst: 6, Src: 1}, {Code: 0xb7, Dst: 2, Imm: 60}, {Code: 0xb7, Dst: 3}, {Code: 0x85, Imm: int32(uapi.FuncSkbChangeTail)},
		{Code: 0x61, Dst: 0, Src: 6, Off: 160}, {Code: 0x95},
	})
	require.Zero(t, e, "%v", k.notes)
	zeros := k.room(192)
	for _, tt := range []struct {
		name       string
		in, out    bool
		seen, told uint32
	}{
		{"neither", false, false, 0, 0}, {"asked for", false, true, 100, 100}, {"given", true, false, 100, 0}, {"both", true, true, 100, 100},
	} {
		out := k.room(192)
		fields := []field{{0, int(prog)}, {8, 100}, {16, k.room(100)}, {68, 0}}
		if tt.in {
			fields = append(fields, field{40, 192}, field{48, zeros})
		}
		if tt.out {
			fields = append(fields, field{44, 192}, field{56, out})
		}
		_, e, a := k.call(testRun, fields...)
		require.Zero(t, e, "%s: %v", tt.name, k.notes)
		assert.Equal(t, tt.seen, le.Uint32(a[4:]), "%s: what the program sees", tt.name)
		assert.Equal(t, tt.told, le.Uint32(k.at(out+160, 4)), "%s: what the caller gets", tt.name)
	}
}
