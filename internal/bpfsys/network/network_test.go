package network_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
)

func newNetwork() *network.Network {
	return network.New(network.Host{Index: func(i uint32) bool { return i <= 2 }, Name: func(n string) bool { return n == "lo" || n == "eth0" }})
}

func TestDevicesGetFreeNamesAndIndices(t *testing.T) {
	n := newNetwork()
	add := func(spec network.Spec) string {
		d, e := n.Add(0, &spec)
		if e != 0 {
			return e.Name()
		}
		return fmt.Sprint(d.Index, " ", d.Name)
	}
	for _, c := range []struct {
		spec network.Spec
		want string
	}{
		{network.Spec{Kind: "dummy"}, "3 dummy0"},
		{network.Spec{Kind: "dummy"}, "4 dummy1"},
		{network.Spec{Kind: "dummy", Name: "x%dy"}, "5 x0y"},
		{network.Spec{Kind: "dummy", Name: "eth0"}, "EEXIST"},
		{network.Spec{Kind: "dummy", Name: "dummy1"}, "EEXIST"},
		{network.Spec{Kind: "dummy", Index: 2}, "EBUSY"},
		{network.Spec{Kind: "dummy", Index: 4}, "EBUSY"},
		{network.Spec{Kind: "dummy", Index: 100}, "100 dummy2"},
		{network.Spec{Kind: "dummy"}, "6 dummy3"},
		{network.Spec{Kind: "veth", Peer: &network.Spec{Kind: "veth"}}, "8 veth1"},
		{network.Spec{Kind: "veth", Name: "a", Peer: &network.Spec{Kind: "veth", Name: "a"}}, "EEXIST"},
		{network.Spec{Kind: "veth", Index: 200, Peer: &network.Spec{Kind: "veth", Index: 200}}, "EBUSY"},
		{network.Spec{Kind: "dummy", Name: "a/b"}, "EINVAL"},
		{network.Spec{Kind: "dummy", Name: "."}, "EINVAL"},
		{network.Spec{Kind: "dummy", Name: "sixteen bytes 16"}, "EINVAL"},
		{network.Spec{Kind: "dummy", Name: "%s"}, "EINVAL"},
		{network.Spec{Kind: "dummy", Name: "%d%d"}, "EINVAL"},
		{network.Spec{Kind: "dummy", Address: []byte{1}}, "EINVAL"},
	} {
		assert.Equal(t, c.want, add(c.spec), "%+v", c.spec)
	}
	assert.Equal(t, "veth0", n.Named(0, "veth1").Peer.Name)
}

func TestPairsComeUpAndGoTogether(t *testing.T) {
	n := newNetwork()
	d, e := n.Add(0, &network.Spec{Kind: "veth", Peer: &network.Spec{Kind: "veth"}, Flags: network.FlagUp, Mask: network.FlagUp})
	require.Zero(t, e)
	const running = network.FlagRunning | network.FlagLowerUp
	assert.True(t, d.Up())
	assert.Zero(t, d.Flags()&running, "its peer is down")
	assert.EqualValues(t, 3, d.OperState())
	d.Peer.Change(network.FlagUp, network.FlagUp)
	assert.EqualValues(t, running, d.Flags()&running)
	assert.EqualValues(t, 6, d.OperState())
	peer := d.Peer
	gone, e := n.Remove(peer)
	require.Zero(t, e)
	assert.Equal(t, []*network.Device{peer, d}, gone)
	assert.Empty(t, n.Devices(0))
}

func TestNamespacesHaveTheirOwnDevices(t *testing.T) {
	n := newNetwork()
	netns, e := n.NewNamespace()
	require.Zero(t, e)
	lo := n.Named(netns, "lo")
	assert.False(t, lo.Up())
	assert.Empty(t, lo.Addrs)
	lo.Change(network.FlagUp, network.FlagUp)
	lo.Change(0, network.FlagUp)
	lo.Change(network.FlagUp, network.FlagUp)
	assert.Len(t, lo.Addrs, 2, "its addresses, once")
	_, e = n.Remove(lo)
	assert.Equal(t, uapi.EOPNOTSUPP, e)
	d, e := n.Add(netns, &network.Spec{Kind: "dummy", Name: "eth0"})
	require.Zero(t, e, "a name that another namespace has")
	assert.EqualValues(t, 2, d.Index)
	assert.Nil(t, n.At(0, 2))
	assert.Equal(t, uapi.EEXIST, n.Rename(d, "lo"))
	assert.Equal(t, uapi.EINVAL, n.Rename(d, "x%d"))
	assert.Zero(t, n.Rename(d, "x"))
	_, e = n.Add(77, &network.Spec{Kind: "dummy"})
	assert.Equal(t, uapi.ENOMEM, e, "no such namespace")
}

func TestAddressesOfDevices(t *testing.T) {
	n := newNetwork()
	d, e := n.Add(0, &network.Spec{Kind: "dummy"})
	require.Zero(t, e)
	a := network.Addr{Prefix: netip.MustParsePrefix("10.0.0.1/8")}
	assert.Zero(t, d.AddAddr(a))
	assert.Equal(t, uapi.EEXIST, d.AddAddr(a))
	assert.Zero(t, d.DelAddr(a.Prefix.Addr()))
	assert.Equal(t, uapi.EADDRNOTAVAIL, d.DelAddr(a.Prefix.Addr()))
}

func TestNetworksAreBounded(t *testing.T) {
	n := newNetwork()
	var e uapi.Errno
	spaces, devices := 0, 0
	for ; e == 0 && spaces < 1<<16; spaces++ {
		_, e = n.NewNamespace()
	}
	assert.Equal(t, uapi.ENOSPC, e)
	for e = 0; e == 0 && devices < 1<<16; devices++ {
		_, e = n.Add(0, &network.Spec{Kind: "dummy", Index: uint32(1000 + devices), Name: fmt.Sprint("d", devices)})
	}
	assert.Equal(t, uapi.ENOMEM, e)
}

func TestNetkitIsOfLaterReleases(t *testing.T) {
	assert.False(t, network.Kind(since.Version{Release: uapi.R(6, 6)}, "netkit"))
	assert.True(t, network.Kind(since.Version{Release: uapi.R(6, 7)}, "netkit"))
	assert.True(t, network.Kind(since.Version{Release: uapi.R(5, 10)}, "veth"))
	assert.False(t, network.Kind(since.Version{Release: uapi.R(6, 7)}, "bridge"))
}
