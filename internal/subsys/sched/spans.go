package sched

import "github.com/bpfrun/bpfrun/internal/cpuset"

// spans are the CPUs that share a level of the topology: by CPU, and for nodes by node.
type spans struct {
	all       Mask
	core, llc []*Mask
	nodes     []*Mask
	nodeOf    []int
}

func spansOf(cpus []CPU) spans {
	s := spans{all: cpuset.Below(len(cpus))}
	cores, llcs := map[int]*Mask{}, map[int]*Mask{}
	add := func(to map[int]*Mask, key, cpu int) *Mask {
		m := to[key]
		if m == nil {
			m = new(Mask)
			to[key] = m
		}
		m.Add(cpu)
		return m
	}
	for i, c := range cpus {
		s.core, s.llc, s.nodeOf = append(s.core, add(cores, c.Core, i)), append(s.llc, add(llcs, c.LLC, i)), append(s.nodeOf, c.Node)
		for len(s.nodes) <= c.Node {
			s.nodes = append(s.nodes, new(Mask))
		}
		s.nodes[c.Node].Add(i)
	}
	return s
}

// node returns the CPUs of a CPU's node.
func (s *spans) node(cpu int) *Mask { return s.nodes[s.nodeOf[cpu]] }
