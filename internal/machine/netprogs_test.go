package machine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
	"github.com/bpfrun/bpfrun/vm"
)

func netMachine(t *testing.T, path string) *machine.Machine {
	t.Helper()
	obj, err := loader.Open(path)
	require.NoError(t, err)
	spec, err := embedded.Spec()
	require.NoError(t, err)
	linked, err := obj.Load(loader.NewTarget(embedded.Name, spec), loader.LoadOptions{})
	require.NoError(t, err)
	m, err := machine.New(linked, machine.Config{Seed: 1})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// TestReturnsOutOfRange: a verdict the verifier would not have let through is a fault.
func TestReturnsOutOfRange(t *testing.T) {
	m := netMachine(t, "../../examples/connect/connect.bpf.o")
	in := machine.Input{Net: hook.NetSpec{Fields: map[string]uint64{"user_port": 7}}}
	for ret, ok := range map[uint64]bool{0: true, 1: true, 2: false, 1 << 32: false} {
		s, _, err := m.Begin("connect4", in)
		require.NoError(t, err)
		for stop := vm.Budget; stop == vm.Budget; {
			if s.Program().Insns[m.Thread().PC()].Op() == decode.OpExit && m.Thread().Depth() == 0 {
				m.Thread().SetReg(0, ret)
			}
			stop = s.Run(1)
		}
		res := s.Finish()
		assert.Equal(t, ok, res.Fault == nil, "%d", ret)
		if !ok {
			assert.Equal(t, vm.BadReturn, res.Fault.Kind)
		}
	}
}

// TestSocketsAreReleased: a socket found and not released is a fault that names it.
func TestSocketsAreReleased(t *testing.T) {
	m := netMachine(t, "../../examples/sklookup/sklookup.bpf.o")
	k := m.Kernel()
	o, err := k.NewSock("listener", net.SockSpec{State: 10, SourcePort: 7})
	require.NoError(t, err)
	sk, err := k.SocketOf(o)
	require.NoError(t, err)
	server, ok := m.MapByName("server")
	require.True(t, ok)
	require.Zero(t, server.(interface {
		SetSock([]byte, any, uint64) uapi.Errno
	}).SetSock(make([]byte, 4), sk, 0))
	in := machine.Input{Net: hook.NetSpec{Fields: map[string]uint64{"local_port": 7001}}}
	res, err := m.Run(context.Background(), "dispatch", in)
	require.NoError(t, err)
	require.Nil(t, res.Fault)
	in.Overrides = map[string]machine.Override{"bpf_sk_release": {Returns: []uint64{0}}}
	res, err = m.Run(context.Background(), "dispatch", in)
	require.NoError(t, err)
	require.NotNil(t, res.Fault)
	assert.Equal(t, vm.LeakedReference, res.Fault.Kind)
	assert.Contains(t, res.Fault.Error(), "socket listener")
}
