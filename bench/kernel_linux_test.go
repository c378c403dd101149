package bench

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/rlimit"

	"github.com/bpfrun/bpfrun/decode"
)

// kernelRuns runs a program in the running kernel through BPF_PROG_TEST_RUN (root needed): a prologue points r1
// to a map value with the input. BENCH_KERNEL=1 asks for it. Programs the kernel's verifier refuses are left out; it gives the low 32 bits of r0.
func kernelRuns(t *testing.T, c *comparison) func() float64 {
	if os.Getenv("BENCH_KERNEL") == "" || usesMaps(c.name) || rlimit.RemoveMemlock() != nil {
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
	prog, err := ebpf.NewProgramWithOptions(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "GPL", Instructions: insns}, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		t.Logf("%s: kernel: %v", c.name, err)
		return nil
	}
	t.Cleanup(func() { prog.Close() })
	packet := make([]byte, 64)
	return func() float64 {
		ret, d, err := prog.Benchmark(packet, 100, nil)
		if err != nil || ret != uint32(c.ret) {
			t.Fatalf("%s: kernel: %#x, want %#x: %v", c.name, ret, uint32(c.ret), err)
		}
		return float64(d.Nanoseconds())
	}
}
