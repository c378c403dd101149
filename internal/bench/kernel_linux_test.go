package bench

import (
	"bytes"
	"encoding/binary"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/rlimit"

	"github.com/bpfrun/bpfrun/decode"
)

// kernelRepeat is how often the kernel runs a program for one figure.
const kernelRepeat = 10_000

// kernelEmpty is the time of a run of a program that does nothing, which the others' contain.
var kernelEmpty = sync.OnceValues(func() (float64, error) {
	time.Sleep(20 * time.Millisecond)
	prog, err := ebpf.NewProgramWithOptions(&ebpf.ProgramSpec{
		Type: ebpf.SchedCLS, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	}, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		return 0, err
	}
	defer prog.Close()
	_, d, err := prog.Benchmark(make([]byte, 64), 100*kernelRepeat, nil)
	return float64(d.Nanoseconds()), err
})

// kernelRuns runs a program in the running kernel through BPF_PROG_TEST_RUN (root needed): a
// prologue points r1 to a map value with the input. BENCH_KERNEL=1 asks for it. Programs the
// kernel's verifier refuses are left out; it gives the low 32 bits of r0. Loads are paced: some
// kernels' JIT allocators do not take them at full speed.
func kernelRuns(t *testing.T, c *comparison) func() float64 {
	if os.Getenv("BENCH_KERNEL") == "" || usesMaps(c.name) || rlimit.RemoveMemlock() != nil {
		return nil
	}
	empty, err := kernelEmpty()
	if err != nil {
		t.Logf("%s: kernel: %v", c.name, err)
		return nil
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: memSize, MaxEntries: 1})
	if err != nil {
		t.Logf("%s: kernel: %v", c.name, err)
		return nil
	}
	t.Cleanup(func() { m.Close() })
	if err := m.Put(uint32(0), input()); err != nil {
		t.Logf("%s: kernel: %v", c.name, err)
		return nil
	}
	code := bytes.NewReader(decode.Marshal(c.p.linked.Insns, binary.LittleEndian))
	insns, err := asm.AppendInstructions(nil, code, binary.LittleEndian, "linux")
	if err != nil {
		t.Logf("%s: kernel: %v", c.name, err)
		return nil
	}
	insns = append(asm.Instructions{asm.LoadMapValue(asm.R1, m.FD(), 0), asm.Mov.Imm(asm.R2, memSize)}, insns...)
	time.Sleep(50 * time.Millisecond)
	prog, err := ebpf.NewProgramWithOptions(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: insns}, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		t.Logf("%s: kernel: %v", c.name, err)
		return nil
	}
	t.Cleanup(func() { prog.Close() })
	packet := make([]byte, 64)
	best, rounds := 0.0, 0
	return func() float64 {
		if rounds++; rounds > 2 { // each takes a second or more
			return best
		}
		ret, d, err := prog.Benchmark(packet, kernelRepeat, nil)
		if err != nil || ret != uint32(c.ret) {
			t.Fatalf("%s: kernel: %#x, want %#x: %v", c.name, ret, uint32(c.ret), err)
		}
		if ns := float64(d.Nanoseconds()) - empty; best == 0 || ns < best {
			best = ns
		}
		return best
	}
}
