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
	return network.New(network.Host{Index: func(i uint32) bool { return i <= 2 }, Name: func(n string) bool { return n == "lo" || n == "eth0" }}, 4)
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
	assert.Zero(t, d.DelAddr(a.Prefix.Addr(), a.Prefix))
	assert.Equal(t, uapi.EADDRNOTAVAIL, d.DelAddr(a.Prefix.Addr(), a.Prefix))
}

func TestAddressesOfOneNetworkAreSecondary(t *testing.T) {
	n := newNetwork()
	d, e := n.Add(0, &network.Spec{Kind: "dummy", Flags: network.FlagUp, Mask: network.FlagUp})
	require.Zero(t, e)
	list := func() (out []string) {
		for _, a := range d.Addrs {
			out = append(out, fmt.Sprint(a.Prefix, " ", a.Flags))
		}
		return out
	}
	for _, p := range []string{"10.0.0.1/8", "10.0.0.2/8", "192.0.2.1/24", "10.0.0.1/24", "0.0.0.0/0"} {
		require.Zero(t, d.AddAddr(network.Addr{Prefix: netip.MustParsePrefix(p)}), p)
	}
	assert.Equal(t, []string{"10.0.0.1/8 0", "192.0.2.1/24 0", "10.0.0.1/24 0", "10.0.0.2/8 1"}, list())
	assert.Equal(t, uapi.EINVAL, d.AddAddr(network.Addr{Prefix: netip.MustParsePrefix("192.0.2.2/24"), Scope: network.ScopeLink}), "another scope than the network's")
	assert.Equal(t, "192.0.2.1", d.Source(netip.MustParseAddr("192.0.2.77")).String())
	assert.Equal(t, "10.0.0.1", d.Source(netip.MustParseAddr("203.0.113.1")).String())
	for _, r := range n.Routes(0, true) {
		if r.To.Addr() == netip.MustParseAddr("10.0.0.2") {
			assert.Equal(t, "10.0.0.1", r.From.String(), "the primary address")
		}
	}
	assert.Equal(t, uapi.EADDRNOTAVAIL, d.DelAddr(netip.MustParseAddr("10.0.0.1"), netip.MustParsePrefix("10.0.0.1/16")))
	assert.Zero(t, d.DelAddr(netip.MustParseAddr("10.0.0.1"), netip.MustParsePrefix("10.0.0.1/8")))
	assert.Equal(t, []string{"192.0.2.1/24 0", "10.0.0.1/24 0"}, list(), "the secondary one goes along")
}

func TestDevicesHaveFurtherNames(t *testing.T) {
	n := newNetwork()
	d, _ := n.Add(0, &network.Spec{Kind: "dummy", Name: "d0"})
	other, _ := n.Add(0, &network.Spec{Kind: "dummy", Name: "d1"})
	require.Zero(t, n.AddAltName(d, "a long name"))
	assert.Equal(t, d, n.Named(0, "a long name"))
	for _, taken := range []string{"a long name", "d0", "eth0"} {
		assert.Equal(t, uapi.EEXIST, n.AddAltName(other, taken), taken)
	}
	assert.Equal(t, uapi.EINVAL, n.DelAltName(other, "a long name"), "of another device")
	assert.Equal(t, uapi.EINVAL, n.DelAltName(d, "d0"), "its own")
	assert.Equal(t, uapi.ENOENT, n.DelAltName(d, "none"))
	assert.Zero(t, n.DelAltName(d, "a long name"))
	assert.Nil(t, n.Named(0, "a long name"))
}

func TestRoutesAreAddedInTheirPlace(t *testing.T) {
	n := newNetwork()
	d, _ := n.Add(0, &network.Spec{Kind: "veth", Peer: &network.Spec{Kind: "veth"}, Flags: network.FlagUp, Mask: network.FlagUp})
	require.Zero(t, d.AddAddr(network.Addr{Prefix: netip.MustParsePrefix("10.0.0.1/24")}))
	to := netip.MustParsePrefix("192.0.2.0/24")
	route := func(via string) network.Route {
		return network.Route{To: to, Via: netip.MustParseAddr(via), Table: network.TableMain, Type: network.RouteUnicast}
	}
	create := network.Adding{Create: true}
	for _, tt := range []struct {
		via  string
		how  network.Adding
		want uapi.Errno
		list string
	}{
		{"10.0.0.2", create, 0, "2"},
		{"10.0.0.3", network.Adding{Create: true, Append: true}, 0, "2 3"},
		{"10.0.0.4", create, 0, "4 2 3"},
		{"10.0.0.3", network.Adding{Create: true, Append: true}, uapi.EEXIST, "4 2 3"},
		{"10.0.0.5", network.Adding{Create: true, Exclusive: true}, uapi.EEXIST, "4 2 3"},
		{"10.0.0.5", network.Adding{Replace: true}, 0, "5 2 3"},
		{"10.0.0.3", network.Adding{Replace: true}, uapi.EEXIST, "5 2 3"},
		{"10.0.0.5", network.Adding{Replace: true}, 0, "5 2 3"},
		{"172.16.0.1", create, uapi.ENETUNREACH, "5 2 3"},
	} {
		assert.Equal(t, tt.want, n.AddRoute(0, route(tt.via), tt.how), "%+v", tt)
		list := ""
		for _, r := range n.Routes(0, true) {
			if r.To == to {
				list += fmt.Sprint(r.Via.As4()[3], " ")
			}
		}
		assert.Equal(t, tt.list+" ", list, "%+v", tt)
	}
	far := route("172.16.0.1")
	far.Onlink, far.Device = true, d
	assert.Zero(t, n.AddRoute(0, far, create))
	near := route("10.0.0.2")
	near.Onlink, near.Device = true, d
	again := network.Adding{Create: true, Append: true}
	assert.Zero(t, n.AddRoute(0, near, again), "RTNH_F_ONLINK makes it another one")
	assert.Equal(t, uapi.EEXIST, n.AddRoute(0, near, again))
	nowhere := network.Route{To: netip.MustParsePrefix("203.0.113.0/24"), Table: network.TableMain, Type: 8}
	assert.Zero(t, n.AddRoute(0, nowhere, create))
	e, ok := n.Lookup(0, netip.MustParseAddr("203.0.113.7")).Nowhere()
	assert.True(t, ok)
	assert.Equal(t, uapi.EACCES, e)
	nowhere.Device, nowhere.To = d, netip.MustParsePrefix("203.0.112.0/24")
	assert.Equal(t, uapi.EINVAL, n.AddRoute(0, nowhere, create), "with a device")
}

func TestNeighborsGoWithDevices(t *testing.T) {
	n := newNetwork()
	d, _ := n.Add(0, &network.Spec{Kind: "veth", Peer: &network.Spec{Kind: "veth", Flags: network.FlagUp, Mask: network.FlagUp}, Flags: network.FlagUp, Mask: network.FlagUp})
	const permanent, reachable = 0x80, 2
	for _, x := range []*network.Device{d, d.Peer} {
		for i, state := range []uint16{permanent, reachable} {
			a := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
			require.Zero(t, x.SetNeighbor(network.Neighbor{Addr: a, State: state, Address: make([]byte, 6)}, true, false, false))
		}
	}
	assert.Equal(t, uapi.EINVAL, d.SetNeighbor(network.Neighbor{Addr: netip.MustParseAddr("10.0.0.9"), State: permanent}, true, false, false))
	assert.Len(t, d.Neighbors, 3, "without an address, it stays in no state")
	d.Change(0, network.FlagUp)
	n.Down(d)
	assert.Empty(t, d.Neighbors)
	assert.Len(t, d.Peer.Neighbors, 1, "the carrier is lost: the permanent one stays")
}

func TestLimitsOfDevices(t *testing.T) {
	n := newNetwork()
	for _, tt := range []struct {
		spec network.Spec
		want uapi.Errno
	}{
		{network.Spec{Kind: "veth", MTU: 67}, uapi.EINVAL},
		{network.Spec{Kind: "veth", MTU: 65536}, uapi.EINVAL},
		{network.Spec{Kind: "dummy", MTU: 70000}, 0},
		{network.Spec{Kind: "dummy", Address: []byte{1, 0, 0, 0, 0, 1}}, uapi.EADDRNOTAVAIL},
		{network.Spec{Kind: "dummy", Address: make([]byte, 6)}, uapi.EADDRNOTAVAIL},
	} {
		_, e := n.Add(0, &tt.spec)
		assert.Equal(t, tt.want, e, "%+v", tt.spec)
	}
	d, _ := n.Add(0, &network.Spec{Kind: "veth", QueueGiven: true, RxQueues: 7})
	assert.Equal(t, [3]uint32{0, 4, 7}, [3]uint32{d.Queue, d.TxQueues, d.RxQueues})
	assert.Equal(t, "noop", d.Qdisc())
	d.Change(network.FlagUp, network.FlagUp)
	d.Change(0, network.FlagUp)
	assert.Equal(t, "noqueue", d.Qdisc(), "it stays")
}

func TestADeviceHasSoManyAddresses(t *testing.T) {
	n := newNetwork()
	d, _ := n.Add(0, &network.Spec{Kind: "dummy"})
	for i := range 300 {
		ip := netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1})
		if i%2 == 0 {
			ip = netip.AddrFrom16([16]byte{0xfd, 14: byte(i >> 8), 15: byte(i)})
		}
		want := uapi.Errno(0)
		if i >= 256 {
			want = uapi.ENOBUFS
		}
		assert.Equal(t, want, d.AddAddr(network.Addr{Prefix: netip.PrefixFrom(ip, 24)}), i)
	}
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
