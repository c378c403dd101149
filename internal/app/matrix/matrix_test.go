package matrix

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
)

// The full BTFs among the test data: two releases of one architecture, and another architecture.
const (
	k510  = "linux-5.10.262-amd64-cloud"
	k72   = "linux-7.2.13-amd64"
	arm64 = "linux-6.1.176-arm64-cloud"
)

func kernels(names ...string) []Kernel {
	var out []Kernel
	for _, name := range names {
		path := filepath.Join("../../../testdata/btf", name+".btf.xz")
		out = append(out, Kernel{Name: name, Source: path, Open: func() (*loader.Target, error) {
			spec, err := testbtf.Load(path)
			if err != nil {
				return nil, err
			}
			return loader.NewTarget(name, spec), nil
		}})
	}
	return out
}

func open(t testing.TB, paths ...string) []*loader.Object {
	t.Helper()
	var out []*loader.Object
	for _, p := range paths {
		o, err := loader.Open(filepath.Join("..", "..", "..", p))
		require.NoError(t, err)
		out = append(out, o)
	}
	return out
}

// cellsOf returns words by "object program kernel".
func cellsOf(m *Matrix) map[string]*Cell {
	out := map[string]*Cell{}
	for i := range m.Rows {
		r := &m.Rows[i]
		for k := range r.Cells {
			out[r.Object+" "+r.Program+" "+m.Targets[k].Name] = r.Cells[k]
		}
	}
	return out
}

func TestCells(t *testing.T) {
	objects := open(t, "examples/exec/exec.bpf.o", "examples/unlink/unlink.bpf.o", "examples/guarded/guarded.bpf.o",
		"examples/xdp/xdp.bpf.o", "examples/loop/loop.bpf.o", "testdata/objects/clang-14/missing.o", "testdata/objects/clang-14/faults.o",
		"testdata/objects/clang-14-eb/isa.o", "testdata/objects/clang-14/ptregs_x86.o", "testdata/objects/clang-14/sections.o")
	var calls atomic.Int32
	m, err := Run(t.Context(), objects, kernels(k510, k72, arm64), Config{
		Parallel: 2, Progress: func(done, total int) { calls.Add(1); assert.LessOrEqual(t, done, total) },
	})
	require.NoError(t, err)
	assert.EqualValues(t, 30, calls.Load())
	cells := cellsOf(m)
	for _, c := range []struct {
		cell, word string
		load       Load
		result     Outcome
	}{
		{"exec.bpf.o on_exec " + k510, "changed", LoadOK, RunOK},
		{"exec.bpf.o on_exec " + k72, "changed", LoadOK, RunOK},
		{"xdp.bpf.o filter " + k72, "ok", LoadOK, RunOK},
		// its bpf_loop and ld_func came with 5.17 and 5.13
		{"loop.bpf.o on_exit " + k510, "absent", LoadAbsent, RunNone},
		{"loop.bpf.o on_exit " + k72, "changed", LoadOK, RunOK},
		// big endian on little endian: a plain cell
		{"isa.o " + objects[7].Programs[0].Name + " " + k72, "n/a", LoadError, RunNone},
	} {
		got := cells[c.cell]
		require.NotNil(t, got, c.cell)
		assert.Equal(t, c.word, got.Word(), "%s: %s", c.cell, got.Detail)
		assert.Equal(t, c.load, got.Load, c.cell)
		assert.Equal(t, c.result, got.Result, c.cell)
	}
	assert.True(t, cells["loop.bpf.o on_exit "+k510].Refused)
	assert.NotNil(t, m.Targets[2].Facts)
	assert.Equal(t, "arm64", m.Targets[2].Facts.Arch)
	for name, c := range cells {
		if w := c.Word(); w != "ok" && w != "changed" && w != "dead" {
			assert.NotEmpty(t, c.Detail, name)
		}
	}
}

// TestBreak: a field read without a guard that no kernel has any more.
func TestBreak(t *testing.T) {
	m, err := Run(t.Context(), open(t, "testdata/objects/clang-14/missing.o"), kernels(k510, k72), Config{})
	require.NoError(t, err)
	words := map[string]bool{}
	for _, r := range m.Rows {
		for i := range r.Cells {
			c := r.Cells[i]
			words[c.Word()] = true
			if c.Word() == "BREAK" {
				assert.Equal(t, LoadError, c.Load)
				assert.Positive(t, c.Relocations.PoisonedReached)
				assert.Contains(t, c.Detail, "BREAK: ")
			}
		}
	}
	assert.True(t, words["BREAK"], "%v", words)
}

func TestKernelThatCannotBeOpened(t *testing.T) {
	broken := errors.New("no BTF there")
	ks := append(kernels(k72), Kernel{Name: "broken", Open: func() (*loader.Target, error) { return nil, broken }})
	m, err := Run(t.Context(), open(t, "examples/xdp/xdp.bpf.o"), ks, Config{Base: 1})
	require.NoError(t, err)
	assert.ErrorIs(t, m.Targets[1].Err, broken)
	assert.Equal(t, "ok", m.Rows[0].Cells[0].Word())
	assert.Equal(t, "error", m.Rows[0].Cells[1].Word())
	assert.Contains(t, m.Rows[0].Cells[1].Detail, "no BTF there")
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, open(t, "examples/xdp/xdp.bpf.o"), kernels(k72), Config{})
	assert.ErrorIs(t, err, context.Canceled)
}

// TestNothingRunsOnceCancelled, not even programs of an object that was loaded before.
func TestNothingRunsOnceCancelled(t *testing.T) {
	obj := open(t, "examples/xdp/xdp.bpf.o")[0]
	spec, err := embedded.Spec()
	require.NoError(t, err)
	for _, cancelled := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		if cancelled {
			cancel()
		}
		r := &runner{ctx: ctx, cfg: Config{Unverified: true}}
		res := r.runObject(obj, &target{t: loader.NewTarget(embedded.Name, spec), types: object.NewTypes()}, nil)
		require.Len(t, res.cells, len(obj.Programs))
		for i := range res.cells {
			assert.Equal(t, cancelled, res.outcomes[i] == nil)
			assert.Equal(t, cancelled, res.cells[i].Result == RunNone, res.cells[i].Result)
		}
		cancel()
	}
}

func TestJobsOpenKernelsAhead(t *testing.T) {
	r := &runner{cfg: Config{Parallel: 2}, objects: make([]*loader.Object, 1), targets: make([]target, 3)}
	assert.Equal(t, []job{{-1, 0}, {-1, 1}, {0, 0}, {-1, 2}, {0, 1}, {0, 2}}, r.jobs())
}

// TestRepeatable: two runs of a matrix are equal, whatever ran at the same time.
func TestRepeatable(t *testing.T) {
	objects := open(t, "examples/exec/exec.bpf.o", "examples/percpu/percpu.bpf.o", "examples/unlink/unlink.bpf.o")
	first, err := Run(t.Context(), objects, kernels(k510, arm64), Config{Parallel: 4})
	require.NoError(t, err)
	second, err := Run(t.Context(), objects, kernels(k510, arm64), Config{Parallel: 1})
	require.NoError(t, err)
	assert.Equal(t, first, second)
}

// A program that did something else only because another one of its object has no hook on a kernel
// is no difference, whichever kernel is the base; the time is that of the program's start, however
// many helpers were called before it was asked for.
func TestWhatFollowsFromOtherProgramsIsNoDifference(t *testing.T) {
	for _, names := range [][]string{{k510, k72}, {k72, k510}} {
		m, err := Run(context.Background(), open(t, "testdata/objects/clang-14/follow.o"), kernels(names...), Config{})
		require.NoError(t, err)
		cells := cellsOf(m)
		assert.Equal(t, "absent", cells["follow.o dirtied "+k72].Word())
		buffer := cells["follow.o buffer "+names[1]]
		assert.Equal(t, "ok", buffer.Word(), buffer.Detail)
		assert.True(t, buffer.Follows)
		where := map[string]string{k72: "here", k510: "there"}[names[1]]
		assert.Contains(t, buffer.Detail, "except for consequences of dirtied not running "+where)
		stamp := cells["follow.o stamp "+names[1]]
		assert.NotEqual(t, "differs", stamp.Word(), stamp.Detail)
		assert.False(t, stamp.Follows, "its time does not depend on the helpers called before: %s", stamp.Detail)
	}
}
