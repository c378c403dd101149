package helpers

import (
	"bytes"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/vm"
)

// noNode is NUMA_NO_NODE.
const noNode = -1

// schedTopologyRows are the kfuncs about CPUs: their numbers, places and frequencies.
func schedTopologyRows() []kfuncRow {
	rows := []kfuncRow{
		ofSched("scx_bpf_nr_node_ids", false, func(_ *Call, s *Schedule) (uint64, *vm.Action) { return intRet(s.Nodes()), nil }),
		ofSched("scx_bpf_cpu_node", false, onCPU(noNode, cpuNode), argAny),
		ofSched("scx_bpf_now", true, func(c *Call, s *Schedule) (uint64, *vm.Action) { return c.Kernel.Clock().Mono(), nil }),
		ofSched("scx_bpf_this_cid", false, func(c *Call, s *Schedule) (uint64, *vm.Action) { return intRet(s.CPUToCid(c.Thread.CPU)), nil }),
		ofSched("scx_bpf_cpu_to_cid", false, func(c *Call, s *Schedule) (uint64, *vm.Action) {
			return intRet(s.CPUToCid(cpuArg(c.Args[0]))), nil
		}, argAny),
		ofSched("scx_bpf_cid_to_cpu", false, func(c *Call, s *Schedule) (uint64, *vm.Action) {
			return intRet(s.CidToCPU(cpuArg(c.Args[0]))), nil
		}, argAny),
		ofSched("scx_bpf_cid_topo", false, cidTopo, argAny, argOut, argSize),
		ofSched("scx_bpf_cid_override", false, cidOverride, argMem, argSize),
		ofSched("scx_bpf_cpuperf_set", false, func(c *Call, s *Schedule) (uint64, *vm.Action) {
			s.SetPerf(cpuArg(c.Args[0]), uint32(c.Args[1]))
			return 0, nil
		}, argAny, argAny),
		ofSched("scx_bpf_cidperf_set", false, onCid(0, func(c *Call, s *Schedule, cpu int) (uint64, *vm.Action) {
			s.SetPerf(cpu, uint32(c.Args[1]))
			return 0, nil
		}), argAny, argAny),
	}
	count := func(_ *Call, s *Schedule) (uint64, *vm.Action) { return intRet(s.CPUs()), nil }
	for _, n := range []string{"scx_bpf_nr_cpu_ids", "scx_bpf_nr_cids", "scx_bpf_nr_online_cids"} {
		rows = append(rows, ofSched(n, false, count))
	}
	for _, n := range []string{"cap", "cur"} {
		rows = append(rows,
			ofSched("scx_bpf_cpuperf_"+n, false, onCPU(sched.MaxPerf, fullSpeed), argAny),
			ofSched("scx_bpf_cidperf_"+n, false, onCid(sched.MaxPerf, fullSpeed), argAny),
		)
	}
	return rows
}

// onCPU turns functions of the CPU in the first argument into implementations, onCid those of the
// CPU with that cid. A number that does not exist ends the scheduler, and the result is the one
// given.
func onCPU(otherwise int64, do func(*Call, *Schedule, int) (uint64, *vm.Action)) schedImpl {
	return func(c *Call, s *Schedule) (uint64, *vm.Action) {
		cpu := cpuArg(c.Args[0])
		if !s.ValidCPU(cpu) {
			return intRet(int(otherwise)), nil
		}
		return do(c, s, cpu)
	}
}

func onCid(otherwise int64, do func(*Call, *Schedule, int) (uint64, *vm.Action)) schedImpl {
	return func(c *Call, s *Schedule) (uint64, *vm.Action) {
		cpu := s.CidToCPU(cpuArg(c.Args[0]))
		if cpu < 0 {
			return intRet(int(otherwise)), nil
		}
		return do(c, s, cpu)
	}
}

func cpuNode(_ *Call, s *Schedule, cpu int) (uint64, *vm.Action) {
	return intRet(s.Place(cpu).Node), nil
}

// fullSpeed: all CPUs are equally fast, and run at full speed.
func fullSpeed(*Call, *Schedule, int) (uint64, *vm.Action) { return sched.MaxPerf, nil }

// cidTopo fills a struct scx_cid_topo: for core, cache and node the first cid and the number. What
// the program has room for beyond the kernel's struct is -1, as is all of it where nothing is
// known.
func cidTopo(c *Call, s *Schedule) (uint64, *vm.Action) {
	out := bytes.Repeat([]byte{0xff}, len(c.Out(1)))
	p := s.CidPlace(cpuArg(c.Args[0]))
	b := make([]byte, 4*6)
	for i, v := range []int{p.Core, p.CoreIndex, p.LLC, p.LLCIndex, p.Node, p.NodeIndex} {
		c.guest.Order().PutUint32(b[4*i:], uint32(int32(v)))
	}
	copy(out, b)
	return 0, c.guest.Write(c.Args[1], out)
}

// cidOverride reads the cid of each CPU.
func cidOverride(c *Call, s *Schedule) (uint64, *vm.Action) {
	b := c.In(0)
	if len(b) != 4*s.CPUs() {
		s.Denied(fmt.Sprintf("scx_bpf_cid_override: expected %d bytes, got %d", 4*s.CPUs(), len(b)))
		return 0, nil
	}
	ofCPU := make([]int32, s.CPUs())
	for i := range ofCPU {
		ofCPU[i] = int32(c.guest.Order().Uint32(b[4*i:]))
	}
	s.OverrideCids(ofCPU)
	return 0, nil
}
