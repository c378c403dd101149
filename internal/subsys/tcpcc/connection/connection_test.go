package connection

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/tcpcc"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	kernel72  = "../../../../testdata/btf/linux-7.2.13-amd64.btf.xz"
	kernel510 = "../../../../testdata/btf/linux-5.10.262-amd64-cloud.btf.xz"
	kernel61  = "../../../../testdata/btf/linux-6.1.176-arm64-cloud.btf.xz"
	reno      = "../../../../testdata/objects/clang-14/reno.o"
	examples  = "../../../../examples/structops/structops.bpf.o"
	several   = "../../../../testdata/objects/clang-14/struct_ops.o"
)

// on makes a machine for an object on a kernel.
func on(t *testing.T, path, kernel string) *machine.Machine {
	t.Helper()
	obj, err := loader.Open(path)
	require.NoError(t, err)
	spec, err := testbtf.Load(kernel)
	require.NoError(t, err)
	l, err := obj.Load(loader.NewTarget(kernel, spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(l, machine.Config{})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

func global(t *testing.T, m *machine.Machine, name string) uint64 {
	t.Helper()
	b, err := m.ReadVariable(name)
	require.NoError(t, err)
	return uint64(binary.LittleEndian.Uint32(b))
}

func connect(t *testing.T, m *machine.Machine, cfg tcpcc.Config) *Result {
	t.Helper()
	cfg.Rate, cfg.RTT, cfg.Queue, cfg.Duration = tcpcc.DefaultRate, tcpcc.DefaultRTT, tcpcc.DefaultQueue, 10*time.Second
	res, err := Run(t.Context(), m, Spec{Config: cfg})
	require.NoError(t, err)
	return res
}

// TestRenoIsTold: the programs see the windows, states, events and samples of the connection, and
// set its window, on every release that has such algorithms.
func TestRenoIsTold(t *testing.T) {
	for _, kernel := range []string{kernel72, kernel510, kernel61} {
		t.Run(kernel, func(t *testing.T) {
			m := on(t, reno, kernel)
			res := connect(t, m, tcpcc.Config{Segments: 60, Drops: []int{15}})
			require.NoError(t, res.Err)
			assert.Equal(t, machine.StatusOK, res.Status)
			assert.Equal(t, "bpf_reno", res.Name)
			assert.Equal(t, 60, res.Acked)
			assert.EqualValues(t, 12, res.SSThresh)
			assert.Equal(t, 1, res.Recoveries)
			for name, want := range map[string]uint64{"inits": 1, "releases": 1, "ends": 1, "losses": 0, "states": 3, "last_state": 0, "acked_segments": 60} {
				assert.Equal(t, want, global(t, m, name), name)
			}
			assert.InDelta(t, float64(res.MaxRTT)/1000, float64(global(t, m, "longest")), 1)
			assert.EqualValues(t, res.Calls[tcpcc.OpInAckEvent], global(t, m, "acks"))
			// Linux 7.1 and later tell of the start by an operation that this one does not have.
			starts := uint64(1)
			if kernel == kernel72 {
				starts = 0
			}
			assert.Equal(t, starts, global(t, m, "starts"))
			require.NotEmpty(t, res.Runs())
		})
	}
}

// TestExampleHalves: an algorithm that grows by all that is acknowledged, also after a loss, keeps
// the queue full.
func TestExampleHalves(t *testing.T) {
	m := on(t, examples, kernel72)
	sim, err := RunDefault(t.Context(), m, "")
	require.NoError(t, err)
	res := sim.(*Result)
	require.NoError(t, res.Err)
	assert.Positive(t, res.Recoveries)
	assert.EqualValues(t, res.Calls[tcpcc.OpSSThresh], global(t, m, "losses"))
}

// TestWhatIsNotRegistered: the kernel's reasons, and an object with several algorithms.
func TestWhatIsNotRegistered(t *testing.T) {
	for name, change := range map[string]struct {
		do   func(*loader.LinkedStructOps, int)
		want string
	}{
		"no name":     {func(s *loader.LinkedStructOps, at int) { clear(s.Data[at : at+16]) }, "it has no name"},
		"taken":       {func(s *loader.LinkedStructOps, at int) { copy(s.Data[at:], "cubic\x00") }, `its name "cubic" is that of an algorithm of the kernel`},
		"no ssthresh": {func(s *loader.LinkedStructOps, _ int) { delete(s.Progs, "ssthresh") }, "it needs ssthresh"},
		"no growth":   {func(s *loader.LinkedStructOps, _ int) { delete(s.Progs, "cong_avoid") }, "cong_avoid or cong_control"},
	} {
		t.Run(name, func(t *testing.T) {
			m := on(t, reno, kernel72)
			s := drive.Linked(m.Linked(), "reno")
			f, err := m.Linked().Target.BTF.ResolvePath(s.KernType, "name")
			require.NoError(t, err)
			change.do(s, int(f.Offset()))
			res := connect(t, m, tcpcc.Config{})
			assert.Equal(t, machine.StatusRefused, res.Status)
			assert.ErrorContains(t, res.Err, change.want)
		})
	}
	m := on(t, several, kernel72)
	assert.Empty(t, Programs(m.Linked()))
	_, err := Run(t.Context(), m, Default())
	assert.ErrorContains(t, err, "several congestion controls, name one: fixed, fixed_link")
	spec := Default()
	spec.Ops = "fixed"
	res, err := Run(t.Context(), m, spec)
	require.NoError(t, err)
	assert.EqualValues(t, 10, res.MostCwnd)
}

// TestSocketsOfFewFields: a kernel's socket needs a window and its threshold; what else it lacks is
// left out.
func TestSocketsOfFewFields(t *testing.T) {
	for _, tt := range []struct {
		fields []string
		want   string
	}{
		{[]string{"snd_cwnd", "snd_ssthresh"}, ""},
		{[]string{"snd_cwnd", "snd_ssthresh", "mss_cache"}, ""},
		{[]string{"snd_cwnd"}, "has no snd_ssthresh"},
		{[]string{"snd_ssthresh"}, "has no snd_cwnd"},
	} {
		b := btf.NewBuilder(nil)
		u32 := b.Int("unsigned int", 4, 0)
		var members []btf.Member
		for i, name := range tt.fields {
			members = append(members, btf.Member{Name: name, Type: u32, BitOffset: uint32(32 * i)})
		}
		b.Struct("tcp_sock", uint32(4*len(members)), members...)
		spec, err := b.Spec(binary.LittleEndian)
		require.NoError(t, err)
		obj, err := loader.Open(reno)
		require.NoError(t, err)
		l, err := obj.Load(loader.NewTarget("few", spec), loader.LoadOptions{})
		require.NoError(t, err)
		m, err := machine.New(l, machine.Config{})
		require.NoError(t, err)
		t.Cleanup(m.Close)
		err = (&driver{Driver: &drive.Driver{M: m}}).furnish()
		if tt.want == "" {
			assert.NoError(t, err, "%v", tt.fields)
		} else {
			assert.ErrorContains(t, err, tt.want, "%v", tt.fields)
		}
	}
}
