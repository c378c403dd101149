package sched

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// simulated is a simulation that has not run.
func simulated(t *testing.T, cpus []CPU, flags OpsFlags) *Sim {
	t.Helper()
	s, err := New(Config{CPUs: cpus, Flags: flags, Duration: ms, Tasks: several(3)}, newPolicy())
	require.NoError(t, err)
	s.idle.reset(s)
	return s
}

// TestACoreIsIdleWhenAllItsCPUsAre: a core with one idle CPU of two is not.
func TestACoreIsIdleWhenAllItsCPUsAre(t *testing.T) {
	s := simulated(t, Topology(4, 2, 0, 0), 0)
	for cpu := range 2 {
		s.idle.update(s, cpu, false)
	}
	for _, step := range []struct {
		cpu         int
		on          bool
		cpus, cores Mask
	}{
		{0, true, MaskOf(0, 2, 3), MaskOf(2, 3)},
		{1, true, MaskOf(0, 1, 2, 3), MaskOf(0, 1, 2, 3)},
		{3, false, MaskOf(0, 1, 2), MaskOf(0, 1)},
	} {
		s.idle.update(s, step.cpu, step.on)
		cpus, cores := s.IdleCPUs(-1)
		assert.Equal(t, step.cpus, cpus)
		assert.Equal(t, step.cores, cores)
	}
}

// TestIdleCPUsOfOneNode: with SCX_PICK_IDLE_IN_NODE there are no others.
func TestIdleCPUsOfOneNode(t *testing.T) {
	for _, tt := range []struct {
		flags uint64
		want  []int
	}{
		{0, []int{2, 3, 0, 1, busy}},
		{PickIdleInNode, []int{2, 3, busy}},
	} {
		s := simulated(t, Topology(4, 0, 0, 2), BuiltinIdlePerNode)
		for _, want := range tt.want {
			assert.Equal(t, want, s.PickIdle(s.spans.all, 1, tt.flags))
		}
	}
}

// TestWhichIdleCPUIsNear: a cache is preferred if there is more than one, else the node
// (scx_idle_update_selcpu_topology).
func TestWhichIdleCPUIsNear(t *testing.T) {
	for _, tt := range []struct {
		name string
		cpus []CPU
		want int
	}{
		{"one of all", Topology(4, 0, 0, 0), 0},
		{"one cache, two nodes", Topology(4, 0, 0, 2), 3},
		{"two caches, one node", Topology(4, 0, 2, 0), 3},
	} {
		s := simulated(t, tt.cpus, 0)
		s.tasks[0].Allowed = s.spans.all
		s.idle.update(s, 2, false)
		assert.Equal(t, tt.want, s.selectDefault(s.tasks[0], 2, 0, s.spans.all, 0), tt.name)
	}
}

// TestADispatchInsertsAsManyTasksAsItMay: the buffer of a dispatch has Batch slots.
func TestADispatchInsertsAsManyTasksAsItMay(t *testing.T) {
	for _, tt := range []struct {
		inserts int
		want    string
	}{{2, ""}, {3, "dispatch buffer overflow"}} {
		p := newPolicy()
		p.do[OpEnqueue] = none
		p.do[OpDispatch] = func([]any) int64 {
			for i := range tt.inserts {
				assert.Equal(t, 2-i, p.s.Slots())
				p.s.Insert(p.s.tasks[i], DSQLocal, uint64(ms), 0, 0, false)
			}
			return 0
		}
		r := p.run(t, Config{Batch: 2, Tasks: several(3), Duration: ms / 2})
		assert.Equal(t, tt.want, r.Exit.Message)
	}
}

// TestNodesOfQueues: those of the machine, or -1 for any.
func TestNodesOfQueues(t *testing.T) {
	s := simulated(t, Topology(4, 0, 0, 2), 0)
	for i, tt := range []struct {
		node int
		want uapi.Errno
	}{{-2, uapi.EINVAL}, {-1, 0}, {0, 0}, {1, 0}, {2, uapi.EINVAL}} {
		assert.Equal(t, tt.want, s.CreateDSQ(uint64(i), tt.node), "node %d", tt.node)
	}
}

// TestWhichVtimeIsEarlier: they wrap around, and equal ones keep their order.
func TestWhichVtimeIsEarlier(t *testing.T) {
	s := simulated(t, Topology(1, 0, 0, 0), 0)
	for _, tt := range []struct {
		vtimes [3]uint64
		want   []*Task
	}{
		{[3]uint64{5, 5, 5}, []*Task{s.tasks[0], s.tasks[1], s.tasks[2]}},
		{[3]uint64{5, 4, 5}, []*Task{s.tasks[1], s.tasks[0], s.tasks[2]}},
		{[3]uint64{0, 1, ^uint64(0)}, []*Task{s.tasks[2], s.tasks[0], s.tasks[1]}},
	} {
		q := &DSQ{ID: 7}
		for i, task := range s.tasks {
			task.SetVtime(tt.vtimes[i])
			s.dispatchEnqueue(s.cpus[0], q, task, enqPriq)
		}
		assert.Equal(t, tt.want, q.tasks.tasks(), tt.vtimes)
	}
}

// TestWhichTasksGoFirst: those inserted at the head, and those that preempt.
func TestWhichTasksGoFirst(t *testing.T) {
	s := simulated(t, Topology(1, 0, 0, 0), 0)
	for flags, first := range map[uint64]*Task{0: s.tasks[0], DefaultValues.EnqHead: s.tasks[1], EnqPreempt: s.tasks[1]} {
		q := &DSQ{ID: 7}
		s.dispatchEnqueue(s.cpus[0], q, s.tasks[0], 0)
		s.dispatchEnqueue(s.cpus[0], q, s.tasks[1], flags)
		assert.Same(t, first, q.tasks.first, "%#x", flags)
	}
}

// TestATaskForABusyCPUWaits: a task inserted into another CPU's queue changes nothing for the one
// that runs there, although its slice is used up: that ends at a tick.
func TestATaskForABusyCPUWaits(t *testing.T) {
	p := newPolicy()
	p.do[OpSelectCPU] = func(a []any) int64 { return int64(a[1].(int)) }
	p.do[OpEnqueue] = func(a []any) int64 {
		p.s.Insert(a[0].(*Task), DSQLocalOn|1, uint64(6*ms), 0, 0, false)
		return 0
	}
	r := p.run(t, Config{CPUs: Topology(2, 0, 0, 0), Duration: 12 * ms, Tasks: []TaskSpec{
		{Name: "a", CPU: 1, Steps: []Step{{Kind: DoRun, For: 20 * ms}}},
		{Name: "b", CPU: 0, Start: 7 * ms, Steps: []Step{{Kind: DoRun, For: ms}}},
	}})
	assert.Equal(t, []string{"1:a 0s-8ms", "1:b 8ms-9ms", "1:a 9ms-12ms"}, text(r))
}
