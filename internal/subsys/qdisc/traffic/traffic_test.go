package traffic

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"testing"
	"time"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/subsys/drive"
	"github.com/bpfrun/bpfrun/internal/subsys/event"
	"github.com/bpfrun/bpfrun/internal/subsys/qdisc"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const kernel72 = "../../../../testdata/btf/linux-7.2.13-amd64.btf.xz"

// on makes a machine for an example on a kernel.
func on(t *testing.T, name, kernel string, cfg machine.Config, globals map[string]string) *machine.Machine {
	t.Helper()
	obj, err := loader.Open(filepath.Join("../../../../examples", name, name+".bpf.o"))
	require.NoError(t, err)
	spec, err := testbtf.Load(kernel)
	require.NoError(t, err)
	l, err := obj.Load(loader.NewTarget(kernel, spec), loader.LoadOptions{Globals: globals})
	require.NoError(t, err)
	m, err := machine.New(l, cfg)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

func TestDefaultTraffic(t *testing.T) {
	for _, name := range []string{"qdiscfifo", "qdiscfair", "qdisctbf"} {
		t.Run(name, func(t *testing.T) {
			m := on(t, name, kernel72, machine.Config{Simulates: []string{"qdisc"}}, nil)
			before := len(m.Kernel().Objects())
			res, err := Run(t.Context(), m, Default())
			require.NoError(t, err)
			require.NoError(t, res.Err)
			assert.Equal(t, machine.StatusOK, res.Status)
			assert.Empty(t, res.Leaked)
			assert.False(t, res.Stalled)
			assert.Len(t, res.Packets, 444)
			var bytes, packets uint64
			for _, p := range res.Left {
				bytes, packets = bytes+uint64(p.Size), packets+1
			}
			assert.Equal(t, bytes, res.Fields[qdisc.FieldBytes])
			assert.Equal(t, packets, res.Fields[qdisc.FieldPackets])
			for _, s := range res.Samples {
				assert.EqualValues(t, s.Held, s.Qlen, "at %d", s.At)
			}
			assert.Less(t, len(m.Kernel().Objects()), before+40, "packets are freed")
			assert.NotZero(t, res.Insns)
		})
	}
}

func TestTheSameTrafficTwice(t *testing.T) {
	var first []uint64
	for range 2 {
		m := on(t, "qdiscfair", kernel72, machine.Config{Simulates: []string{"qdisc"}}, nil)
		res, err := Run(t.Context(), m, Default())
		require.NoError(t, err)
		var sent []uint64
		for _, p := range res.Packets {
			sent = append(sent, p.Sent)
		}
		if first == nil {
			first = sent
			continue
		}
		assert.Equal(t, first, sent)
	}
}

// TestObjectsReleaseWhatTheyOwn: packets in objects of a list that was dropped as a whole are freed
// too, by reset.
func TestObjectsReleaseWhatTheyOwn(t *testing.T) {
	m := on(t, "qdiscfifo", kernel72, machine.Config{Simulates: []string{"qdisc"}}, map[string]string{"drain": "false"})
	spec := Default()
	spec.Duration = 50 * time.Millisecond
	res, err := Run(t.Context(), m, spec)
	require.NoError(t, err)
	assert.NotEmpty(t, res.Leaked)
	assert.Equal(t, res.Held, len(res.Leaked))
}

func TestADisciplineIsRefused(t *testing.T) {
	t.Run("by a kernel without them", func(t *testing.T) {
		m := on(t, "qdiscfifo", "../../../../testdata/btf/linux-6.1.176-arm64-cloud.btf.xz", machine.Config{Simulates: []string{"qdisc"}}, nil)
		res, err := Run(t.Context(), m, Default())
		require.NoError(t, err)
		assert.Equal(t, machine.StatusAbsent, res.Status)
		var absent *AbsentError
		assert.ErrorAs(t, res.Err, &absent)
	})
	t.Run("by the verifier", func(t *testing.T) {
		m := on(t, "qdiscfifo", kernel72, machine.Config{Simulates: []string{"qdisc"}, Verify: func(lp *loader.LinkedProgram) loader.Verified {
			if lp.Name == "fifo_init" {
				return loader.Verified{Decided: true, Refusal: assert.AnError}
			}
			return loader.Verified{}
		}}, nil)
		res, err := Run(t.Context(), m, Default())
		require.NoError(t, err)
		assert.Equal(t, machine.StatusRefused, res.Status)
		assert.ErrorIs(t, res.Err, assert.AnError)
	})
	t.Run("in a machine that is not made for it", func(t *testing.T) {
		m := on(t, "qdiscfifo", kernel72, machine.Config{}, nil)
		status, err := m.ProgramStatus("fifo_enqueue")
		assert.Equal(t, machine.StatusNotSimulated, status)
		assert.ErrorContains(t, err, "queueing disciplines without traffic")
	})
}

// TestRegistration: what bpf_qdisc_init_member, bpf_qdisc_validate and register_qdisc refuse.
func TestRegistration(t *testing.T) {
	m := on(t, "qdiscfifo", kernel72, machine.Config{Simulates: []string{"qdisc"}}, nil)
	l := m.Linked()
	var ops *loader.LinkedStructOps
	for _, s := range l.StructOps {
		ops = s
	}
	require.NotNil(t, ops)
	at := func(name string) int {
		f, err := l.Target.BTF.ResolvePath(ops.KernType, name)
		require.NoError(t, err)
		return int(f.Offset())
	}
	for name, c := range map[string]struct {
		change func(*loader.LinkedStructOps)
		want   error
	}{
		"as it is":           {func(*loader.LinkedStructOps) {}, nil},
		"no id":              {func(o *loader.LinkedStructOps) { o.Data[at("id")] = 0 }, uapi.EINVAL},
		"an odd id":          {func(o *loader.LinkedStructOps) { o.Data[at("id")] = '-' }, uapi.EINVAL},
		"an id without end":  {func(o *loader.LinkedStructOps) { copy(o.Data[at("id"):], "aaaaaaaaaaaaaaaa") }, uapi.EINVAL},
		"an id that is used": {func(o *loader.LinkedStructOps) { copy(o.Data[at("id"):], "pfifo\x00\x00\x00\x00\x00\x00\x00\x00") }, uapi.EEXIST},
		"private data":       {func(o *loader.LinkedStructOps) { o.Data[at("priv_size")] = 8 }, uapi.EINVAL},
		"flags":              {func(o *loader.LinkedStructOps) { o.Data[at("static_flags")] = 1 }, uapi.EINVAL},
		"no init":            {func(o *loader.LinkedStructOps) { delete(o.Progs, "init") }, uapi.EINVAL},
		"no destroy":         {func(o *loader.LinkedStructOps) { delete(o.Progs, "destroy") }, uapi.EINVAL},
	} {
		o := *ops
		o.Data = append([]byte(nil), ops.Data...)
		o.Progs = map[string]string{}
		for k, v := range ops.Progs {
			o.Progs[k] = v
		}
		c.change(&o)
		id, err := register(l.Target.BTF, &o, binary.LittleEndian)
		if c.want == nil {
			assert.NoError(t, err, name)
			assert.Equal(t, "example_fifo", id)
			continue
		}
		assert.ErrorIs(t, err, c.want, name)
	}
}

func TestChooseADiscipline(t *testing.T) {
	obj, err := loader.Open("../../../../examples/qdiscfifo/qdiscfifo.bpf.o")
	require.NoError(t, err)
	name, err := Kind().Choose(obj, "")
	require.NoError(t, err)
	assert.Equal(t, "fifo", name)
	assert.Equal(t, "fifo_enqueue", Kind().Program(obj, name))
	var missing *drive.NoneError
	_, err = Kind().Choose(obj, "other")
	assert.ErrorAs(t, err, &missing)
	other, err := loader.Open("../../../../examples/xdp/xdp.bpf.o")
	require.NoError(t, err)
	_, err = Kind().Choose(other, "")
	assert.ErrorAs(t, err, &missing)
}

func TestTrafficCanBeInterrupted(t *testing.T) {
	m := on(t, "qdiscfifo", kernel72, machine.Config{Simulates: []string{"qdisc"}}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, m, Default())
	assert.ErrorIs(t, err, context.Canceled)
}

func TestEventsAreLimited(t *testing.T) {
	m := on(t, "qdiscfifo", kernel72, machine.Config{Simulates: []string{"qdisc"}}, nil)
	spec := Default()
	spec.Events = 100
	res, err := Run(t.Context(), m, spec)
	require.NoError(t, err)
	assert.Equal(t, machine.StatusFault, res.Status)
	assert.ErrorIs(t, res.Err, event.ErrLimit)
}
