// Package bench measures bpfrun: the interpreter against a plain one, native code and other
// machines, and the time from an object to its table, part by part. It has only tests and
// benchmarks; BENCHMARKS.md says how to run them.
package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// memSize is the size of the memory the programs get.
const memSize = 64 << 10

// input is that memory: random bytes, always the same (SplitMix64).
func input() []byte {
	b := make([]byte, memSize)
	x := uint64(1)
	for i := range b {
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		b[i] = byte(z ^ z>>31)
	}
	return b
}

// names lists the programs of testdata.
func names(t testing.TB) []string {
	files, err := filepath.Glob("testdata/*.bpf.o")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 18)
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".bpf.o")
	}
	return files
}

// usesMaps reports whether a program needs helpers, which the plain interpreter and native code do
// not have.
func usesMaps(name string) bool { return strings.HasPrefix(name, "map_") }

// program is a benchmark program ready to run on a machine.
type program struct {
	m      *machine.Machine
	linked *loader.LinkedProgram
	img    *vm.Image
	mem    *mem.Region
}

func target(t testing.TB) *loader.Target {
	spec, err := btffile.Load("../../testdata/btf/min/linux-6.12.107-amd64.min.btf", nil)
	require.NoError(t, err)
	return loader.NewTarget("linux-6.12.107-amd64", spec)
}

func load(t testing.TB, name string) *program {
	t.Helper()
	obj, err := loader.Open("testdata/" + name + ".bpf.o")
	require.NoError(t, err)
	linked, err := obj.Load(target(t), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(linked, machine.Config{Uncovered: true})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	img, ok := m.ImageOf(name)
	require.True(t, ok)
	lp, ok := linked.Program(name)
	require.True(t, ok)
	r, err := m.Memory().Alloc(memSize, mem.Region{Name: "memory"})
	require.NoError(t, err)
	p := &program{m: m, linked: lp, img: img, mem: r}
	s, _, err := m.Begin(name, machine.Input{}) // helpers need a run
	require.NoError(t, err)
	t.Cleanup(s.Leave)
	m.Thread().Track(false) // a tracked run leaves native code alone
	p.refresh()
	return p
}

// compile makes the program run as native code.
func (p *program) compile(t testing.TB) {
	e, err := jit.New(p.m.Memory())
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(e.Close)
	p.m.Thread().SetEngine(e)
}

func (p *program) refresh() { copy(p.m.Memory().Bytes(p.mem), input()) }

// run executes the program once, at most slice instructions at a time.
func (p *program) run(slice uint64) vm.Stop {
	t := p.m.Thread()
	t.Start(p.img, p.mem.Base, memSize)
	for {
		// Stopped is the machine's pause after much work of helpers.
		if stop := t.Run(slice); stop != vm.Budget && stop != vm.Stopped {
			return stop
		}
	}
}

// TestPrograms checks that the programs give the same result on the plain interpreter and on the
// real one, at full speed and step by step, and that they may run again and again on the same
// memory.
func TestPrograms(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			p := load(t, name)
			th := p.m.Thread()
			require.Equal(t, vm.Done, p.run(1<<40), "%v", th.Fault())
			ret, insns := th.Ret(), th.Insns()
			assert.Greater(t, insns, uint64(10_000))
			require.Equal(t, vm.Done, p.run(1))
			assert.Equal(t, ret, th.Ret(), "second run")
			assert.Equal(t, insns, th.Insns(), "second run")
			if usesMaps(name) {
				return
			}
			x := plain{mem: input()}
			got, err := x.run(p.linked.Insns)
			require.NoError(t, err)
			assert.Equal(t, ret, got, "plain")
			assert.Equal(t, insns, x.insns, "plain")
		})
	}
}

// sink keeps results alive.
var sink uint64

// benchmarkPrograms runs one benchmark per program and reports nanoseconds per instruction.
func benchmarkPrograms(b *testing.B, maps bool, prepare func(b *testing.B, name string) func() (insns uint64)) {
	for _, name := range names(b) {
		if usesMaps(name) && !maps {
			continue
		}
		b.Run(name, func(b *testing.B) {
			run := prepare(b, name)
			insns := uint64(0)
			for b.Loop() {
				insns += run()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(insns), "ns/insn")
		})
	}
}

// BenchmarkInterp is the interpreter at full speed.
func BenchmarkInterp(b *testing.B) {
	benchmarkPrograms(b, true, func(b *testing.B, name string) func() uint64 {
		p := load(b, name)
		return func() uint64 {
			if p.run(1<<40) != vm.Done {
				b.Fatal(p.m.Thread().Fault())
			}
			return p.m.Thread().Insns()
		}
	})
}

// BenchmarkJIT is native code.
func BenchmarkJIT(b *testing.B) {
	benchmarkPrograms(b, true, func(b *testing.B, name string) func() uint64 {
		p := load(b, name)
		p.compile(b)
		return func() uint64 {
			if p.run(1<<40) != vm.Done {
				b.Fatal(p.m.Thread().Fault())
			}
			return p.m.Thread().Insns()
		}
	})
}

// BenchmarkStep enters the interpreter once per instruction.
func BenchmarkStep(b *testing.B) {
	benchmarkPrograms(b, true, func(b *testing.B, name string) func() uint64 {
		p := load(b, name)
		return func() uint64 {
			if p.run(1) != vm.Done {
				b.Fatal(p.m.Thread().Fault())
			}
			return p.m.Thread().Insns()
		}
	})
}

// BenchmarkPlain is the plain interpreter.
func BenchmarkPlain(b *testing.B) {
	benchmarkPrograms(b, false, func(b *testing.B, name string) func() uint64 {
		p := load(b, name)
		x := plain{mem: input()}
		return func() uint64 {
			ret, err := x.run(p.linked.Insns)
			if err != nil {
				b.Fatal(err)
			}
			sink += ret
			return x.insns
		}
	})
}

// TestInput writes the programs' memory to the file named by BENCH_INPUT, for bpfrun bench --mem.
func TestInput(t *testing.T) {
	path := os.Getenv("BENCH_INPUT")
	if path == "" {
		t.Skip("BENCH_INPUT names no file")
	}
	require.NoError(t, os.WriteFile(path, input(), 0o666))
}
