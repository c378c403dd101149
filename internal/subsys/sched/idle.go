package sched

import "github.com/bpfrun/bpfrun/internal/uapi"

// idle is the kernel's own tracking of idle CPUs: those that are idle, and those whose whole core
// is (kernel/sched/ext_idle.c). A CPU that was picked counts as busy until it has been idle again.
type idle struct {
	enabled   bool
	cpus, smt Mask
	hasSMT    bool
	byLLC     bool // select_cpu_dfl prefers the cache of the previous CPU
	byNode    bool
	perNode   bool
}

// reset is scx_idle_enable and scx_idle_update_selcpu_topology: at first all CPUs count as idle.
func (i *idle) reset(s *Sim) {
	f := s.cfg.Flags
	i.enabled = !s.ops.Has(OpUpdateIdle) || f&KeepBuiltinIdle != 0
	i.perNode = f&BuiltinIdlePerNode != 0
	i.cpus, i.smt = s.spans.all, s.spans.all
	mismatch := false
	for cpu := range s.cfg.CPUs {
		i.hasSMT = i.hasSMT || s.spans.core[cpu].Count() > 1
		mismatch = mismatch || *s.spans.llc[cpu] != *s.spans.node(cpu)
	}
	i.byLLC = s.spans.llc[0].Count() < len(s.cfg.CPUs)
	i.byNode = !i.perNode && s.spans.node(0).Count() < len(s.cfg.CPUs) && mismatch
}

// update is update_builtin_idle.
func (i *idle) update(s *Sim, cpu int, on bool) {
	if !i.enabled {
		return
	}
	core := s.spans.core[cpu]
	if !on {
		i.cpus.Remove(cpu)
		i.smt = i.smt.Minus(*core)
		return
	}
	i.cpus.Add(cpu)
	if core.Minus(i.cpus).Empty() {
		i.smt = i.smt.Or(*core)
	}
}

// updateIdle is __scx_update_idle for a CPU that becomes idle, or is no longer.
func (s *Sim) updateIdle(c *rq, on bool) {
	s.idle.update(s, c.id, on)
	s.call(c, OpUpdateIdle, s.cpuArg(c.id), on)
}

// take is scx_idle_test_and_clear_cpu.
func (i *idle) take(s *Sim, cpu int) bool {
	if i.hasSMT {
		i.smt = i.smt.Minus(*s.spans.core[cpu])
	}
	was := i.cpus.Has(cpu)
	i.cpus.Remove(cpu)
	return was
}

// pickIn is pick_idle_cpu_in_node, among the CPUs of a set. The kernel spreads its choice; this
// takes the lowest CPU.
func (i *idle) pickIn(s *Sim, allowed Mask, flags uint64) int {
	for {
		cpu := -1
		if i.hasSMT {
			cores := i.smt.And(allowed)
			if cpu = cores.First(); cpu < 0 && flags&PickIdleCore != 0 {
				return busy
			}
		}
		if cpu < 0 {
			cpus := i.cpus.And(allowed)
			cpu = cpus.First()
		}
		if cpu < 0 {
			return busy
		}
		if i.take(s, cpu) {
			return cpu
		}
	}
}

var busy = int(uapi.EBUSY.Neg())

// pick is scx_pick_idle_cpu: with idle CPUs tracked by node it begins at one of them; -1 means all.
func (i *idle) pick(s *Sim, allowed Mask, node int, flags uint64) int {
	if !i.perNode || node < 0 {
		return i.pickIn(s, allowed, flags)
	}
	for n := range s.Nodes() { // all other nodes are at the same distance
		at := node
		if n > 0 {
			if flags&PickIdleInNode != 0 {
				break
			}
			if at = n - 1; at >= node {
				at = n
			}
		}
		if cpu := i.pickIn(s, allowed.And(*s.spans.nodes[at]), flags); cpu >= 0 {
			return cpu
		}
	}
	return busy
}

// startNode is scx_cpu_node_if_enabled.
func (s *Sim) startNode(cpu int) int {
	if !s.idle.perNode {
		return -1
	}
	return s.cfg.CPUs[cpu].Node
}

// selectDefault is scx_select_cpu_dfl: it picks an idle CPU for a waking task among some, or
// returns -EBUSY.
func (s *Sim) selectDefault(t *Task, prev int, wake uint64, among Mask, flags uint64) int {
	i := &s.idle
	allowed := t.Allowed.And(among)
	if allowed.Empty() {
		return busy
	}
	node := s.startNode(prev)
	prevOK := allowed.Has(prev)
	if wake&WakeSync != 0 {
		if cpu := s.selectSync(prev, prevOK, allowed, node, flags); cpu >= 0 {
			return cpu
		}
	}
	near := s.nearest(prev, allowed, node)
	if i.hasSMT {
		if prevOK && i.smt.Has(prev) && i.take(s, prev) {
			return prev
		}
		for _, m := range near {
			if cpu := i.pickIn(s, m, PickIdleCore); cpu >= 0 {
				return cpu
			}
		}
		if cpu := i.pick(s, allowed, node, flags|PickIdleCore); cpu >= 0 || flags&PickIdleCore != 0 {
			return cpu
		}
	}
	if prevOK && i.take(s, prev) {
		return prev
	}
	if i.hasSMT {
		siblings := s.spans.core[prev].And(allowed)
		for cpu := range siblings.All {
			if cpu != prev && i.take(s, cpu) {
				return cpu
			}
		}
	}
	for _, m := range near {
		if cpu := i.pickIn(s, m, 0); cpu >= 0 {
			return cpu
		}
	}
	return i.pick(s, allowed, node, flags)
}

// nearest returns the sets of CPUs to try before all others: those that share the cache of the
// previous CPU, then those of its node.
func (s *Sim) nearest(prev int, allowed Mask, node int) (out []Mask) {
	if s.idle.byLLC {
		out = append(out, s.spans.llc[prev].And(allowed))
	}
	if s.idle.byNode {
		out = append(out, s.spans.node(prev).And(allowed))
	}
	if node >= 0 {
		for i := range out {
			out[i] = out[i].And(*s.spans.nodes[node])
		}
	}
	return out
}

// selectSync is the case of a waker that is about to sleep.
func (s *Sim) selectSync(prev int, prevOK bool, allowed Mask, node int, flags uint64) int {
	i, here := &s.idle, s.in.cpu
	if prevOK && s.cfg.CPUs[here].LLC == s.cfg.CPUs[prev].LLC && i.take(s, prev) {
		return prev
	}
	idle := i.cpus
	own := s.startNode(here)
	if own >= 0 {
		idle = idle.And(*s.spans.nodes[own])
	}
	c := s.cpus[here]
	exiting := c.curr != nil && c.curr.Exiting
	if exiting || c.local.tasks.n > 0 || flags&PickIdleInNode != 0 && own != node || idle.Empty() || !allowed.Has(here) {
		return busy
	}
	i.take(s, here)
	return here
}
