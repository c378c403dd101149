package bench

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/packet"
	"github.com/bpfrun/bpfrun/loader"
)

// packetPrograms are examples with maps, and the packet each is measured with.
var packetPrograms = []struct{ name, packet string }{
	{"xdp", "eth/ip(src=10.0.0.1)/tcp(flags=S)"},
	{"firewall", "eth/ip(src=10.0.0.1)/tcp(dport=443,flags=S)"},
	{"lb", "eth/ip(dst=10.0.0.100)/tcp(dport=443,flags=S)"},
}

// TestPacketPrograms measures packet programs of the examples with native code, on the interpreter
// and, as root with BENCH_KERNEL=1, on the running kernel, in nanoseconds a packet: BENCH_JIT=1.
// Maps are empty: what is compared are lookups, not what they find.
func TestPacketPrograms(t *testing.T) {
	if os.Getenv("BENCH_JIT") == "" {
		t.Skip("BENCH_JIT is not set")
	}
	fmt.Println("| ns a packet | instructions | JIT | interpreter | kernel | JIT / kernel |\n|---|---:|---:|---:|---:|---:|")
	for _, p := range packetPrograms {
		file := fmt.Sprintf("../../examples/%s/%s.bpf.o", p.name, p.name)
		obj, err := loader.Open(file)
		require.NoError(t, err)
		linked, err := obj.Load(loader.NewTarget(rawName, parse(t, rawTypes(t))), loader.LoadOptions{})
		require.NoError(t, err)
		bytes, err := packet.Parse(p.packet)
		require.NoError(t, err)
		prog := linked.Programs[0].Name
		measure := func(e machine.Engine) (ns float64, insns uint64) {
			m, err := machine.New(linked, machine.Config{Engine: e, Uncovered: true})
			require.NoError(t, err)
			defer m.Close()
			res, err := m.Measure(context.Background(), prog, machine.Input{Packet: bytes}, nil)
			require.NoError(t, err)
			require.Nil(t, res.First.Fault)
			return res.Min, res.First.Insns
		}
		native, insns := measure(machine.EngineJIT)
		interpreted, _ := measure(machine.EngineInterpreter)
		kernel, ratio := "–", "–"
		if k := kernelPackets(t, file, prog, bytes); k > 0 {
			kernel, ratio = fmt.Sprintf("%.0f", k), fmt.Sprintf("%.2f", native/k)
		}
		fmt.Printf("| %s | %d | %.0f | %.0f | %s | %s |\n", p.name, insns, native, interpreted, kernel, ratio)
	}
}

// kernelPackets is the time of a packet on the running kernel, 0 if it is not asked or cannot tell.
func kernelPackets(t *testing.T, file, prog string, packet []byte) float64 {
	if os.Getenv("BENCH_KERNEL") == "" || rlimit.RemoveMemlock() != nil {
		return 0
	}
	spec, err := ebpf.LoadCollectionSpec(file)
	require.NoError(t, err)
	for other := range spec.Programs {
		if other != prog {
			delete(spec.Programs, other)
		}
	}
	time.Sleep(50 * time.Millisecond) // some kernels' JIT allocators do not take loads at full speed
	all, err := ebpf.NewCollection(spec)
	if err != nil {
		t.Logf("%s: kernel: %v", file, err)
		return 0
	}
	defer all.Close()
	best := time.Duration(0)
	for range 40 {
		_, d, err := all.Programs[prog].Benchmark(packet, kernelRepeat, nil)
		require.NoError(t, err)
		if best == 0 || d < best {
			best = d
		}
	}
	return float64(best.Nanoseconds())
}
