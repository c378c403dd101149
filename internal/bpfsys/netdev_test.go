package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/decode"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// newDevice creates a device in a namespace and returns its index.
func (t *task) newDevice(netns uint32, kind string) (index int) {
	t.s.Network(func(n *network.Network) {
		spec := network.Spec{Kind: kind}
		if kind == "netkit" {
			spec.Netkit.Primary = true
		}
		if kind != "dummy" {
			spec.Peer = &network.Spec{Kind: kind}
		}
		d, e := n.Add(netns, &spec)
		if e != 0 {
			panic(e)
		}
		index = int(d.Index)
	})
	return index
}

func (k *caller) linkDevice(prog int64, index int, at uapi.AttachType, more ...field) (int64, uapi.Errno) {
	fd, e, _ := k.call(linkCreate, append([]field{{0, int(prog)}, {4, index}, {8, int(at)}, {12, 0}, {16, 0}, {24, uint64(0)}}, more...)...)
	return fd, e
}

// tc loads a program of tc hooks.
func (k *caller) tc(t *testing.T, at uapi.AttachType, ret int32) int64 {
	t.Helper()
	fd, e := k.load(uapi.ProgTypeSchedCls, returning(ret), field{68, int(at)})
	require.Zero(t, e)
	return fd
}

func TestNetkitProgramsAttachThroughThePrimaryDevice(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	const next = -1
	a, b := k.tc(t, uapi.AttachNetkitPrimary, next), k.tc(t, uapi.AttachNetkitPrimary, 2)
	peer := k.tc(t, uapi.AttachNetkitPeer, 0)
	nk, dummy := k.newDevice(0, "netkit"), k.newDevice(0, "dummy")
	for _, c := range []struct {
		name  string
		index int
		want  uapi.Errno
	}{{"no device", 77, uapi.ENODEV}, {"another kind", dummy, uapi.ENXIO}, {"the host's", 1, uapi.ENXIO}, {"the peer", nk - 1, uapi.EACCES}} {
		_, e := k.linkDevice(a, c.index, uapi.AttachNetkitPrimary)
		assert.Equal(t, c.want, e, c.name)
	}
	link, e := k.linkDevice(a, nk, uapi.AttachNetkitPrimary)
	require.Zero(t, e)
	const before = 8
	_, e = k.linkDevice(b, nk, uapi.AttachNetkitPrimary, field{12, before})
	require.Zero(t, e)
	peerLink, e := k.linkDevice(peer, nk, uapi.AttachNetkitPeer)
	require.Zero(t, e)

	fired, err := k.s.Fire(bpfsys.Event{Hook: "netkit_primary"})
	require.NoError(t, err)
	assert.Len(t, fired, 1, "the first program decides")
	fired, err = k.s.Fire(bpfsys.Event{Hook: "netkit_peer"})
	require.NoError(t, err)
	assert.Len(t, fired, 1)

	ids := k.room(16)
	_, e, q := k.call(progQuery, field{0, nk}, field{4, int(uapi.AttachNetkitPrimary)}, field{8, 0}, field{16, ids}, field{24, 4}, field{56, uint64(0)})
	require.Zero(t, e)
	assert.EqualValues(t, 2, le.Uint32(q[24:]))
	index := func(link int64) uint32 {
		info := k.room(64)
		_, e, _ := k.call(infoByFD, field{0, int(link)}, field{4, 64}, field{8, info})
		require.Zero(t, e)
		assert.Equal(t, uapi.LinkNetkit, uapi.LinkType(le.Uint32(k.at(info, 4))))
		return le.Uint32(k.at(info+16, 4))
	}
	assert.EqualValues(t, nk, index(link))
	assert.EqualValues(t, nk-1, index(peerLink), "the device that it is attached to")

	require.Zero(t, k.s.RemoveDevice(bpfsys.Device{Index: uint32(nk)}))
	assert.Zero(t, index(link), "the device is gone")
	assert.Zero(t, index(peerLink))
	_, err = k.s.Fire(bpfsys.Event{Hook: "netkit_primary"})
	assert.ErrorIs(t, err, bpfsys.ErrNoHook)
	assert.Equal(t, uapi.ENODEV, k.s.RemoveDevice(bpfsys.Device{Index: uint32(nk)}))
}

// TestProgramsSeeTheDeviceThatTheyAreAttachedTo: the index in the context, which is also that of the
// kernel's own struct.
func TestProgramsSeeTheDeviceThatTheyAreAttachedTo(t *testing.T) {
	for _, tt := range []struct {
		hook string
		typ  uapi.ProgType
		at   uapi.AttachType
		off  int16
	}{{"xdp", uapi.ProgTypeXDP, uapi.AttachXDP, 12}, {"tcx_ingress", uapi.ProgTypeSchedCls, uapi.AttachTcxIngress, 40}} {
		t.Run(tt.hook, func(t *testing.T) {
			k := newCaller(t, newestKernel(t))
			var indices []uint64
			for range 2 {
				index := k.newDevice(0, "veth")
				prog, e := k.load(tt.typ, []decode.Insn{{Code: 0x61, Src: 1, Off: tt.off}, {Code: 0x95}}, field{68, int(tt.at)})
				require.Zero(t, e)
				_, e = k.linkDevice(prog, index, tt.at)
				require.Zero(t, e)
				indices = append(indices, uint64(index))
			}
			fired, err := k.s.Fire(bpfsys.Event{Hook: tt.hook})
			require.NoError(t, err)
			var got []uint64
			for _, f := range fired {
				require.NoError(t, f.Err)
				got = append(got, f.Ret)
			}
			assert.Equal(t, indices, got)
		})
	}
}

// TestDevicesAreOfACallersNamespace: an index means a device of the caller's network namespace, and
// devices of two namespaces have programs of their own.
func TestDevicesAreOfACallersNamespace(t *testing.T) {
	k := newCaller(t, newestKernel(t))
	var netns uint32
	k.s.Network(func(n *network.Network) { netns, _ = n.NewNamespace() })
	prog := k.tc(t, uapi.AttachTcxIngress, 0)
	count := func() uint32 {
		_, e, q := k.call(progQuery, field{0, 1}, field{4, int(uapi.AttachTcxIngress)}, field{8, 0}, field{16, k.room(16)}, field{24, 4}, field{56, uint64(0)})
		require.Zero(t, e)
		return le.Uint32(q[24:])
	}
	k.netns = netns
	_, e := k.linkDevice(prog, 1, uapi.AttachTcxIngress)
	require.Zero(t, e)
	assert.EqualValues(t, 1, count())
	k.netns = 0
	assert.Zero(t, count())
	index := k.newDevice(netns, "dummy")
	_, e = k.linkDevice(prog, index, uapi.AttachTcxIngress)
	assert.Equal(t, uapi.ENODEV, e)
	require.Zero(t, k.s.NewTCQdisc(bpfsys.Device{Netns: netns, Index: uint32(index)}, "clsact", true))
	require.Zero(t, k.s.RemoveDevice(bpfsys.Device{Netns: netns, Index: uint32(index)}))
	assert.Empty(t, k.s.TCQdisc(bpfsys.Device{Netns: netns, Index: uint32(index)}))
}
