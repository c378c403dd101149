//go:build linux

package bench

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/loader"
)

// turnPrograms are those of testdata/net/turns.bpf.c, and how many turns or tail calls one of their
// runs makes.
var turnPrograms = []struct {
	what, name string
	turns      float64
}{
	{"bpf_loop, a turn", "bpf_loop_turns", 1000}, {"bpf_for_each_map_elem, an element", "for_each_turns", 1000},
	{"bpf_iter_num, a turn", "iter_num_turns", 1000}, {"tail call", "tail_calls", 33},
	{"array lookup and add", "array_adds", 1000}, {"LRU hash lookup and add", "lru_adds", 1000},
	{"trie lookup and add, IPv6 addresses", "trie_adds", 1000}, {"array update", "update_turns", 1000},
	{"ring buffer record, reserved and discarded", "ringbuf_turns", 1000}, {"the same of 24 bytes, stored to and submitted", "submit_turns", 1000},
	{"spin lock and unlock", "lock_turns", 1000}, {"the same, storing to the bytes beside the lock", "lock_beside_turns", 1000}, {"random number", "random_turns", 1000},
	{"local storage of a task and add", "storage_turns", 1000},
}

// TestTurns measures loops that helpers and kfuncs make, and tail calls, with native code, on the
// interpreter and, as root with BENCH_KERNEL=1, on the running kernel: BENCH_JIT=1.
func TestTurns(t *testing.T) {
	if os.Getenv("BENCH_JIT") == "" {
		t.Skip("BENCH_JIT is not set")
	}
	obj, err := loader.Open("testdata/net/turns.bpf.o")
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(rawName, parse(t, rawTypes(t))), loader.LoadOptions{})
	require.NoError(t, err)
	fmt.Println("| ns | JIT | of it native | interpreter | kernel |\n|---|---:|---:|---:|---:|")
	for _, p := range turnPrograms {
		best := func(e machine.Engine) (ns, native float64) {
			m, err := machine.New(linked, machine.Config{Engine: e, Uncovered: true})
			require.NoError(t, err)
			defer m.Close()
			res, err := m.Measure(context.Background(), p.name, machine.Input{}, nil)
			require.NoError(t, err)
			require.Nil(t, res.First.Fault)
			return res.Min / p.turns, res.Native
		}
		if only := os.Getenv("BENCH_ONLY"); only != "" && !regexp.MustCompile(only).MatchString(p.name) {
			continue
		}
		native, share := best(machine.EngineJIT)
		interpreted, _ := best(machine.EngineInterpreter)
		fmt.Printf("| %s | %.1f | %.0f %% | %.1f | %s |\n", p.what, native, 100*share, interpreted, kernelTurns(t, p.name, p.turns))
	}
}

// kernelTurns is the time of a turn on the running kernel.
func kernelTurns(t *testing.T, name string, turns float64) string {
	if os.Getenv("BENCH_KERNEL") == "" || rlimit.RemoveMemlock() != nil {
		return "–"
	}
	spec, err := ebpf.LoadCollectionSpec("testdata/net/turns.bpf.o")
	require.NoError(t, err)
	for other := range spec.Programs {
		if other != name && other != "tail_calls" {
			delete(spec.Programs, other)
		}
	}
	time.Sleep(50 * time.Millisecond) // some kernels' JIT allocators do not take loads at full speed
	all, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Logf("%s: kernel: %v", name, err)
		return "–"
	}
	defer all.Close()
	if all.Programs[name].Type() != ebpf.SchedCLS { // others have no test runs that repeat
		return "–"
	}
	best := time.Duration(0)
	for range 40 {
		_, d, err := all.Programs[name].Benchmark(make([]byte, 64), 500, nil)
		require.NoError(t, err)
		if best == 0 || d < best {
			best = d
		}
	}
	return fmt.Sprintf("%.1f", float64(best.Nanoseconds())/turns)
}
