package kernel

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	"github.com/bpfrun/bpfrun/internal/kernel/model"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/testing/snaptest"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

func TestKernelRestoresEveryField(t *testing.T) {
	k := newEmbedded(t)
	snaptest.Check(t, k, map[string]snaptest.Field{
		"clock":  {Set: func(n int) { k.clock.Advance(uint64(n)) }, Get: func() any { return *k.clock }},
		"rand":   {Set: func(int) { k.Random64() }, Get: func() any { return k.rand }},
		"stacks": snaptest.Map(&k.stacks, func(n int) bool { return n == 1 }, []uint64{1}),
	}, func() func() {
		c := k.Snapshot()
		return func() { k.Restore(c) }
	})
}

func TestRestoreTakesBackWhatWasBuilt(t *testing.T) {
	k := newEmbedded(t)
	m, s := k.Mem().Snapshot(), k.Snapshot()
	for range 2 {
		mm, err := k.NewMM("mm", model.MMSpec{})
		require.NoError(t, err)
		require.NoError(t, k.SetAreas(mm, []model.AreaSpec{{Start: 0x1000, End: 0x2000}}))
		require.NoError(t, k.Current().SetPtr("mm", mm))
		vma, err := k.VMAAt(mm, 0x1800)
		require.NoError(t, err)
		require.NotNil(t, vma)
		_, err = k.NewCgroup("cg", "/x", 77)
		require.NoError(t, err)
		k.SetNetwork(net.Network{Devices: []net.Device{{Index: 9, Name: "late"}}})

		k.Mem().Restore(m)
		k.Restore(s)
		vma, err = k.VMAAt(mm, 0x1800)
		require.NoError(t, err)
		assert.Nil(t, vma, "the address space is gone")
		_, late := k.Device(9)
		assert.False(t, late)
	}
}

func TestRestoreTakesBackAnAssignedSocket(t *testing.T) {
	k := newEmbedded(t)
	o, err := k.NewSock("listener", net.SockSpec{State: 10, SourcePort: 80})
	require.NoError(t, err)
	require.NoError(t, k.OpenSocket(o))
	sk, err := k.SocketOf(o)
	require.NoError(t, err)
	c := newContext(t, k, hook.ContextSpec{ProgType: uapi.ProgTypeSchedCls, NetSpec: hook.NetSpec{Ingress: true}})
	was := c.Socket()
	m, s := k.Mem().Snapshot(), k.Snapshot()
	require.Zero(t, c.Assign(sk, 0))
	require.Same(t, sk, c.Socket())
	k.Mem().Restore(m)
	k.Restore(s)
	assert.Same(t, was, c.Socket())
}
