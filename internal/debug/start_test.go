package debug

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bpfrun/bpfrun/internal/debug/expr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/scenario"
	"github.com/bpfrun/bpfrun/internal/testing/testbtf"
	"github.com/bpfrun/bpfrun/loader"
)

// portable makes a session that can load other kernels: those of testdata/btf by file name.
func portable(t testing.TB, path string) *Session {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", path))
	require.NoError(t, err)
	obj, err := loader.OpenBytes(filepath.Base(path), data)
	require.NoError(t, err)
	on := func(_ context.Context, name string) (Target, error) {
		spec, err := embedded.Spec()
		if name != "embedded" {
			spec, err = testbtf.Load(filepath.Join("..", "..", "testdata", "btf", name))
		}
		if err != nil {
			return Target{}, err
		}
		linked, err := obj.Load(loader.NewTarget(name, spec), loader.LoadOptions{})
		if err != nil {
			return Target{}, err
		}
		m, err := machine.New(linked, machine.Config{Seed: 1})
		return Target{Machine: m}, err
	}
	first, err := on(bg, "embedded")
	require.NoError(t, err)
	s, err := NewOn(first, Config{Machine: machine.Config{Seed: 1}, ELF: data, SourceDirs: []string{"../..", ".."}, Kernel: on})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// TestSwitchKernel: the same point of the run on another kernel, with its own offsets.
func TestSwitchKernel(t *testing.T) {
	const other = "linux-6.1.176-arm64-cloud.btf.xz"
	s := portable(t, "examples/loop/loop.bpf.o")
	b, err := s.Break("climb_one", false)
	require.NoError(t, err)
	_, err = s.Start("")
	require.NoError(t, err)
	for range 2 {
		_, err = s.Continue(bg)
		require.NoError(t, err)
	}
	_, err = s.AddWatch("$r0", false, true)
	require.NoError(t, err)
	_, err = s.Assign("$r3 = 1")
	require.NoError(t, err)
	pc, pos := s.Here().PC, s.Pos()
	st, err := s.SwitchKernel(bg, other)
	require.NoError(t, err)
	assert.Equal(t, other, s.Linked().Target.Name)
	assert.Equal(t, pc, s.Here().PC)
	assert.Equal(t, pos, s.Pos(), "this program executes the same instructions on both")
	assert.Len(t, st.Notes, 2)
	assert.Empty(t, s.Watches())
	_, err = s.Continue(bg)
	require.NoError(t, err)
	assert.Positive(t, b.Hits, "breakpoints hold")
	for s.State() == Running {
		_, err = s.Continue(bg)
		require.NoError(t, err)
	}
	st, err = s.SwitchKernel(bg, "embedded")
	require.NoError(t, err)
	assert.Equal(t, Exited, st.Reason, "an ended run is at its end there too")
	_, err = s.SwitchKernel(bg, "nothing")
	require.Error(t, err)
	assert.Equal(t, "embedded", s.Linked().Target.Name, "a kernel that cannot be loaded changes nothing")

	exec := portable(t, "examples/exec/exec.bpf.o")
	st, err = exec.SwitchKernel(bg, other)
	require.NoError(t, err)
	assert.Equal(t, Arrived, st.Reason)
	assert.Equal(t, Idle, exec.State())
	_, err = exec.Start("on_exec")
	require.NoError(t, err)

	fixed := open(t, "examples/exec/exec.bpf.o")
	_, err = fixed.SwitchKernel(bg, "embedded")
	require.ErrorContains(t, err, "cannot load other kernels")
}

// TestCases: the runs of a scenario are started by name, with what it sets up.
func TestCases(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	obj, err := loader.Open(filepath.Join("..", "..", "examples", "exec", "exec.bpf.o"))
	require.NoError(t, err)
	file, err := scenario.ParseFile(filepath.Join("..", "..", "examples", "exec", "exec.yaml"))
	require.NoError(t, err)
	r, err := scenario.Open(file, obj, loader.NewTarget(embedded.Name, spec), scenario.Options{Config: machine.Config{Seed: 1}})
	require.NoError(t, err)
	s, err := NewOn(Target{Machine: r.Machine(), Cases: ScenarioCases(r)}, Config{Machine: machine.Config{Mode: object.ModeScenario}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	require.Len(t, s.Cases(), 1)
	for _, name := range []string{"", "a user runs curl"} {
		_, err = s.Start(name)
		require.NoError(t, err)
		st, err := s.Continue(bg)
		require.NoError(t, err)
		require.Equal(t, Exited, st.Reason)
		assert.Equal(t, "800", print(t, s, "events[0].ppid"))
		assert.Equal(t, "7", print(t, s, "execs_by_uid[1000]"), "each run of the scenario starts fresh")
		o, err := s.Why(bg, "events[0].ppid")
		require.NoError(t, err)
		assert.Contains(t, steps(o), "kernel field task_struct.tgid of shell")
	}
	_, err = s.Start("a user runs crul")
	var unknown *expr.UnknownError
	require.ErrorAs(t, err, &unknown)
	assert.Contains(t, unknown.Nearest, "a user runs curl")
	_, err = s.Start("on_exec")
	require.NoError(t, err, "programs can be started too")
}

// TestPackets: programs are started with a packet of a capture, or one that was written.
func TestPackets(t *testing.T) {
	s := open(t, "examples/xdp/xdp.bpf.o")
	require.Error(t, s.ChoosePacket(1))
	require.Error(t, s.SetPackets(nil))
	var list [][]byte
	for _, text := range []string{"eth/ip(ttl=7)/tcp(dport=80)", "eth/ip(ttl=9)/udp(dport=53)"} {
		p, err := LoadPacket(text)
		require.NoError(t, err)
		list = append(list, p)
	}
	require.NoError(t, s.SetPackets(list))
	for n, want := range map[int]string{1: "7", 2: "9"} {
		require.NoError(t, s.ChoosePacket(n))
		_, err := s.Start("filter")
		require.NoError(t, err)
		assert.Equal(t, want, print(t, s, "pkt.ip.ttl"))
		assert.Equal(t, n, s.PacketNumber())
	}
	require.ErrorContains(t, s.ChoosePacket(3), "has 2")
	p, err := LoadPacket("eth/ip(ttl=3)/udp()")
	require.NoError(t, err)
	s.SetPacket(p)
	_, err = s.Start("filter")
	require.NoError(t, err)
	assert.Equal(t, "3", print(t, s, "pkt.ip.ttl"))
	_, err = ReadPackets("start_test.go")
	require.Error(t, err)
	_, err = ReadPackets("nothing")
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.False(t, errors.Is(err, ErrIdle))
}
