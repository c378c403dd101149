package sched

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCids: cids follow nodes, caches and cores, each from its lowest CPU on, whatever numbers the
// CPUs have.
func TestCids(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cpus  []CPU
		toCPU []int
		topo  []CidPlace // of some, by cid
	}{
		{"one CPU", Topology(1, 0, 0, 0), []int{0}, []CidPlace{{}}},
		{"siblings apart", Apart(8, 2, 4, 0), []int{0, 4, 1, 5, 2, 6, 3, 7}, []CidPlace{{}, {}, {2, 1, 0, 0, 0, 0}, {2, 1, 0, 0, 0, 0}, {4, 2, 4, 1, 0, 0}}},
		{"an odd number of CPUs", Apart(5, 2, 0, 0), []int{0, 3, 1, 4, 2}, nil},
		{"nodes in turn", []CPU{{0, 0, 1}, {1, 1, 0}, {2, 0, 1}, {3, 1, 0}}, []int{0, 2, 1, 3}, []CidPlace{{}, {1, 1, 0, 0, 0, 0}, {2, 2, 2, 1, 2, 1}, {3, 3, 2, 1, 2, 1}}},
		{"a cache across nodes is two", []CPU{{0, 0, 0}, {1, 0, 1}, {2, 0, 0}}, []int{0, 2, 1}, []CidPlace{{}, {1, 1, 0, 0, 0, 0}, {2, 2, 2, 1, 2, 1}}},
		{"a core across caches is two", []CPU{{0, 0, 0}, {0, 1, 0}}, []int{0, 1}, []CidPlace{{}, {1, 1, 1, 1, 0, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := New(Config{CPUs: tt.cpus, Duration: ms}, newPolicy())
			require.NoError(t, err)
			s.numberCids()
			assert.Equal(t, tt.toCPU, s.cids.toCPU)
			for cid, cpu := range tt.toCPU {
				assert.Equal(t, cid, s.CPUToCid(cpu))
				assert.Equal(t, cpu, s.CidToCPU(cid))
			}
			for cid, want := range tt.topo {
				assert.Equal(t, want, s.CidPlace(cid), "cid %d", cid)
			}
			assert.Nil(t, s.exit)
		})
	}
}

func TestCidsAreOverridden(t *testing.T) {
	for _, tt := range []struct {
		cids []int32
		want string
	}{
		{[]int32{2, 0, 1}, ""},
		{[]int32{2, 0, 2}, "cid 2 assigned to multiple cpus"},
		{[]int32{2, 0, 3}, "invalid cid 3"},
		{[]int32{-1, 0, 3}, "invalid cid -1"},
	} {
		t.Run(fmt.Sprint(tt.cids), func(t *testing.T) {
			p := newPolicy()
			p.do[OpInit] = func([]any) int64 { p.s.OverrideCids(tt.cids); return 0 }
			r := p.run(t, Config{CPUs: Topology(3, 0, 0, 0), Duration: ms})
			if tt.want != "" {
				assert.Equal(t, tt.want, r.Exit.Message)
				return
			}
			assert.Equal(t, "unregistered", r.Exit.Name(), r.Exit.Message)
			assert.Equal(t, []int{1, 2, 0}, p.s.cids.toCPU)
			assert.Equal(t, nowhere, p.s.CidPlace(1))
		})
	}
}

// TestOperationsByCid: what operations get and return are cids, as are the numbers in local queues.
func TestOperationsByCid(t *testing.T) {
	const on = 2 // a cid, that of CPU 1
	for _, tt := range []struct {
		name   string
		cid    bool
		ret    int64
		queue  uint64
		ranOn  int
		prefix []string
		want   string // message
	}{
		{"by cid", true, on, DSQLocalOn | on, 1, []string{"init", "set_cpumask a 15", "select_cpu a 2 8", "update_idle 2 false"}, ""},
		{"by CPU", false, on, DSQLocalOn | on, 2, []string{"init", "set_cpumask a 15", "select_cpu a 1 8", "update_idle 2 false"}, ""},
		{"no such cid", true, 77, DSQLocalOn | on, 1, nil, "invalid cid 77"},
		{"no CPU", true, -5, DSQLocalOn | on, 1, nil, "invalid CPU -5 from ops.select_cpu()"},
		{"no queue of such a cid", true, on, DSQLocalOn | 44, 1, nil, "invalid cid 44"},
		{"no queue of such a CPU", false, on, DSQLocalOn | 44, 1, nil, "invalid CPU 44 in SCX_DSQ_LOCAL_ON dispatch verdict"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPolicy()
			p.do[OpInit], p.do[OpSetCpumask], p.do[OpUpdateIdle] = none, none, none
			p.do[OpSelectCPU] = func(a []any) int64 {
				p.s.Insert(a[0].(*Task), tt.queue, uint64(ms), 0, 0, false)
				assert.Zero(t, p.s.Queued(DSQLocalOn|3))
				return tt.ret
			}
			r := p.run(t, Config{CPUs: Apart(4, 2, 0, 0), Duration: 5 * ms, Cid: tt.cid, Tasks: []TaskSpec{{Name: "a", CPU: 1, Steps: []Step{{Kind: DoRun, For: ms}}}}})
			if tt.want != "" {
				assert.Equal(t, tt.want, r.Exit.Message)
				return
			}
			require.Equal(t, "unregistered", r.Exit.Name(), r.Exit.Message)
			assert.Equal(t, tt.prefix, p.log[:len(tt.prefix)])
			assert.Equal(t, tt.ranOn, r.Segments[0].CPU)
		})
	}
}

func TestQueuesOfCPUsThatDoNotExist(t *testing.T) {
	p := newPolicy()
	p.do[OpInit] = func([]any) int64 {
		assert.EqualValues(t, -2, p.s.Queued(DSQLocalOn|9))
		return 0
	}
	assert.Equal(t, "invalid CPU 9", p.run(t, Config{}).Exit.Message)
}
