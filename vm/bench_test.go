package vm

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/mem"
)

var benchPrograms = []string{"fib", "hash", "hash64", "sieve", "matmul", "pkt", "calls"}

// loadBench lowers a program of testdata/bench and makes its 64 KiB of memory.
func loadBench(t testing.TB, name string, fuse bool) (*mem.Memory, *Image, *mem.Region) {
	t.Helper()
	text, err := os.ReadFile("testdata/bench/" + name + ".hex")
	require.NoError(t, err)
	code, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	require.NoError(t, err)
	insns, err := decode.Unmarshal(code, binary.LittleEndian)
	require.NoError(t, err)
	img, err := Lower(LowerConfig{Name: name, Insns: insns, Fuse: fuse})
	require.NoError(t, err)
	m, err := mem.New(mem.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	r, err := m.Alloc(64<<10, mem.Region{Name: "mem"})
	require.NoError(t, err)
	for i := range m.Bytes(r) {
		m.Bytes(r)[i] = byte(i * 31)
	}
	return m, img, r
}

func benchRun(t testing.TB, name string, md mode) (ret, insns uint64) {
	m, img, r := loadBench(t, name, md.fuse)
	th := NewThread(m, ThreadConfig{})
	if md.cover {
		th.SetPatches(NewPatches(true))
	}
	th.Start(img, r.Base, r.Size)
	require.Equal(t, Done, runAll(th, md.slice, 1<<40), "%s: %v", name, th.Fault())
	return th.Ret(), th.Insns()
}

// TestBenchPrograms checks that every way to run gives the same result and count.
func TestBenchPrograms(t *testing.T) {
	for _, name := range benchPrograms {
		t.Run(name, func(t *testing.T) {
			ret, insns := benchRun(t, name, mode{slice: 1})
			for _, md := range append(modes, mode{"strict", true, false, 12345}) {
				gotRet, gotInsns := benchRun(t, name, md)
				assert.Equal(t, ret, gotRet, md.name)
				assert.Equal(t, insns, gotInsns, md.name)
			}
			t.Logf("ret %#x, %d instructions", ret, insns)
		})
	}
}

func benchmark(b *testing.B, fuse, cover bool, slice uint64) {
	sum, n := 0.0, 0
	for _, name := range benchPrograms {
		b.Run(name, func(b *testing.B) {
			m, img, r := loadBench(b, name, fuse)
			th := NewThread(m, ThreadConfig{})
			if cover {
				th.SetPatches(NewPatches(true))
			}
			insns := uint64(0)
			for b.Loop() {
				th.Start(img, r.Base, r.Size)
				for th.Run(slice) == Budget {
				}
				insns += th.Insns()
			}
			ns := float64(b.Elapsed().Nanoseconds()) / float64(insns)
			b.ReportMetric(ns, "ns/insn")
			sum += math.Log(ns)
			n++
		})
	}
	if n > 0 {
		b.Logf("geomean %.3f ns/insn", math.Exp(sum/float64(n)))
	}
}

func BenchmarkInterp(b *testing.B)   { benchmark(b, true, false, 1<<40) }
func BenchmarkPlain(b *testing.B)    { benchmark(b, false, false, 1<<40) }
func BenchmarkCoverage(b *testing.B) { benchmark(b, true, true, 1<<40) }
func BenchmarkStep(b *testing.B)     { benchmark(b, true, false, 1) }

// BenchmarkStart measures a run of a trivial program, entry and exit included.
func BenchmarkStart(b *testing.B) {
	img, err := Lower(LowerConfig{Insns: []decode.Insn{{Code: 0xb7}, {Code: 0x95}}})
	require.NoError(b, err)
	m, err := mem.New(mem.Config{})
	require.NoError(b, err)
	defer m.Close()
	th := NewThread(m, ThreadConfig{})
	for b.Loop() {
		th.Start(img)
		th.Run(1000)
	}
}
