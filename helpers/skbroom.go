package helpers

import (
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

var skbRoomHelpers = []row{
	{ID: uapi.FuncSkbChangeHead, Do: onSkb(skbChangeHead)},
	{ID: uapi.FuncSkbChangeTail, Do: onSkb(skbChangeTail)},
	{ID: uapi.FuncSkbChangeProto, Do: onSkb(skbChangeProto)},
	{ID: uapi.FuncSkbAdjustRoom, Do: onSkb(skbAdjustRoom)},
	{ID: uapi.FuncSkbVlanPush, Do: onSkb(skbVlanPush)},
	{ID: uapi.FuncSkbVlanPop, Do: onSkb(skbVlanPop)},
}

// skbChangeHead adds room before the packet: the link header moves to its new start, the network
// header stays (bpf_skb_change_head).
func skbChangeHead(c *Call, s *skb) (uint64, *vm.Action) {
	room := int(int32(uint32(c.Args[1])))
	if c.Args[2] != 0 || room < 0 || s.p.Len()+room > maxSkbLen && !s.gso() {
		return errnoRet(uapi.EINVAL), nil
	}
	if errno := s.p.Resize(0, room); errno != 0 {
		return errnoRet(errno), nil
	}
	s.st.net += room
	s.st.mac = 0
	return 0, nil
}

// skbChangeTail truncates the packet, or extends it with zeros (bpf_skb_change_tail).
func skbChangeTail(c *Call, s *skb) (uint64, *vm.Action) {
	n := int(c.Args[1] & 0xffffffff)
	if c.Args[2] != 0 || n > maxSkbLen || n < max(s.st.net, 0) {
		return errnoRet(uapi.EINVAL), nil
	}
	// Only the outermost headers may be resized.
	if s.st.encap {
		return errnoRet(uapi.ENOTSUPP), nil
	}
	errno := s.p.Resize(min(n, s.p.Len()), n-s.p.Len())
	if errno == 0 && s.gso() { // skb_gso_reset
		s.c.SetField("gso_size", 0)
		s.c.SetField("gso_segs", 0)
	}
	return errnoRet(errno), nil
}

// gso reports whether the packet represents several segments. Their type is unknown: a context
// contains only their size, as does BPF_PROG_TEST_RUN.
func (s *skb) gso() bool {
	size, _ := s.c.Field("gso_size")
	return size != 0
}

// checkSegments returns the result of bpf_check_mtu for a packet of several segments whose total
// size exceeds the MTU: it may fit after segmentation, and the segments are checked only on request
// (skb_gso_validate_network_len).
func (s *skb) checkSegments(mtu int64, ask bool) uint64 {
	if !ask {
		return uapi.CheckMTURetSuccess
	}
	size, _ := s.c.Field("gso_size")
	b := s.p.Bytes()
	b = b[min(max(s.st.net, 0), len(b)):]
	length, proto := 0, byte(0)
	switch {
	case len(b) >= ipv4Header && b[0]>>4 == 4:
		length, proto = int(b[0]&15)*4, b[9]
	case len(b) >= ipv6Header && b[0]>>4 == 6:
		length, proto = ipv6Header, b[6]
	}
	const udpHeader = 8
	switch b = b[min(length, len(b)):]; {
	case proto == ipprotoTCP && len(b) > 12:
		length += int(b[12]>>4) * 4
	case proto == ipprotoUDP:
		length += udpHeader
	}
	if int64(length)+int64(size) > mtu {
		return uapi.CheckMTURetSegsTooBig
	}
	return uapi.CheckMTURetSuccess
}

// insert and remove resize the packet after its link header.
func (s *skb) insert(off, n int) uapi.Errno { return s.p.Resize(off, n) }

func (s *skb) remove(off, n int) uapi.Errno {
	if off+n > s.p.Len() {
		return uapi.ENOMEM
	}
	return s.p.Resize(off, -n)
}

// skbChangeProto makes room for the longer header of IPv6, or removes it again; the program writes
// the header (bpf_skb_change_proto).
func skbChangeProto(c *Call, s *skb) (uint64, *vm.Action) {
	if c.Args[2] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	const diff = ipv6Header - ipv4Header
	from, to := s.protocol(), swap16(s.e.guest.Order(), uint16(c.Args[1]))
	off := s.st.net - s.st.mac
	var errno uapi.Errno
	switch {
	case from == protoIPv4 && to == protoIPv6:
		errno = s.insert(off, diff)
	case from == protoIPv6 && to == protoIPv4:
		errno = s.remove(off, diff)
	default:
		errno = uapi.ENOTSUPP
	}
	if errno == 0 {
		s.setProtocol(to)
		s.clearHash()
	}
	return errnoRet(errno), nil
}

// Flags of bpf_skb_adjust_room by purpose.
const (
	roomEncapL3 = uapi.AdjRoomEncapL3IPv4 | uapi.AdjRoomEncapL3IPv6
	roomEncapL4 = uapi.AdjRoomEncapL4GRE | uapi.AdjRoomEncapL4UDP
	roomDecapL3 = uapi.AdjRoomDecapL3IPv4 | uapi.AdjRoomDecapL3IPv6
	roomDecap   = roomDecapL3 | uapi.AdjRoomDecapL4GRE | uapi.AdjRoomDecapL4UDP | uapi.AdjRoomDecapIPXIP4 | uapi.AdjRoomDecapIPXIP6
	roomL2Len   = uint64(uapi.AdjRoomEncapL2Mask) << uapi.AdjRoomEncapL2Shift
)

// roomFlags returns the flags that a kernel version knows.
func (e *Env) roomFlags() uint64 {
	known := uint64(uapi.AdjRoomFixedGSO|roomEncapL3|roomEncapL4|uapi.AdjRoomNoCsumReset) | roomL2Len
	if e.has(since.EncapL2Eth) {
		known |= uapi.AdjRoomEncapL2Eth
	}
	if e.has(since.DecapL3) {
		known |= roomDecapL3
	}
	if e.has(since.DecapTunnel) {
		known |= roomDecap
	}
	return known
}

func netHeaderLen(proto uint16) int {
	if proto == protoIPv6 {
		return ipv6Header
	}
	return ipv4Header
}

// skbAdjustRoom inserts or removes bytes after the link or the network header
// (bpf_skb_adjust_room).
func skbAdjustRoom(c *Call, s *skb) (uint64, *vm.Action) {
	return errnoRet(s.adjustRoom(int(int32(uint32(c.Args[1]))), uint32(c.Args[2]), c.Args[3])), nil
}

func (s *skb) adjustRoom(diff int, mode uint32, flags uint64) uapi.Errno {
	const most = 0xfff
	proto := s.protocol()
	switch {
	case flags&^s.e.roomFlags() != 0:
		return uapi.EINVAL
	case diff > most || diff < -most:
		return uapi.EFAULT
	case proto != protoIPv4 && proto != protoIPv6:
		return uapi.ENOTSUPP
	}
	off, least := s.st.net-s.st.mac, netHeaderLen(proto)
	switch mode {
	case uapi.AdjRoomNet:
		off += least
	case uapi.AdjRoomMac:
	default:
		return uapi.ENOTSUPP
	}
	if flags&roomDecapL3 != 0 {
		if diff >= 0 {
			return uapi.EINVAL
		}
		switch flags & roomDecapL3 {
		case uapi.AdjRoomDecapL3IPv4:
			least = ipv4Header
		case uapi.AdjRoomDecapL3IPv6:
			least = ipv6Header
		default:
			return uapi.EINVAL
		}
	}
	length := s.p.Len() - s.st.net
	if diff < 0 && (-diff >= length || length+diff < least) || diff >= 0 && s.p.Len()+diff > maxSkbLen {
		return uapi.ENOTSUPP
	}
	var errno uapi.Errno
	if diff < 0 {
		errno = s.shrink(off, -diff, flags)
	} else {
		errno = s.grow(off, diff, flags)
	}
	if errno == 0 && flags&uapi.AdjRoomNoCsumReset == 0 {
		s.resetChecksum()
	}
	return errno
}

// grow mirrors bpf_skb_net_grow.
func (s *skb) grow(off, n int, flags uint64) uapi.Errno {
	if s.gso() { // allowed for TCP, and for UDP with segments of a fixed size
		return uapi.ENOTSUPP
	}
	encap := flags&roomEncapL3 != 0
	if encap {
		inner := int(flags >> uapi.AdjRoomEncapL2Shift)
		switch {
		case flags&roomEncapL3 == roomEncapL3, flags&roomEncapL4 == roomEncapL4:
			return uapi.EINVAL
		case flags&uapi.AdjRoomEncapL2Eth != 0 && inner < ethHeader:
			return uapi.EINVAL
		case s.st.encap:
			return uapi.EALREADY
		case inner > n:
			return uapi.EINVAL
		}
	}
	if errno := s.insert(off, n); errno != 0 {
		return errno
	}
	if encap {
		s.st.encap = true
		s.matchProtocol(flags&uapi.AdjRoomEncapL3IPv4 != 0, flags&uapi.AdjRoomEncapL3IPv6 != 0)
	}
	return 0
}

// shrink mirrors bpf_skb_net_shrink.
func (s *skb) shrink(off, n int, flags uint64) uapi.Errno {
	if flags&^uint64(roomDecap|uapi.AdjRoomFixedGSO|uapi.AdjRoomNoCsumReset) != 0 {
		return uapi.EINVAL
	}
	if s.gso() {
		return uapi.ENOTSUPP
	}
	if errno := s.remove(off, n); errno != 0 {
		return errno
	}
	s.matchProtocol(flags&uapi.AdjRoomDecapL3IPv4 != 0, flags&uapi.AdjRoomDecapL3IPv6 != 0)
	return 0
}

// matchProtocol sets skb->protocol to that of the new outer header.
func (s *skb) matchProtocol(v4, v6 bool) {
	switch {
	case v6 && s.protocol() == protoIPv4:
		s.setProtocol(protoIPv6)
	case v4 && s.protocol() == protoIPv6:
		s.setProtocol(protoIPv4)
	}
}

func isVLAN(p uint16) bool { return p == protoVLAN || p == protoQinQ }

// vlan returns the packet's out-of-band tag, where network cards store it.
func (s *skb) vlan() (proto, tci uint16, ok bool) {
	p, _ := s.c.Field("vlan_proto")
	v, _ := s.c.Field("vlan_tci")
	present, _ := s.c.Field("vlan_present")
	return swap16(s.e.guest.Order(), uint16(p)), uint16(v), present != 0
}

func (s *skb) setVLAN(proto, tci uint16, present bool) {
	v := uint64(0)
	if present {
		v = 1
	}
	s.c.SetField("vlan_proto", uint64(swap16(s.e.guest.Order(), proto)))
	s.c.SetField("vlan_tci", uint64(tci))
	s.c.SetField("vlan_present", v)
}

// skbVlanPush stores a tag out of band; an existing one moves into the packet's bytes
// (skb_vlan_push).
func skbVlanPush(c *Call, s *skb) (uint64, *vm.Action) {
	proto := swap16(s.e.guest.Order(), uint16(c.Args[1]))
	if !isVLAN(proto) {
		proto = protoVLAN
	}
	if was, tci, ok := s.vlan(); ok {
		const macs = ethHeader - 2
		if errno := s.insert(macs, vlanHeader); errno != 0 {
			return errnoRet(errno), nil
		}
		b := s.p.Bytes()
		putBE16(b[macs:], was)
		putBE16(b[macs+2:], tci)
		s.changed(macs, vlanHeader)
		s.setProtocol(was)
	}
	s.setVLAN(proto, uint16(c.Args[2]), true)
	return 0, nil
}

// skbVlanPop removes the outermost tag; the next one in the packet's bytes replaces it
// (skb_vlan_pop).
func skbVlanPop(c *Call, s *skb) (uint64, *vm.Action) {
	if _, _, ok := s.vlan(); ok {
		s.setVLAN(0, 0, false)
	} else {
		if !isVLAN(s.protocol()) {
			return 0, nil
		}
		if _, errno := s.untag(); errno != 0 {
			return errnoRet(errno), nil
		}
	}
	proto := s.protocol()
	if !isVLAN(proto) {
		return 0, nil
	}
	tci, errno := s.untag()
	if errno == 0 {
		s.setVLAN(proto, tci, true)
	}
	return errnoRet(errno), nil
}

// untag removes the tag from the packet's bytes (__skb_vlan_pop).
func (s *skb) untag() (uint16, uapi.Errno) {
	const macs = ethHeader - 2
	if !s.writable(ethHeader + vlanHeader) {
		return 0, uapi.ENOMEM
	}
	b := s.p.Bytes()
	tci, inner := be16(b[ethHeader:]), be16(b[ethHeader+2:])
	if inner < first8023 {
		inner = proto8022
		if len(b) >= ethHeader+vlanHeader+2 && be16(b[ethHeader+vlanHeader:]) == 0xffff {
			inner = proto8023
		}
	}
	if errno := s.remove(macs, vlanHeader); errno != 0 {
		return 0, errno
	}
	s.setProtocol(inner)
	s.st.net = max(s.st.net-vlanHeader, ethHeader)
	return tci, 0
}
