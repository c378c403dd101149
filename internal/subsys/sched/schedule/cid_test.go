package schedule

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/sched"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// byCid makes a machine for the scheduler that knows CPUs by cid.
func byCid(t *testing.T, kernel string, cpus int, globals map[string]string) *machine.Machine {
	t.Helper()
	obj, err := loader.Open("../../../../testdata/objects/clang-14/schedcid.o")
	require.NoError(t, err)
	spec, err := testbtf.Load(kernel)
	require.NoError(t, err)
	l, err := obj.Load(loader.NewTarget(kernel, spec), loader.LoadOptions{Globals: globals})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{CPUs: cpus, Simulates: []string{"sched"}})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// numbers returns a variable that is a number, or an array of numbers of size bytes.
func numbers(t *testing.T, m *machine.Machine, name string, size int) (out []uint64) {
	t.Helper()
	b, err := m.ReadVariable(name)
	require.NoError(t, err)
	for ; len(b) > 0; b = b[size:] {
		if size == 4 {
			out = append(out, uint64(m.Memory().ByteOrder().Uint32(b)))
		} else {
			out = append(out, m.Memory().ByteOrder().Uint64(b))
		}
	}
	return out
}

// wakers are tasks that sleep most of the time, the first of which may use two CPUs only.
func wakers() (tasks []sched.TaskSpec) {
	for i := range 4 {
		t := sched.TaskSpec{Name: strings.Repeat("t", i+1), CPU: 2 * i, Times: sched.Forever, Steps: []sched.Step{{Kind: sched.DoRun, For: time.Millisecond}, {Kind: sched.DoSleep, For: 4 * time.Millisecond}}}
		if i == 0 {
			t.Allowed = sched.MaskOf(0, 5)
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// TestASchedulerByCid: it sees cids in the order of the topology, in its arguments, in what
// functions tell it, and in the mask that it finds in its arena.
func TestASchedulerByCid(t *testing.T) {
	m := byCid(t, kernel72, 8, nil)
	res, err := Run(t.Context(), m, Spec{CPUs: sched.Apart(8, 2, 4, 0), Duration: 100 * time.Millisecond, Tasks: wakers()})
	require.NoError(t, err)
	require.NoError(t, res.Err)
	require.Equal(t, "unregistered", res.Exit.Name(), res.Exit.Message)
	assert.Equal(t, []uint64{0, 4, 1, 5, 2, 6, 3, 7}, numbers(t, m, "cpu_of", 4)[:8])
	assert.Equal(t, []uint64{2, 1, 0, 0, 0, 0}, numbers(t, m, "topo", 4)[3*6:4*6], "cid 3 is CPU 5")
	assert.Equal(t, []uint64{6, 3, 4, 1, 0, 0}, numbers(t, m, "topo", 4)[7*6:8*6], "cid 7 is CPU 7")
	assert.EqualValues(t, 1<<0|1<<3, numbers(t, m, "allowed", 8)[1000%64], "CPUs 0 and 5")
	assert.Equal(t, []uint64{0, 8, 2}, append(append(numbers(t, m, "cmask_base", 8), numbers(t, m, "cmask_nr", 8)...), numbers(t, m, "cmask_words", 8)...))
	addr := numbers(t, m, "cmask_addr", 8)[0]
	assert.Less(t, addr, uint64(1)<<32, "as the arena's programs know it")
	assert.Zero(t, numbers(t, m, "wrong", 8)[0])
	assert.NotZero(t, numbers(t, m, "near", 8)[0])
	for cpu := range res.Tasks[0].Stats.ByCPU {
		assert.Contains(t, []int{0, 5}, cpu)
	}
	assert.NotZero(t, res.Calls["select_cid"])
	assert.NotZero(t, res.Calls["set_cmask"])
	assert.Zero(t, res.Calls["select_cpu"]+res.Calls["set_cpumask"])
}

func TestASchedulerNumbersCPUsItself(t *testing.T) {
	for _, tt := range []struct{ size, want string }{
		{"16", ""},
		{"12", "scx_bpf_cid_override: expected 16 bytes, got 12"},
	} {
		m := byCid(t, kernel72, 4, map[string]string{"use_override": "true", "override_size": tt.size})
		require.NoError(t, m.WriteVariable("override", []byte{3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}))
		res, err := Run(t.Context(), m, Spec{CPUs: sched.Topology(4, 0, 0, 0), Duration: 50 * time.Millisecond, Tasks: wakers()[:2]})
		require.NoError(t, err)
		require.NoError(t, res.Err)
		require.NotNil(t, res.Exit)
		if tt.want != "" {
			assert.Equal(t, tt.want, res.Exit.Message)
			assert.EqualValues(t, "init", res.Exit.Op)
			continue
		}
		require.Equal(t, "unregistered", res.Exit.Name(), res.Exit.Message)
		assert.Equal(t, []uint64{3, 2, 1, 0}, numbers(t, m, "cpu_of", 4)[:4])
		assert.EqualValues(t, uint64(1)<<32-1, numbers(t, m, "topo", 4)[0], "nothing is known of the topology")
		assert.EqualValues(t, 1<<3, numbers(t, m, "allowed", 8)[1000%64], "CPU 0")
		assert.Zero(t, numbers(t, m, "wrong", 8)[0])
	}
}

// TestASchedulerByCidNeedsAnArena: the kernel does not register one without; nor does a kernel
// before 7.2 know any.
func TestASchedulerByCidNeedsAnArena(t *testing.T) {
	m := byCid(t, kernel72, 2, nil)
	delete(drive.Linked(m.Linked(), "cid_ops").Progs, "set_cmask")
	res, err := Run(t.Context(), m, Default(2))
	require.NoError(t, err)
	assert.Equal(t, machine.StatusRefused, res.Status)
	assert.ErrorContains(t, res.Err, "none of its programs uses an arena")

	m = byCid(t, filepath.Join("..", "..", "..", "..", "testdata", "btf", "linux-6.1.176-arm64-cloud.btf.xz"), 2, nil)
	res, err = Run(t.Context(), m, Default(2))
	require.NoError(t, err)
	assert.Equal(t, machine.StatusAbsent, res.Status)
	assert.ErrorContains(t, res.Err, "no struct sched_ext_ops_cid (Linux 7.2 and later")
}

// TestNoRoomInTheArena: the kernel takes pages of the arena after ops.init.
func TestNoRoomInTheArena(t *testing.T) {
	m := byCid(t, kernel72, 2, nil)
	a := m.ArenaOf("cid_set_cmask")
	require.NotZero(t, a.AllocPages(0, 13))
	res, err := Run(t.Context(), m, Default(2))
	require.NoError(t, err)
	require.NoError(t, res.Err)
	assert.Equal(t, "scx_root_enable() failed (-12)", res.Exit.Message)
	assert.True(t, res.Exit.Initialized)
}

// TestACmaskThatIsGone: a scheduler may free the pages in which the kernel hands masks over, or
// write what it likes there.
func TestACmaskThatIsGone(t *testing.T) {
	for name, spoil := range map[string]func(m *machine.Machine, d *driver){
		"freed": func(_ *machine.Machine, d *driver) { d.cmasks.arena.FreePages(d.cmasks.at[0], arenaPages) },
		"huge": func(_ *machine.Machine, d *driver) {
			_ = d.cmasks.arena.Poke(d.cmasks.offset(0), []byte{0, 0, 0, 0, 255, 255, 255, 255})
		},
		"far": func(_ *machine.Machine, d *driver) {
			_ = d.cmasks.arena.Poke(d.cmasks.offset(0), []byte{255, 255, 255, 255, 255, 255, 255, 255})
		},
		"beyond a word": func(_ *machine.Machine, d *driver) {
			_ = d.cmasks.arena.Poke(d.cmasks.offset(0), []byte{1, 0, 0, 0, 1, 0, 0, 0})
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := byCid(t, kernel72, 2, nil)
			res := &Result{Outcome: drive.Outcome{Ops: "cid_ops"}}
			d, err := newDriver(t.Context(), m, res)
			require.NoError(t, err)
			cfg := d.config
			cfg.CPUs, cfg.Duration = sched.Topology(2, 0, 0, 0), time.Millisecond
			sim, err := sched.New(cfg, d)
			require.NoError(t, err)
			_, err = d.run(t.Context(), sim)
			require.NoError(t, err)
			spoil(m, d)
			assert.Equal(t, uint64(uint32(d.cmasks.at[0])), d.cmask(0, sched.MaskOf(0, 1)))
		})
	}
}
