package sched

import "time"

// Limits of a cgroup's weight, and its bandwidth without a limit (CGROUP_WEIGHT_MIN,
// CGROUP_WEIGHT_MAX, default_bw_period_us, RUNTIME_INF).
const (
	minGroupWeight     = 1
	maxGroupWeight     = 10_000
	defaultGroupWeight = 100
	defaultPeriod      = 100 * time.Millisecond
	unlimited          = ^uint64(0)
)

// group is what sched_ext keeps of a cgroup besides its tasks (struct scx_task_group).
type group struct {
	weight               uint32
	idle                 bool
	period, quota, burst uint64 // us
}

// groupOf returns a cgroup's settings.
func (s *Sim) groupOf(path string) *group {
	path = Path(path)
	g := s.groups[path]
	if g == nil {
		g = &group{weight: defaultGroupWeight, period: uint64(defaultPeriod / time.Microsecond), quota: unlimited}
		if s.groups == nil {
			s.groups = map[string]*group{}
		}
		s.groups[path] = g
	}
	return g
}

// setGroup is a write to a file of a cgroup: cpu.weight, cpu.idle or cpu.max. The scheduler learns
// of other weights and limits, and of each write of cpu.idle; an idle cgroup refuses weights
// (sched_group_set_shares, scx_group_set_weight, scx_group_set_idle, scx_group_set_bandwidth).
func (s *Sim) setGroup(step *Step) {
	g, of := s.groupOf(step.To), Cgroup(step.To)
	switch step.Kind {
	case DoGroupWeight:
		if g.idle || g.weight == step.Weight {
			return
		}
		s.call(nil, OpCgroupWeight, of, step.Weight)
		g.weight = step.Weight
	case DoGroupIdle:
		s.call(nil, OpCgroupIdle, of, step.Idle)
		g.idle = step.Idle
	case DoGroupMax:
		period, quota := uint64(step.Period/time.Microsecond), unlimited
		if step.Quota > 0 {
			quota = uint64(step.Quota / time.Microsecond)
		}
		if g.period == period && g.quota == quota {
			return
		}
		s.call(nil, OpCgroupBandwidth, of, period, quota, g.burst)
		g.period, g.quota = period, quota
	}
}

// groupStep reports whether a step is a write to a file of a cgroup.
func (k StepKind) groupStep() bool { return k == DoGroupWeight || k == DoGroupIdle || k == DoGroupMax }

// checkGroup returns an error for what no file of a cgroup accepts (cpu_weight_write_u64,
// tg_set_cfs_bandwidth).
func (t *TaskSpec) checkGroup(s *Step) error {
	const least, most = time.Millisecond, time.Second // of a period
	switch {
	case Path(s.To) == "/":
		return bad("task %s: the root cgroup has no weight and no limits", t.Name)
	case s.Kind == DoGroupWeight && (s.Weight < minGroupWeight || s.Weight > maxGroupWeight):
		return bad("task %s: a cgroup's weight of %d, want %d to %d", t.Name, s.Weight, minGroupWeight, maxGroupWeight)
	case s.Kind == DoGroupMax && (s.Period < least || s.Period > most):
		return bad("task %s: a period of %v, want %v to %v", t.Name, s.Period, least, most)
	case s.Kind == DoGroupMax && s.Quota != 0 && s.Quota < least:
		return bad("task %s: a limit of %v, want at least %v", t.Name, s.Quota, least)
	}
	return nil
}
