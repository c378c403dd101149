package helpers

import (
	"github.com/bpfrun/bpfrun/kernel/sched"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// schedTopologyRows are the kfuncs about CPUs: their numbers, places and frequencies. The numbers of CPUs follow the
// topology, so that a CPU's cid is its number (kernel/sched/ext_cid.c).
func schedTopologyRows() []kfuncRow {
	rows := []kfuncRow{
		ofSched("scx_bpf_nr_node_ids", false, func(_ *Call, s *Schedule) (uint64, *vm.Action) { return intRet(s.Nodes()), nil }),
		ofSched("scx_bpf_cpu_node", false, cpuNode, argAny),
		ofSched("scx_bpf_cid_topo", false, cidTopo, argAny, argPtr),
		ofSched("scx_bpf_now", true, func(c *Call, s *Schedule) (uint64, *vm.Action) { return c.Kernel.Clock().Mono(), nil }),
	}
	count := func(_ *Call, s *Schedule) (uint64, *vm.Action) { return intRet(s.CPUs()), nil }
	for _, n := range []string{"scx_bpf_nr_cpu_ids", "scx_bpf_nr_cids", "scx_bpf_nr_online_cids"} {
		rows = append(rows, ofSched(n, false, count))
	}
	rows = append(rows, ofSched("scx_bpf_this_cid", false, func(c *Call, s *Schedule) (uint64, *vm.Action) { return intRet(c.Thread.CPU), nil }))
	for _, n := range []string{"scx_bpf_cpu_to_cid", "scx_bpf_cid_to_cpu"} {
		rows = append(rows, ofSched(n, false, sameNumber, argAny))
	}
	for _, n := range []string{"scx_bpf_cpuperf_cap", "scx_bpf_cpuperf_cur", "scx_bpf_cidperf_cap", "scx_bpf_cidperf_cur"} {
		rows = append(rows, ofSched(n, false, fullSpeed, argAny))
	}
	for _, n := range []string{"scx_bpf_cpuperf_set", "scx_bpf_cidperf_set"} {
		rows = append(rows, ofSched(n, false, setSpeed, argAny, argAny))
	}
	return rows
}

func cpuNode(c *Call, s *Schedule) (uint64, *vm.Action) {
	cpu := cpuArg(c.Args[0])
	if !s.ValidCPU(cpu) {
		return errnoRet(uapi.EINVAL), nil
	}
	return intRet(s.Place(cpu).Node), nil
}

func sameNumber(c *Call, s *Schedule) (uint64, *vm.Action) {
	cpu := cpuArg(c.Args[0])
	if !s.ValidCPU(cpu) {
		return errnoRet(uapi.EINVAL), nil
	}
	return intRet(cpu), nil
}

// maxPerf is SCX_CPUPERF_ONE. All CPUs are equally fast, and run at full speed.
const maxPerf = 1024

func fullSpeed(c *Call, s *Schedule) (uint64, *vm.Action) {
	if !s.ValidCPU(cpuArg(c.Args[0])) {
		return maxPerf, nil
	}
	return maxPerf, nil
}

// setSpeed checks the target; speeds do not change.
func setSpeed(c *Call, s *Schedule) (uint64, *vm.Action) {
	if c.Args[1]&0xffffffff > maxPerf {
		s.Denied("Invalid cpuperf target for CPU")
		return 0, nil
	}
	s.ValidCPU(cpuArg(c.Args[0]))
	return 0, nil
}

// cidTopo fills a struct scx_cid_topo: for core, cache and node the first cid and the number.
func cidTopo(c *Call, s *Schedule) (uint64, *vm.Action) {
	cid := cpuArg(c.Args[0])
	if !s.ValidCPU(cid) {
		return 0, nil
	}
	out := c.guest.At(c.Args[1])
	for i, level := range []func(sched.CPU) int{
		func(p sched.CPU) int { return p.Core }, func(p sched.CPU) int { return p.LLC }, func(p sched.CPU) int { return p.Node },
	} {
		first := cid
		for first > 0 && level(s.Place(first-1)) == level(s.Place(cid)) {
			first--
		}
		out.Set(uint64(8*i), 4, uint64(uint32(first)))
		out.Set(uint64(8*i+4), 4, uint64(uint32(level(s.Place(cid)))))
	}
	return 0, out.Fault
}
