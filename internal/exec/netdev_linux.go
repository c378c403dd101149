//go:build linux && (amd64 || arm64)

package exec

import (
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Questions of the family netdev of generic netlink about simulated devices, by which libbpf learns
// what a device's driver does with XDP (net/core/netdev-genl.c).

// Attributes of a device (NETDEV_A_DEV_*) and its command.
const (
	netdevIndex, netdevFeatures, netdevMetadata, netdevXSK = 1, 3, 5, 6
	netdevGet                                              = 1
)

// Features of drivers (NETDEV_XDP_ACT_*).
const xdpBasic, xdpRedirect, xdpXmit, xdpFragments, xdpXmitFragments = 1, 2, 4, 32, 64

// netdev answers a message.
func (c *call) netdev(g int, ino uint64, netns uint32, msg []byte) (e unix.Errno, served bool) {
	index, has := uint32(0), false
	attributes(msg[nlmsgHdrSize+genlHdrSize:], func(typ uint16, data []byte) {
		if typ == netdevIndex && len(data) >= 4 {
			index, has = le.Uint32(data), true
		}
	})
	family := uapi.RouteMessage(le.Uint16(msg[4:]))
	devices, dump := c.s.simulated(netns), le.Uint16(msg[6:])&unix.NLM_F_DUMP != 0
	if msg[nlmsgHdrSize] != netdevGet || dump && netns == 0 {
		return 0, false
	}
	if dump {
		for _, d := range devices {
			c.s.queue(g, ino, msg, family, unix.NLM_F_MULTI, c.s.netdevBody(d))
		}
		c.s.queue(g, ino, msg, nlmsgDone, unix.NLM_F_MULTI, make([]byte, 4))
		return 0, true
	}
	for _, d := range devices {
		if has && d.Index == index {
			c.s.queue(g, ino, msg, family, 0, c.s.netdevBody(d))
			return 0, true
		}
	}
	switch {
	case netns == 0:
		return 0, false
	case !has:
		return unix.EINVAL, true
	}
	return unix.ENODEV, true
}

// netdevBody returns the answer about a device, without the header of the message
// (netdev_nl_dev_fill, veth_set_xdp_features): the attributes that the kernel has.
func (s *supervisor) netdevBody(d *network.Device) []byte {
	features, metadata := uint64(0), uint64(0)
	if d.Kind == "veth" {
		features = xdpBasic | xdpRedirect | xdpFragments
		if id, mode := s.sys.XDP(bpfsys.Device{Netns: d.Netns, Index: d.Peer.Index}); id != 0 && mode == bpfsys.XDPNative { // frames that it sends are received by a program
			features |= xdpXmit | xdpXmitFragments
		}
		for _, name := range []string{"TIMESTAMP", "HASH", "VLAN_TAG"} {
			metadata |= uint64(s.enumerator("netdev_xdp_rx_metadata", "NETDEV_XDP_RX_METADATA_"+name))
		}
	}
	b := appendAttribute([]byte{netdevGet, 1, 0, 0}, netdevIndex, le.AppendUint32(nil, d.Index))
	for _, a := range []struct {
		typ   uint16
		name  string
		value uint64
	}{
		{netdevFeatures, "NETDEV_A_DEV_XDP_FEATURES", features},
		{netdevMetadata, "NETDEV_A_DEV_XDP_RX_METADATA_FEATURES", metadata},
		{netdevXSK, "NETDEV_A_DEV_XSK_FEATURES", 0},
	} {
		if s.enumerator("", a.name) != 0 {
			b = appendAttribute(b, a.typ, le.AppendUint64(nil, a.value))
		}
	}
	return b
}
