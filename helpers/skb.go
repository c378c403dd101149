package helpers

import (
	"encoding/binary"

	"github.com/bpfrun/bpfrun/internal/kernel/hook"
	knet "github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

var skbHelpers = []row{
	{ID: uapi.FuncSkbLoadBytes, Do: onSkb(skbLoadBytes)},
	{ID: uapi.FuncSkbLoadBytesRelative, Do: onSkb(skbLoadBytesRelative)},
	{ID: uapi.FuncSkbStoreBytes, Do: onSkb(skbStoreBytes)},
	{ID: uapi.FuncSkbPullData, Do: onSkb(skbPullData)},
	{ID: uapi.FuncSkbChangeType, Do: onSkb(skbChangeType)},
	{ID: uapi.FuncGetHashRecalc, Do: onSkb(getHashRecalc), Note: "a hash of addresses and ports that depends on the seed"},
	{ID: uapi.FuncSetHash, Do: onSkb(setHash)},
	{ID: uapi.FuncSetHashInvalid, Do: onSkb(setHashInvalid)},
	{ID: uapi.FuncSkbSetTstamp, Do: onSkb(skbSetTstamp)},
	{ID: uapi.FuncSkbEcnSetCe, Do: onSkb(skbEcnSetCE)},
}

// Protocol numbers as in the Ethernet header.
const (
	ethHeader   = 14
	vlanHeader  = 4
	protoIPv4   = 0x0800
	protoIPv6   = 0x86dd
	protoVLAN   = 0x8100
	protoQinQ   = 0x88a8
	proto8023   = 0x0001
	proto8022   = 0x0004
	first8023   = 0x0600 // smaller numbers are lengths
	ipv4Header  = 20
	ipv6Header  = 40
	maxPktType  = 3 // PACKET_OTHERHOST: the largest type programs may set
	maxSkbLen   = 4*4096 - 320
	maxOffset16 = 0xffff
)

// skbState is the kernel's state of a sk_buff besides its bytes and the fields of __sk_buff.
type skbState struct {
	started    bool
	net        int // offset of the network header from the packet's data
	mac        int // offset of the link header
	summed     hook.Summed
	level      uint8  // valid checksums less one, when summed is checksumUnnecessary
	csum       uint32 // skb->csum: the card's sum from the network header on, if summed is checksumComplete
	summedLen  int    // the packet's length then
	hashed     bool   // hash is set and valid
	encap      bool   // skb->encapsulation
	tunnel     *tunnelKey
	tunnelOpts []byte
	xfrm       *hook.Xfrm // instead of a tunnel
	srh        srhState
}

// skb is the packet of the running program.
type skb struct {
	e  *Env
	c  *hook.Context
	p  *knet.Packet
	st *skbState
}

// skbAt returns the packet behind a __sk_buff.
func (call *Call) skbAt(addr uint64) (*skb, *vm.Action) {
	e := call.Env
	c, f := e.packetOf(addr)
	if f != nil {
		return nil, f
	}
	s := &skb{e: e, c: c, p: c.Packet, st: &e.Run.skb}
	if !s.st.started {
		*s.st = skbState{started: true}
		if k := c.Tunnel(); k != nil {
			s.st.tunnel, s.st.tunnelOpts = arrivedBy(e.guest.Order(), k), k.Options
		} else {
			s.st.xfrm = c.Xfrm()
		}
		if len(c.LinkHeader()) == 0 {
			s.st.net = min(ethHeader, s.p.Len())
		} else {
			s.st.mac = -ethHeader
		}
		s.st.summed, s.st.summedLen = c.Summed(), s.p.Len()
		if s.st.summed == hook.SummedComplete {
			all := c.Came()
			s.st.csum, s.st.summedLen = csumPartial(all[min(s.st.net, len(all)):], 0), len(all)
		}
	}
	return s, nil
}

// protocol is skb->protocol as a number.
func (s *skb) protocol() uint16 {
	v, _ := s.c.Field("protocol")
	return swap16(s.e.guest.Order(), uint16(v))
}

func (s *skb) setProtocol(p uint16) { s.c.SetField("protocol", uint64(swap16(s.e.guest.Order(), p))) }

// swap16 converts between network byte order and the target's.
func swap16(order binary.ByteOrder, v uint16) uint16 {
	var b [2]byte
	b[0], b[1] = byte(v>>8), byte(v)
	return order.Uint16(b[:])
}

// writable mirrors bpf_try_make_writable: the first n bytes must exist, and become linear and
// unshared.
func (s *skb) writable(n uint64) bool { return n <= uint64(s.p.Len()) && s.p.Pull(int(n)) == 0 }

// changed notifies the memory that packet bytes were changed directly.
func (s *skb) changed(off, n int) { s.e.Mem.NoteWrite(s.p.Data()+uint64(off), uint64(n)) }

func (s *skb) clearHash() {
	s.st.hashed = false
	s.c.SetField("hash", 0)
}

func skbLoadBytes(c *Call, s *skb) (uint64, *vm.Action) {
	off, n := c.Args[1]&0xffffffff, c.Args[3]&0xffffffff
	if off+n > uint64(s.p.Len()) || s.c.NoSkb() {
		return c.zeroed(2, uapi.EFAULT)
	}
	b := make([]byte, n)
	s.p.ReadAt(b, int(off))
	return 0, c.guest.Write(c.Args[2], b)
}

// skbLoadBytesRelative takes offsets from the link or the network header, for most program types
// the start of the packet anyway (bpf_skb_load_bytes_relative).
func skbLoadBytesRelative(c *Call, s *skb) (uint64, *vm.Action) {
	off, n := int64(c.Args[1]&0xffffffff), c.Args[3]&0xffffffff
	start := s.st.mac
	switch uint32(c.Args[4]) {
	case uapi.HdrStartMac:
	case uapi.HdrStartNet:
		start = s.st.net
	default:
		return c.zeroed(2, uapi.EFAULT)
	}
	// The link header precedes the packet's data.
	lead := s.c.LinkHeader()
	from := int64(start) + off
	if off > maxOffset16 || from+int64(n) > int64(s.p.Len()) {
		return c.zeroed(2, uapi.EFAULT)
	}
	all := append(append([]byte(nil), lead...), s.p.Whole()...)
	from += int64(len(lead))
	if from < 0 {
		return c.zeroed(2, uapi.EFAULT)
	}
	return 0, c.guest.Write(c.Args[2], all[from:from+int64(n)])
}

func skbStoreBytes(c *Call, s *skb) (uint64, *vm.Action) {
	return s.storeBytes(c.Args[1]&0xffffffff, c.In(2), c.Args[4])
}

func (s *skb) storeBytes(off uint64, data []byte, flags uint64) (uint64, *vm.Action) {
	switch {
	case flags&^uint64(uapi.SkbStoreRecomputeCsum|uapi.SkbStoreInvalidateHash) != 0:
		return errnoRet(uapi.EINVAL), nil
	case off > 1<<31-1 || !s.writable(off+uint64(len(data))):
		return errnoRet(uapi.EFAULT), nil
	}
	at := s.p.Bytes()[off:][:len(data)]
	before := csumPartial(at, 0)
	copy(at, data)
	s.changed(int(off), len(data))
	if flags&uapi.SkbStoreRecomputeCsum != 0 && s.st.summed == hook.SummedComplete {
		s.st.csum = csumAdd(csumAdd(s.st.csum, ^shiftSum(before, off)), shiftSum(csumPartial(data, 0), off))
	}
	if flags&uapi.SkbStoreInvalidateHash != 0 {
		s.clearHash()
	}
	return 0, nil
}

func skbPullData(c *Call, s *skb) (uint64, *vm.Action) {
	n := c.Args[1] & 0xffffffff
	if n == 0 {
		n = uint64(s.p.Linear())
	}
	if !s.writable(n) {
		return errnoRet(uapi.ENOMEM), nil
	}
	return 0, nil
}

// skbChangeType changes pkt_type between the values for packets to different recipients.
func skbChangeType(c *Call, s *skb) (uint64, *vm.Action) {
	if was, _ := s.c.Field("pkt_type"); was > maxPktType || uint32(c.Args[1]) > maxPktType {
		return errnoRet(uapi.EINVAL), nil
	}
	s.c.SetField("pkt_type", c.Args[1]&0xffffffff)
	return 0, nil
}

// getHashRecalc implements skb_get_hash: a hash that was set is kept.
func getHashRecalc(c *Call, s *skb) (uint64, *vm.Action) {
	if !s.st.hashed {
		s.c.SetField("hash", uint64(s.e.Kernel.FlowHash(s.p.Bytes()[max(0, min(s.st.net, s.p.Linear())):])))
		s.st.hashed = true
	}
	h, _ := s.c.Field("hash")
	return h, nil
}

func setHash(c *Call, s *skb) (uint64, *vm.Action) {
	s.c.SetField("hash", c.Args[1]&0xffffffff)
	s.st.hashed = true
	return 0, nil
}

func setHashInvalid(c *Call, s *skb) (uint64, *vm.Action) {
	s.clearHash()
	return 0, nil
}

// skbSetTstamp implements bpf_skb_set_tstamp. From 6.11 on the types are clocks: 0 real, 1
// monotonic, 2 TAI; before that, 0 means "unspecified" and allows no time.
func skbSetTstamp(c *Call, s *skb) (uint64, *vm.Action) {
	if p := s.protocol(); p != protoIPv4 && p != protoIPv6 {
		return errnoRet(uapi.EOPNOTSUPP), nil
	}
	clocks := s.e.has(since.TstampClocks)
	typ := uint32(c.Args[2])
	switch {
	case typ == uapi.SkbTstampUnspec && (clocks || c.Args[1] == 0):
	case typ == uapi.SkbTstampDeliveryMono && c.Args[1] != 0:
	case typ == 2 && clocks && c.Args[1] != 0:
	default:
		return errnoRet(uapi.EINVAL), nil
	}
	s.c.SetField("tstamp", c.Args[1])
	s.c.SetField("tstamp_type", uint64(typ))
	return 0, nil
}

// skbEcnSetCE marks congestion if the sender supports ECN (bpf_skb_ecn_set_ce); 1 means that the
// packet now has the mark.
func skbEcnSetCE(c *Call, s *skb) (uint64, *vm.Action) {
	s.p.Pull(min(s.st.net+ipv6Header, s.p.Len()))
	ip := s.p.Bytes()[min(s.st.net, s.p.Linear()):]
	switch s.protocol() {
	case protoIPv4:
		if len(ip) < ipv4Header {
			return 0, nil
		}
		ecn := ip[1] & 3
		if ecn == 0 || ecn == 3 {
			return uint64(ecn & 1), nil
		}
		// RFC 1624: the sum follows the change of the field.
		from := uint16(ip[0])<<8 | uint16(ip[1])
		ip[1] |= 3
		putBE16(ip[10:], ^onesAdd(onesAdd(^be16(ip[10:]), ^from), uint16(ip[0])<<8|uint16(ip[1])))
		s.changed(s.st.net, ipv4Header)
		return 1, nil
	case protoIPv6:
		if len(ip) < ipv6Header {
			return 0, nil
		}
		ecn := ip[1] >> 4 & 3
		if ecn == 0 || ecn == 3 {
			return uint64(ecn & 1), nil
		}
		ip[1] |= 3 << 4
		s.changed(s.st.net, ipv4Header)
		return 1, nil
	}
	return 0, nil
}

func be16(b []byte) uint16       { return uint16(b[0])<<8 | uint16(b[1]) }
func putBE16(b []byte, v uint16) { b[0], b[1] = byte(v>>8), byte(v) }

// onesAdd adds with end-around carry.
func onesAdd(a, b uint16) uint16 {
	s := uint32(a) + uint32(b)
	return uint16(s) + uint16(s>>16)
}
