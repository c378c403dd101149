//go:build linux

package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/app/matrix"
	"github.com/bpfrun/bpfrun/internal/filecache"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/jit/amd64"
	"github.com/bpfrun/bpfrun/jit/arm64"
	"github.com/bpfrun/bpfrun/jit/plan"
	"github.com/bpfrun/bpfrun/loader"
)

// tolerance is how much more than the usual amount is a regression: amounts do not depend on the
// processor or its load.
const tolerance = 1.3

// amounts are counts of one operation, and what they were when they were written down.
var amounts = []struct {
	name    string
	usual   float64
	measure func(t *testing.T) float64
}{
	{"objects allocated by a matrix of ten objects, nothing kept", 23200, func(t *testing.T) float64 { return matrices(t)[0] }},
	{"the same, everything kept", 1058, func(t *testing.T) float64 { return matrices(t)[1] }},
	{"objects allocated by parsing a run of a scenario", 14, parsedRun},
	{"objects allocated by checking a run of a scenario", 78, checkedRun},
	{"objects allocated by restoring a machine and a run with an event", 219, restored},
	{"objects allocated by 1,000 ring buffer records", 66, records},
	{"bytes of native code of the benchmark programs' loops, amd64", 8285, func(t *testing.T) float64 { return loopCode(t, amd64.Compile) }},
	{"the same, arm64", 7032, func(t *testing.T) float64 { return loopCode(t, arm64.Compile) }},
	{"page faults of bpfrun version", 725, func(t *testing.T) float64 { return faults(t, "version") }},
	{"page faults of bpfrun OBJECT -q", 1390, func(t *testing.T) float64 { return faults(t, "../../examples/openat/openat.bpf.o", "-q") }},
}

// TestAmounts fails when an amount is more than the tolerance above the usual one: BENCH_RATIOS=1.
func TestAmounts(t *testing.T) {
	if os.Getenv("BENCH_RATIOS") == "" {
		t.Skip("BENCH_RATIOS is not set")
	}
	fmt.Println("| amount | now | usual |\n|---|---:|---:|")
	for _, a := range amounts {
		n := a.measure(t)
		fmt.Printf("| %s | %.0f | %.0f |\n", a.name, n, a.usual)
		if n > tolerance*a.usual {
			t.Errorf("%s: %.0f, at most %.0f is as usual", a.name, n, tolerance*a.usual)
		}
	}
}

// allocated gives the number of objects that a call allocates. A first one has filled what is
// computed once.
func allocated(call func()) float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	call()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs)
}

// The amounts of the matrix are different ones: kept results are used.
func TestAmountsOfKeptResultsAreSmall(t *testing.T) {
	n := matrices(t)
	require.Less(t, n[1]*10, n[0])
}

// matrices counts for a matrix of examples on a kernel, without a cache and with a full one.
func matrices(t *testing.T) [2]float64 {
	paths, err := filepath.Glob("../../examples/*/*.bpf.o")
	require.NoError(t, err)
	require.Greater(t, len(paths), 10)
	var objects []*loader.Object
	for _, p := range paths[:10] {
		obj, err := loader.Open(p)
		require.NoError(t, err)
		objects = append(objects, obj)
	}
	spec, err := embedded.Spec()
	require.NoError(t, err)
	kernels := []matrix.Kernel{{Name: embedded.Name, Source: "embedded", Open: func() (*loader.Target, error) { return loader.NewTarget(embedded.Name, spec), nil }, Key: func() string { return "embedded" }}}
	run := func(c *matrix.Cache) func() {
		return func() {
			_, err := matrix.Run(context.Background(), objects, kernels, matrix.Config{Cache: c, Parallel: 1, Machine: machine.Config{Seed: 1}})
			require.NoError(t, err)
		}
	}
	store := &filecache.Dir{Path: filepath.Join(t.TempDir(), "results"), Suffix: ".res", Magic: "amounts", Limit: 64 << 20, Largest: 16 << 20}
	return [2]float64{allocated(run(nil)), allocated(run(&matrix.Cache{Store: store, Build: "test"}))}
}

// manyRuns is the text of a scenario with a number of runs.
func manyRuns(n int) []byte {
	var b strings.Builder
	b.WriteString("object: openat.bpf.o\nobjects:\n  cat: {type: task_struct, pid: 4243, tgid: 4242, comm: cat}\nruns:\n")
	for i := range n {
		fmt.Fprintf(&b, "- name: run %d\n  prog: enter\n  current: $cat\n  args: {dfd: AT_FDCWD, filename: !user /etc/shadow, flags: O_RDONLY, mode: 0}\n  expect: {maps: {pending: {4243: {start: !gt 0}}}}\n", i)
	}
	return []byte(b.String())
}

const runs = 200

func parsedRun(t *testing.T) float64 {
	text := manyRuns(runs)
	return allocated(func() {
		_, err := scenario.Parse("../../examples/openat/many.yaml", text)
		require.NoError(t, err)
	}) / runs
}

// opened returns what opens a file of many runs.
func opened(t *testing.T) func() *scenario.Runner {
	f, err := scenario.Parse("../../examples/openat/many.yaml", manyRuns(runs))
	require.NoError(t, err)
	obj, err := loader.Open(f.Object)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	target := loader.NewTarget(embedded.Name, spec)
	return func() *scenario.Runner {
		r, err := scenario.Open(f, obj, target, scenario.Options{Config: machine.Config{Seed: 1}})
		require.NoError(t, err)
		return r
	}
}

func checkedRun(t *testing.T) float64 {
	open := opened(t)
	return allocated(func() { open().Close() }) / runs
}

func restored(t *testing.T) float64 {
	f, err := scenario.ParseFile("../../examples/openat/openat.yaml")
	require.NoError(t, err)
	obj, err := loader.Open(f.Object)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	r, err := scenario.Open(f, obj, loader.NewTarget(embedded.Name, spec), scenario.Options{Config: machine.Config{Seed: 1}})
	require.NoError(t, err)
	defer r.Close()
	const times = 100
	return allocated(func() {
		for range times {
			r.Reset()
			for _, run := range f.Runs[:2] { // the second one has an event
				res, err := r.One(context.Background(), run)
				require.NoError(t, err)
				require.True(t, res.Passed(), "%v", res.Failed())
			}
		}
	}) / times
}

// records counts for a run that reserves and discards them.
func records(t *testing.T) float64 {
	m := turns(t, machine.EngineInterpreter)
	return allocated(func() {
		res, err := m.Run(context.Background(), "ringbuf_turns", machine.Input{})
		require.NoError(t, err)
		require.True(t, res.Ran)
		require.Nil(t, res.Fault)
	})
}

// loopCode gives the size of the copies of loops, where long runs spend their time.
func loopCode(t *testing.T, compile func(*plan.Program, plan.Target, *plan.Code) error) float64 {
	size := 0
	var out plan.Code
	for _, name := range names(t) {
		p := plan.New(load(t, name).img, nil, nil)
		p.Optimise(func(int32) bool { return true }, nil)
		out.Reset(len(p.Insns))
		require.NoError(t, compile(p, plan.Target{StateDelta: -1 << 16}, &out))
		if len(p.Insns) > p.Len() {
			size += int(out.Cold - out.Starts[p.Len()])
		}
	}
	return float64(size)
}

// faults gives the least number of page faults of a command, without reads from disks.
func faults(t *testing.T, args ...string) float64 {
	if builtCommand == "" {
		builtCommand = filepath.Join(t.TempDir(), "bpfrun") // all are measured in one test
		build := exec.Command("go", "build", "-o", builtCommand, "../../cmd/bpfrun")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	least := 0.0
	for range 7 {
		cmd := exec.Command(builtCommand, args...)
		cmd.Env = append(os.Environ(), "BPFRUN_CACHE="+filepath.Join(filepath.Dir(builtCommand), "cache"))
		require.NoError(t, cmd.Run())
		if n := float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Minflt); least == 0 || n < least {
			least = n
		}
	}
	return least
}

var builtCommand string
