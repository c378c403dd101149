package sched

import "github.com/bpfrun/bpfrun/internal/uapi"

// CidPlace is where a cid is in the topology (struct scx_cid_topo): the first cid of its core,
// cache and node, and their numbers in the order of cids. All are -1 for a cid whose place is
// unknown.
type CidPlace struct{ Core, CoreIndex, LLC, LLCIndex, Node, NodeIndex int }

// nowhere is the place of cids that the scheduler has numbered itself.
var nowhere = CidPlace{-1, -1, -1, -1, -1, -1}

// cids are the numbers of CPUs that follow the topology (kernel/sched/ext/cid.c): CPUs that share a
// core, a cache or a node have consecutive ones.
type cids struct {
	toCPU, ofCPU []int
	topo         []CidPlace
}

// numberCids is scx_cid_init: it goes through nodes, their caches and those's cores, each beginning
// with the lowest CPU that has no cid yet.
func (s *Sim) numberCids() {
	n := len(s.cpus)
	c := cids{make([]int, 0, n), make([]int, n), make([]CidPlace, 0, n)}
	var at CidPlace
	for left := s.spans.all; !left.Empty(); at.NodeIndex++ {
		at.Node = len(c.toCPU)
		node := left.And(*s.spans.node(left.First()))
		for left = left.Minus(node); !node.Empty(); at.LLCIndex++ {
			at.LLC = len(c.toCPU)
			llc := node.And(*s.spans.llc[node.First()])
			for node = node.Minus(llc); !llc.Empty(); at.CoreIndex++ {
				at.Core = len(c.toCPU)
				core := llc.And(*s.spans.core[llc.First()])
				llc = llc.Minus(core)
				for cpu := range core.All {
					c.ofCPU[cpu] = len(c.toCPU)
					c.toCPU, c.topo = append(c.toCPU, cpu), append(c.topo, at)
				}
			}
		}
	}
	s.cids = c
}

// OverrideCids is scx_bpf_cid_override: the scheduler assigns a cid to each CPU. The topology of
// cids is unknown from then on.
func (s *Sim) OverrideCids(ofCPU []int32) {
	var seen Mask
	for cpu, cid := range ofCPU[:len(s.cpus)] {
		switch {
		case !s.validCid(int(cid)):
			return
		case seen.Has(int(cid)):
			s.errorf("cid %d assigned to multiple cpus", cid)
			return
		}
		seen.Add(int(cid))
		s.cids.ofCPU[cpu], s.cids.toCPU[cid] = int(cid), cpu
	}
	for i := range s.cids.topo {
		s.cids.topo[i] = nowhere
	}
}

// validCid ends the scheduler with an error for a cid that does not exist (cid_valid).
func (s *Sim) validCid(cid int) bool {
	if cid >= 0 && cid < len(s.cpus) {
		return true
	}
	s.errorf("invalid cid %d", cid)
	return false
}

// CidToCPU is scx_cid_to_cpu, CPUToCid scx_cpu_to_cid: -EINVAL for what does not exist, which ends
// the scheduler.
func (s *Sim) CidToCPU(cid int) int {
	if !s.validCid(cid) {
		return int(uapi.EINVAL.Neg())
	}
	return s.cids.toCPU[cid]
}

// CPUToCid returns the cid of a CPU.
func (s *Sim) CPUToCid(cpu int) int {
	if !s.validCPU(cpu, "") {
		return int(uapi.EINVAL.Neg())
	}
	return s.cids.ofCPU[cpu]
}

// CidPlace returns the place of a cid; one that does not exist ends the scheduler, and its place is
// unknown.
func (s *Sim) CidPlace(cid int) CidPlace {
	if !s.validCid(cid) {
		return nowhere
	}
	return s.cids.topo[cid]
}

// cpuArg is a CPU as operations get it (scx_cpu_arg): its cid where the scheduler knows CPUs by
// cid.
func (s *Sim) cpuArg(cpu int) int {
	if s.cfg.Cid {
		return s.cids.ofCPU[cpu]
	}
	return cpu
}

// cpuRet is the CPU that the scheduler means (scx_cpu_ret).
func (s *Sim) cpuRet(v int) int {
	if v < 0 || !s.cfg.Cid {
		return v
	}
	return s.CidToCPU(v)
}

// CidMask returns the cids of CPUs (scx_cpumask_to_cmask).
func (s *Sim) CidMask(cpus Mask) (m Mask) {
	for cpu := range cpus.All {
		m.Add(s.cids.ofCPU[cpu])
	}
	return m
}
