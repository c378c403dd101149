package net

import (
	"fmt"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/kernel/object"
)

// Numbers of interfaces (include/uapi/linux/if.h, include/uapi/linux/if_arp.h,
// include/linux/netdevice.h).
const (
	loopbackFlags = 0x49   // IFF_UP, IFF_LOOPBACK, IFF_RUNNING
	ethernetFlags = 0x1043 // IFF_UP, IFF_BROADCAST, IFF_RUNNING, IFF_MULTICAST
	loopbackType  = 772    // ARPHRD_LOOPBACK
	ethernetType  = 1      // ARPHRD_ETHER
	linkUp        = 3      // __LINK_STATE_START, __LINK_STATE_PRESENT, with a carrier
	indexHeads    = 256    // NETDEV_HASHENTRIES
	operUnknown   = 0      // IF_OPER_UNKNOWN
	operUp        = 6      // IF_OPER_UP
)

// fillNet links the interfaces of a network namespace, the loopback device first, in the list and
// in the hash by index.
func (h *Host) fillNet(b object.Builder) {
	if _, ok := b.Field("dev_base_head.next"); !ok || h.Mode() != object.ModeDefault {
		return
	}
	lo := b.Child("loopback_dev")
	l := h.LayoutNamed("net_device")
	if lo == nil || l == nil {
		return
	}
	heads, names := b.Array("dev_index_head", indexHeads), b.Array("dev_name_head", indexHeads)
	for _, table := range [...]*object.Object{heads, names} {
		if table != nil {
			table.Poke(0, make([]byte, table.Size()), object.Made)
		}
	}
	b.Ptr("ipv4.tcp_death_row.hashinfo", h.socketHash())
	for i, dev := range []*object.Object{lo, h.Shared("dev", l)} {
		if dev == nil {
			continue
		}
		if err := h.Link(b.Object, "dev_base_head", dev, "dev_list"); err != nil {
			return
		}
		if heads != nil {
			h.hashDevice(heads, dev, uint64(i)+LoopbackIndex)
		}
		b.Index("dev_by_index", 0, uint64(i)+LoopbackIndex, dev.Addr())
		if node := object.Fill(dev).Child("name_node"); node != nil && names != nil {
			n := object.Fill(node)
			n.Ptr("dev", dev)
			n.Num("name", object.Fill(dev).AddrOf("name"))
			object.Fill(names).PushAt(n.Hash("name")%indexHeads*names.Size()/indexHeads, n, "hlist")
		}
	}
	b.Num("ifindex", ethernetIndex)
	b.Num("passive.refs.counter|passive.counter", 1)
}

// Interface returns the net_device of an interface: that of the network namespace's list, or one of
// its own for an interface that only the user's network has. It is nil if the BTF lacks the type.
func (h *Host) Interface(d Device) *object.Object {
	l := h.LayoutNamed("net_device")
	if l == nil {
		return nil
	}
	var o *object.Object
	switch d.Index {
	case LoopbackIndex:
		if ns := h.Singleton("net"); ns != nil && h.Mode() == object.ModeDefault {
			o, _ = ns.Pointee("loopback_dev")
		}
	case ethernetIndex:
		o = h.Shared("dev", l)
	}
	if o == nil {
		o = h.Named(fmt.Sprintf("device %d", d.Index), "net_device")
	}
	if o == nil {
		return nil
	}
	o.MarkBuiltin()
	o.Populate()
	b := object.Fill(o)
	b.Text("name", d.Name)
	b.Num("ifindex", uint64(d.Index))
	b.Num("mtu", uint64(d.MTU))
	return o
}

// hashDevice makes an interface the only one with an index (dev_index_hash of net/core/dev.c).
func (h *Host) hashDevice(heads, dev *object.Object, index uint64) {
	f, ok := object.Fill(dev).Field("index_hlist")
	if !ok {
		return
	}
	word := uint64(h.Mem().PointerSize())
	node := make([]byte, word)
	endian.PutUint(h.Order(), node, dev.Base()+f.Off)
	heads.Poke(index*word, node, object.Made)
	object.Fill(dev).Num("index_hlist.next", 0)
	object.Fill(dev).Num("index_hlist.pprev", heads.Addr()+index*word)
}

// fillNetDevice makes an Ethernet interface, or the loopback device.
func (h *Host) fillNetDevice(b object.Builder) {
	least, most, state := uint64(68), uint64(9000), uint64(operUp) // ETH_MIN_MTU
	name, index, mtu, typ, flags := "eth0", uint64(ethernetIndex), uint64(1500), uint64(ethernetType), uint64(ethernetFlags)
	addr, mask := h.IPv4(b.Role("ifa_local")), []byte{255, 0, 0, 0}
	hardware := []byte{2, 0, 0, byte(b.Hash("mac") >> 8), byte(b.Hash("mac")), byte(index), 0, 0}
	if object.LastName(b.Object.Role()) == "loopback_dev" {
		name, index, mtu, typ, flags = "lo", LoopbackIndex, 65536, loopbackType, loopbackFlags
		addr, hardware = [4]byte{127, 0, 0, 1}, make([]byte, 8)
		least, most, state = 0, 0, operUnknown // no limits (loopback_setup)
	}
	b.Text("name", name)
	b.Num("ifindex", index)
	b.Num("mtu", mtu)
	b.Num("min_mtu", least)
	b.Num("max_mtu", most)
	b.Num("operstate", state)
	b.Num("type", typ)
	b.Num("flags", flags)
	b.Num("state", linkUp)
	b.Num("addr_len", 6)
	b.Num("hard_header_len", EthHeader)
	b.Num("reg_state", 1)
	b.Num("num_rx_queues", 1)
	b.Num("num_tx_queues", 1)
	b.Num("real_num_rx_queues", 1)
	b.Num("real_num_tx_queues", 1)
	b.Ptr("nd_net.net", h.Singleton("net"))
	mac, err := h.MakeBytes(b.Role("dev_addr"), 8, b.Object)
	if err == nil {
		mac.Poke(0, hardware, object.Made)
		b.Ptr("dev_addr", mac)
	}
	if queue := b.Child("_tx"); queue != nil {
		object.Fill(queue).Ptr("dev", b.Object)
	}
	if in := b.Child("ip_ptr"); in != nil {
		object.Fill(in).Ptr("dev", b.Object)
		if ifa := object.Fill(in).Child("ifa_list"); ifa != nil {
			a := object.Fill(ifa)
			a.Ptr("ifa_dev", in)
			a.Bytes("ifa_local", addr[:])
			a.Bytes("ifa_address", addr[:])
			a.Bytes("ifa_mask", mask)
			a.Num("ifa_prefixlen", 8)
			a.Text("ifa_label", name)
			a.Null("ifa_next")
		}
	}
	b.Null("ifalias master real_dev rtnl_link_ops xdp_prog ip6_ptr")
}
