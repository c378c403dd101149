//go:build linux

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/jit"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

// alternate gives the least processor time of a call of each function, in nanoseconds, from windows
// in which they take turns.
func alternate(t testing.TB, rounds int, calls ...func()) []float64 {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const window = 2 * time.Millisecond
	best := make([]float64, len(calls))
	n := make([]int, len(calls))
	for i := range n {
		n[i] = 1
	}
	for range rounds {
		for i, call := range calls {
			for {
				start := clock()
				for range n[i] {
					call()
				}
				d := clock() - start
				if d < window {
					n[i] *= 2
					continue
				}
				if ns := float64(d) / float64(n[i]); best[i] == 0 || ns < best[i] {
					best[i] = ns
				}
				break
			}
		}
	}
	return best
}

// limits are ratios within one run, and what they were when they were written down. A regression is
// more than twice that: less is what processors, neighbours and the garbage collector make of the
// same code.
var limits = []struct {
	name    string
	usual   float64
	measure func(t *testing.T) float64
}{
	{"native code / interpreter, geometric mean", 0.12, func(t *testing.T) float64 { return engines(t)[0] }},
	{"interpreter / plain interpreter, geometric mean", 0.40, func(t *testing.T) float64 { return engines(t)[1] }},
	{"single steps / interpreter, geometric mean", 13, func(t *testing.T) float64 { return engines(t)[2] }},
	{"compilation of an instruction / its execution by the plain interpreter", 15, compilation},
	{"compilation of an instruction, program of 16,000 / of 1,000", 1.3, linear},
	{"parse of a kernel's BTF / sum of its words", 2, parsing},
	{"opening and linking the examples / parse of that BTF", 3, linking},
	{"spin lock and unlock / lookup in an array, native code", 1.2, locking},
}

// regressed measures up to three times until a ratio is within twice the usual one.
func regressed(usual float64, measure func() float64) (ratio float64, bad bool) {
	for range 3 {
		if r := measure(); ratio == 0 || r < ratio {
			ratio = r
		}
		if ratio <= 2*usual {
			return ratio, false
		}
	}
	return ratio, true
}

// TestRatios fails when a ratio within this run is more than twice the usual one: BENCH_RATIOS=1.
func TestRatios(t *testing.T) {
	if os.Getenv("BENCH_RATIOS") == "" {
		t.Skip("BENCH_RATIOS is not set")
	}
	if !jit.Supported() {
		t.Skip("no native code here")
	}
	fmt.Println("| ratio | now | usual |\n|---|---:|---:|")
	for _, l := range limits {
		ratio, bad := regressed(l.usual, func() float64 { return l.measure(t) })
		fmt.Printf("| %s | %.2f | %.2f |\n", l.name, ratio, l.usual)
		if bad {
			t.Errorf("%s: %.2f, at most %.2f is within noise", l.name, ratio, 2*l.usual)
		}
	}
}

func TestRegressionIsTwiceTheUsualRatio(t *testing.T) {
	for _, tt := range []struct {
		name  string
		times []float64
		want  float64
		bad   bool
	}{
		{"as usual", []float64{1}, 1, false},
		{"noise", []float64{3, 1.5}, 1.5, false},
		{"slower each time", []float64{2.5, 2.2, 2.6}, 2.2, true},
	} {
		i := 0
		ratio, bad := regressed(1, func() float64 { i++; return tt.times[i-1] })
		assert.Equal(t, tt.want, ratio, tt.name)
		assert.Equal(t, tt.bad, bad, tt.name)
		assert.Equal(t, len(tt.times), i, "%s: measured as often as needed", tt.name)
	}
}

// engines gives the geometric means of native code, and of single steps, by the interpreter, and of
// that by the plain one.
func engines(t *testing.T) [3]float64 {
	var ratios [3][]float64
	for _, name := range []string{"fnv1a", "sha256", "sort", "packets", "utf8", "matmul", "calls"} {
		p, native := load(t, name), load(t, name)
		native.compile(t)
		x := plain{mem: input()}
		run := func(p *program, slice uint64) func() {
			return func() {
				if p.run(slice) != vm.Done {
					t.Fatal(name, p.m.Thread().Fault())
				}
			}
		}
		run(native, 1<<40)()
		ns := alternate(t, 12, run(native, 1<<40), run(p, 1<<40), run(p, 1), func() {
			if _, err := x.run(p.linked.Insns); err != nil {
				t.Fatal(name, err)
			}
		})
		ratios[0] = append(ratios[0], ns[0]/ns[1])
		ratios[1] = append(ratios[1], ns[1]/ns[3])
		ratios[2] = append(ratios[2], ns[2]/ns[1])
	}
	return [3]float64{geomean(ratios[0]), geomean(ratios[1]), geomean(ratios[2])}
}

// turns gives a machine with the programs of testdata/net/turns.bpf.c.
func turns(t *testing.T, e machine.Engine) *machine.Machine {
	obj, err := loader.Open("testdata/net/turns.bpf.o")
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(rawName, parse(t, rawTypes(t))), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(linked, machine.Config{Engine: e, Uncovered: true})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// locking is the time of a turn that takes and releases a lock by that of one with a lookup.
func locking(t *testing.T) float64 {
	m := turns(t, machine.EngineJIT)
	turn := func(program string) float64 {
		res, err := m.Measure(context.Background(), program, machine.Input{}, nil)
		require.NoError(t, err)
		require.True(t, res.First.Ran)
		require.Nil(t, res.First.Fault)
		return res.Min
	}
	return turn("lock_turns") / turn("array_adds")
}

// compilation is the time to compile an instruction by the time the plain interpreter takes to
// execute one.
func compilation(t *testing.T) float64 {
	p := load(t, "sha256")
	x := plain{mem: input()}
	var c *jit.Compiled
	ns := alternate(t, 12, func() {
		var err error
		if c, err = jit.Compile(p.img, nil, false, c); err != nil {
			t.Fatal(err)
		}
	}, func() {
		if _, err := x.run(p.linked.Insns); err != nil {
			t.Fatal(err)
		}
	})
	return ns[0] / float64(p.img.Len()) / (ns[1] / float64(x.insns))
}

// linear is what an instruction of a long program costs to compile, by that of a short one.
func linear(t *testing.T) float64 {
	image := func(n int) *vm.Image {
		insns := []decode.Insn{{Code: 0xb7}} // r0 = 0
		for i := range n {
			switch i % 8 {
			case 6:
				insns = append(insns, decode.Insn{Code: 0x15, Dst: 2, Off: 1, Imm: int32(i)}) // if r2 == i skip the next
			default:
				insns = append(insns, decode.Insn{Code: 0x0f, Src: 1}, decode.Insn{Code: 0xa7, Dst: 2, Imm: int32(i)}) // r0 += r1, r2 ^= i
			}
		}
		img, err := vm.Lower(vm.LowerConfig{Insns: append(insns, decode.Insn{Code: 0x95}), Fuse: true})
		require.NoError(t, err)
		return img
	}
	compile := func(img *vm.Image) func() {
		var c *jit.Compiled
		return func() {
			var err error
			if c, err = jit.Compile(img, nil, true, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	short, long := image(500), image(8500)
	ns := alternate(t, 8, compile(short), compile(long))
	return ns[1] / float64(long.Len()) / (ns[0] / float64(short.Len()))
}

// parsing is the time to parse a kernel's BTF by that to sum its words.
func parsing(t *testing.T) float64 {
	raw := rawTypes(t)
	var sum uint32
	ns := alternate(t, 8, func() {
		_, err := btf.Parse(raw, nil)
		require.NoError(t, err)
	}, func() {
		for i := 0; i+4 <= len(raw); i += 4 {
			sum += uint32(raw[i]) | uint32(raw[i+1])<<8 | uint32(raw[i+2])<<16 | uint32(raw[i+3])<<24
		}
	})
	require.NotZero(t, sum)
	return ns[0] / ns[1]
}

// linking is the time to open the examples' objects and relocate them for a kernel by that to parse
// the kernel's BTF.
func linking(t *testing.T) float64 {
	raw := rawTypes(t)
	spec, err := btf.Parse(raw, nil)
	require.NoError(t, err)
	objects, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.NotEmpty(t, objects)
	ns := alternate(t, 8, func() {
		_, err := btf.Parse(raw, nil)
		require.NoError(t, err)
	}, func() {
		for _, path := range objects {
			obj, err := loader.Open(path)
			require.NoError(t, err)
			_, err = obj.Load(loader.NewTarget("7.2.13", spec), loader.LoadOptions{LinkOnly: true})
			require.NoError(t, err)
		}
	})
	return ns[1] / ns[0]
}
