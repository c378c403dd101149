package helpers

import (
	"encoding/binary"
	"net/netip"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Helpers of lightweight tunnels: headers before a packet, and segment routing (net/core/filter.c,
// net/core/lwt_bpf.c, net/ipv6/seg6*.c).
var lwtHelpers = []row{
	{ID: uapi.FuncLwtPushEncap, Do: onSkb(lwtPushEncap), Note: "routes are the scenario's: without one to the new destination, segment routing returns -ENETUNREACH"},
	{ID: uapi.FuncLwtSeg6StoreBytes, Do: onSkb(seg6StoreBytes)},
	{ID: uapi.FuncLwtSeg6AdjustSrh, Do: onSkb(seg6AdjustSRH)},
	{ID: uapi.FuncLwtSeg6Action, Do: onSkb(seg6Action), Note: "routes are the scenario's: without one, -ENETUNREACH"},
}

// Kinds of bpf_lwt_push_encap (enum bpf_lwt_encap_mode).
const (
	encapSeg6 = iota
	encapSeg6Inline
	encapIP
)

const mostEncap = 256 // LWT_BPF_MAX_HEADROOM

// Next headers of IPv6.
const (
	nextHop      = 0
	nextIPv6     = 41
	nextRouting  = 43
	nextFragment = 44
	nextAuth     = 51
	nextDest     = 60
)

// Offsets in struct ipv6_sr_hdr, and of TLVs in bytes after it.
const (
	srhNext, srhLen, srhType, srhLeft, srhFirst, srhFlags, srhSegments = 0, 1, 2, 3, 4, 5, 8

	srhType4 = 4
	srhHMAC  = 1 << 3
	segment  = 16
)

// srhState is struct seg6_bpf_srh_state: where the packet's segment routing header is, its length
// after the first eight bytes, and whether a program has changed it since it was checked.
type srhState struct {
	started, found, valid bool
	off, length           int
}

// findHeader implements ipv6_find_hdr: the offset of a header of the packet.
func findHeader(b []byte, target byte) (off int, ok bool) {
	if len(b) < ipv6Header {
		return 0, false
	}
	next, off := b[6], ipv6Header
	for next != target {
		if off+2 > len(b) {
			return 0, false
		}
		n := (int(b[off+1]) + 1) * 8
		switch next {
		case nextHop, nextRouting, nextDest:
		case nextAuth:
			n = (int(b[off+1]) + 2) * 4
		case nextFragment:
			if n = 8; off+n > len(b) || binary.BigEndian.Uint16(b[off+2:])&^7 != 0 {
				return 0, false
			}
		default:
			return 0, false
		}
		next, off = b[off], off+n
	}
	return off, off < len(b)
}

// srh returns the state of the packet's segment routing header.
func (s *skb) srh() *srhState {
	if !s.st.srh.started {
		s.updateSRH()
	}
	return &s.st.srh
}

func (s *skb) updateSRH() {
	b := s.p.Whole()
	off, ok := findHeader(b, nextRouting)
	s.st.srh = srhState{started: true}
	if ok && off+srhSegments <= len(b) {
		s.st.srh = srhState{started: true, found: true, valid: true, off: off, length: int(b[off+srhLen]) * 8}
	}
}

// validSRH implements seg6_bpf_has_valid_srh.
func (s *skb) validSRH() bool {
	st := s.srh()
	switch {
	case !st.found:
		return false
	case st.valid:
		return true
	case st.length%8 != 0 || st.off+srhSegments+st.length > s.p.Len():
		return false
	}
	s.p.WriteAt([]byte{byte(st.length / 8)}, st.off+srhLen)
	b := make([]byte, srhSegments+st.length)
	s.p.ReadAt(b, st.off)
	st.valid = checkSRH(b, true)
	return st.valid
}

// checkSRH implements seg6_validate_srh.
func checkSRH(h []byte, reduced bool) bool {
	if len(h) < srhSegments || h[srhType] != srhType4 || (int(h[srhLen])+1)*8 != len(h) {
		return false
	}
	left, first := int(h[srhLeft]), int(h[srhFirst])
	if reduced || left <= first {
		if first > int(h[srhLen])/2-1 || left > first+1 {
			return false
		}
	} else {
		return false
	}
	at := srhSegments + (first+1)*segment
	for at < len(h) {
		if len(h)-at < 2 {
			return false
		}
		at += 2 + int(h[at+1])
	}
	return at == len(h)
}

func seg6StoreBytes(c *Call, s *skb) (uint64, *vm.Action) {
	st := s.srh()
	if !st.found {
		return errnoRet(uapi.EINVAL), nil
	}
	off, data := int(uint32(c.Args[1])&(1<<30-1)), c.In(2)
	// The kernel's first limit for TLVs leaves out the fixed part of the header.
	tlvs, end := st.off+(s.first(st)+1)*segment, st.off+srhSegments+st.length
	switch {
	case off >= tlvs && off+len(data) <= end:
		st.valid = false
	case off < st.off+srhFlags || off+len(data) > st.off+srhSegments:
		return errnoRet(uapi.EFAULT), nil
	}
	if !s.writable(uint64(off + len(data))) {
		return errnoRet(uapi.EFAULT), nil
	}
	s.p.WriteAt(data, off)
	return 0, nil
}

// first returns first_segment of the header.
func (s *skb) first(st *srhState) int {
	var b [1]byte
	s.p.ReadAt(b[:], st.off+srhFirst)
	return int(b[0])
}

func seg6AdjustSRH(c *Call, s *skb) (uint64, *vm.Action) {
	st := s.srh()
	if !st.found {
		return errnoRet(uapi.EINVAL), nil
	}
	off, n := int(uint32(c.Args[1])&(1<<30-1)), int(int32(uint32(c.Args[2])))
	tlvs, end := st.off+srhSegments+(s.first(st)+1)*segment, st.off+srhSegments+st.length
	if off < tlvs || off > end || n < 0 && off-n > end {
		return errnoRet(uapi.EFAULT), nil
	}
	errno := uapi.Errno(0)
	if n > 0 {
		errno = s.insert(off, n)
	} else {
		errno = s.remove(off, -n)
	}
	if errno != 0 {
		return errnoRet(errno), nil
	}
	s.setPayload()
	was := st.length
	s.updateSRH()
	if !st.found {
		return errnoRet(uapi.EINVAL), nil
	}
	st.length, st.valid = was+n, false
	return 0, nil
}

// setPayload sets payload_len of the IPv6 header.
func (s *skb) setPayload() {
	s.p.WriteAt(binary.BigEndian.AppendUint16(nil, uint16(s.p.Len()-ipv6Header)), 4)
}

// Actions of bpf_lwt_seg6_action (include/uapi/linux/seg6_local.h).
const (
	actionEndX, actionEndT, actionEndDT6, actionEndB6, actionEndB6Encap = 2, 3, 7, 9, 10
)

func seg6Action(c *Call, s *skb) (uint64, *vm.Action) {
	param := c.In(2)
	switch action := uint32(c.Args[1]); action {
	case actionEndX, actionEndT, actionEndDT6:
		want := 4
		if action == actionEndX {
			want = segment
		}
		if !s.validSRH() {
			return errnoRet(uapi.EBADMSG), nil
		}
		if len(param) != want {
			return errnoRet(uapi.EINVAL), nil
		}
		if action == actionEndX {
			return errnoRet(nexthop(c, netip.AddrFrom16([16]byte(param)), 0)), nil
		}
		if action == actionEndDT6 {
			off, ok := findHeader(s.p.Whole(), nextIPv6)
			if !ok || s.p.Resize(0, -off) != 0 {
				return errnoRet(uapi.EBADMSG), nil
			}
			s.st.encap = false
			s.updateSRH()
		}
		return errnoRet(nexthop(c, s.destination(), c.guest.Order().Uint32(param))), nil
	case actionEndB6, actionEndB6Encap:
		if s.srh().found && !s.validSRH() {
			return errnoRet(uapi.EBADMSG), nil
		}
		ret, f := c.pushSegments(s, action == actionEndB6, param)
		if ret == 0 && f == nil {
			s.updateSRH()
		}
		return ret, f
	}
	return errnoRet(uapi.EINVAL), nil
}

// destination returns the destination of the IPv6 header.
func (s *skb) destination() netip.Addr {
	var b [segment]byte
	if s.p.Len() >= ipv6Header {
		s.p.ReadAt(b[:], 24)
	}
	return netip.AddrFrom16(b)
}

// nexthop implements seg6_lookup_nexthop: the error of the route to an address.
func nexthop(c *Call, to netip.Addr, table uint32) uapi.Errno {
	r, ok := c.Kernel.Route(to, table)
	switch {
	case !ok:
		return uapi.ENETUNREACH
	case r.Type == net.RouteBlackhole:
		return uapi.EINVAL
	case r.Type == net.RouteUnreachable:
		return uapi.EHOSTUNREACH
	case r.Type == net.RouteProhibit:
		return uapi.EACCES
	}
	return 0
}

func lwtPushEncap(c *Call, s *skb) (uint64, *vm.Action) {
	kind, hdr := uint32(c.Args[1]), append([]byte(nil), c.In(2)...)
	transmit := c.Run.ProgType == uapi.ProgTypeLwtXmit
	switch {
	case kind == encapIP:
		return c.pushIP(s, hdr)
	case !transmit && (kind == encapSeg6 || kind == encapSeg6Inline):
		return c.pushSegments(s, kind == encapSeg6Inline, hdr)
	}
	return errnoRet(uapi.EINVAL), nil
}

// pushIP implements bpf_lwt_push_ip_encap.
func (c *Call) pushIP(s *skb, hdr []byte) (uint64, *vm.Action) {
	const udp, proto4, next6, check4 = 8, 9, 6, 10
	if len(hdr) < ipv4Header || len(hdr) > mostEncap {
		return errnoRet(uapi.EINVAL), nil
	}
	protocol, size, next := uint16(protoIPv4), int(hdr[0]&15)*4, hdr[proto4]
	switch hdr[0] >> 4 {
	case 4:
	case 6:
		protocol, size, next = protoIPv6, ipv6Header, hdr[next6]
	default:
		return errnoRet(uapi.EINVAL), nil
	}
	if next == ipprotoUDP {
		size += udp
	}
	if len(hdr) < size {
		return errnoRet(uapi.EINVAL), nil
	}
	if v, ok := s.c.Field("gso_size"); ok && v != 0 {
		return 0, notSimulated("bpf_lwt_push_encap for a packet that is to be segmented (gso_size)")
	}
	if errno := s.p.Resize(0, len(hdr)); errno != 0 {
		return errnoRet(errno), nil
	}
	if ihl := int(hdr[0]&15) * 4; protocol == protoIPv4 && ihl >= ipv4Header && hdr[check4] == 0 && hdr[check4+1] == 0 {
		binary.LittleEndian.PutUint16(hdr[check4:], csumFold(csumPartial(hdr[:ihl], 0)))
	}
	s.p.WriteAt(hdr, 0)
	s.st.encap = true
	s.setProtocol(protocol)
	s.clearHash()
	return 0, nil
}

// pushSegments implements bpf_push_seg6_encap: a segment routing header after the packet's IPv6
// header, or a new IPv6 header with it.
func (c *Call) pushSegments(s *skb, inline bool, srh []byte) (uint64, *vm.Action) {
	srh = append([]byte(nil), srh...)
	if !checkSRH(srh, false) {
		return errnoRet(uapi.EINVAL), nil
	}
	if srh[srhFlags]&srhHMAC != 0 {
		return 0, notSimulated("a segment routing header with an HMAC, for which there is no key")
	}
	last := srhSegments + int(srh[srhFirst])*segment
	if inline {
		if s.protocol() != protoIPv6 || s.p.Len() < ipv6Header {
			return errnoRet(uapi.EBADMSG), nil
		}
		var old [ipv6Header]byte
		s.p.ReadAt(old[:], 0)
		if errno := s.p.Resize(ipv6Header, len(srh)); errno != 0 {
			return errnoRet(errno), nil
		}
		srh[srhNext] = old[6]
		copy(srh[srhSegments:], old[24:40])
		old[6] = nextRouting
		copy(old[24:], srh[last:last+segment])
		s.p.WriteAt(append(old[:], srh...), 0)
	} else {
		outer := make([]byte, ipv6Header)
		outer[0], outer[7] = 0x60, 64
		if s.protocol() == protoIPv6 && s.p.Len() >= ipv6Header {
			s.p.ReadAt(outer[:4], 0) // class and flow label
			var hops [1]byte
			s.p.ReadAt(hops[:], 7)
			outer[0], outer[7] = 0x60|outer[0]&15, hops[0]
		}
		outer[6], srh[srhNext] = nextRouting, nextIPv6
		copy(outer[24:], srh[last:last+segment])
		if r, ok := c.Kernel.Route(netip.AddrFrom16([16]byte(outer[24:])), 0); ok && r.Source.Is6() {
			from := r.Source.As16()
			copy(outer[8:], from[:])
		}
		if errno := s.p.Resize(0, ipv6Header+len(srh)); errno != 0 {
			return errnoRet(errno), nil
		}
		s.p.WriteAt(append(outer, srh...), 0)
		s.st.encap = true
	}
	s.setPayload()
	return errnoRet(nexthop(c, s.destination(), 0)), nil
}
