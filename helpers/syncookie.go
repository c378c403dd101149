package helpers

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var syncookieHelpers = []row{
	{ID: uapi.FuncTcpRawGenSyncookieIpv4, Do: rawGenCookie(cookieV4), Note: "cookies come from the seed"},
	{ID: uapi.FuncTcpRawGenSyncookieIpv6, Do: rawGenCookie(cookieV6), Note: "cookies come from the seed"},
	{ID: uapi.FuncTcpRawCheckSyncookieIpv4, Do: rawCheckCookie(cookieV4), Note: "cookies come from the seed"},
	{ID: uapi.FuncTcpRawCheckSyncookieIpv6, Do: rawCheckCookie(cookieV6), Note: "cookies come from the seed"},
	{ID: uapi.FuncTcpGenSyncookie, Do: onSocket(genCookie), Note: "no listener is flooded: -ENOENT"},
	{ID: uapi.FuncTcpCheckSyncookie, Do: onSocket(checkCookie), Note: "no listener was flooded: -ENOENT"},
}

// cookieKind holds the differences between SYN cookies for IPv4 and IPv6.
type cookieKind struct {
	from, to, addr int // offsets of the addresses in the IP header, and their size
	mss            [4]uint16
	standard       uint16 // the MSS of a segment without the option
}

// The kernel's tables (net/ipv4/syncookies.c and net/ipv6/syncookies.c msstab).
var (
	cookieV4 = &cookieKind{from: 12, to: 16, addr: 4, mss: [4]uint16{536, 1300, 1440, 1460}, standard: 536}
	cookieV6 = &cookieKind{from: 8, to: 24, addr: 16, mss: [4]uint16{1220, 1420, 1440, 8940}, standard: 1220}
)

const (
	tcpHeader     = 20
	cookieBits    = 24 // of the second hash; those above count minutes
	maxCookieAge  = 2  // minutes
	minutesPeriod = 60e9
)

// hash replaces the kernel's siphash, with a separate secret for each of the two layers of a
// cookie.
func (k *cookieKind) hash(c *Call, ip, tcp []byte, count uint32, layer int) uint32 {
	h := fnv.New64a()
	var b [12]byte
	binary.LittleEndian.PutUint64(b[:], c.Kernel.Counter("syncookie_secret", layer))
	binary.LittleEndian.PutUint32(b[8:], count)
	h.Write(b[:])
	h.Write(ip[k.from : k.from+k.addr])
	h.Write(ip[k.to : k.to+k.addr])
	h.Write(tcp[:4])
	sum := h.Sum64()
	return uint32(sum ^ sum>>32)
}

// minutes is tcp_cookie_time.
func (c *Call) minutes() uint32 { return uint32(c.Kernel.Clock().Mono() / minutesPeriod) }

// make returns a cookie and the MSS it encodes, the largest in the table that fits
// (__cookie_v4_init_sequence).
func (k *cookieKind) make(c *Call, ip, tcp []byte) (cookie uint32, mss uint16) {
	want := mssOption(tcp)
	if want == 0 {
		want = k.standard
	}
	i := len(k.mss) - 1
	for i > 0 && want < k.mss[i] {
		i--
	}
	count := c.minutes()
	cookie = k.hash(c, ip, tcp, 0, 0) + binary.BigEndian.Uint32(tcp[4:]) + count<<cookieBits +
		(k.hash(c, ip, tcp, count, 1)+uint32(i))&(1<<cookieBits-1)
	return cookie, k.mss[i]
}

// valid reports whether a segment acknowledges a cookie from the last minutes (__cookie_v4_check).
func (k *cookieKind) valid(c *Call, ip, tcp []byte) bool {
	cookie := binary.BigEndian.Uint32(tcp[8:]) - 1 - k.hash(c, ip, tcp, 0, 0) - (binary.BigEndian.Uint32(tcp[4:]) - 1)
	count := c.minutes()
	age := (count - cookie>>cookieBits) & (1<<(32-cookieBits) - 1)
	if age >= maxCookieAge {
		return false
	}
	return (cookie-k.hash(c, ip, tcp, count-age, 1))&(1<<cookieBits-1) < uint32(len(k.mss))
}

// mssOption returns the maximum segment size in a TCP header, 0 for none (tcp_parse_mss_option).
func mssOption(tcp []byte) uint16 {
	const end, nop, maxSegment = 0, 1, 2
	mss := uint16(0)
	for o := tcp[tcpHeader:]; len(o) > 0; {
		switch {
		case o[0] == end:
			return mss
		case o[0] == nop:
			o = o[1:]
			continue
		case len(o) < 2 || o[1] < 2 || int(o[1]) > len(o):
			return mss
		case o[0] == maxSegment && o[1] == 4 && be16(o[2:]) != 0:
			mss = be16(o[2:])
		}
		o = o[o[1]:]
	}
	return mss
}

// wholeHeader reports whether the bytes are exactly a TCP header with its options.
func wholeHeader(tcp []byte) bool { return len(tcp) >= tcpHeader && len(tcp) == int(tcp[12]>>4)*4 }

func rawGenCookie(k *cookieKind) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		ip, tcp := c.In(0), c.In(1)
		if !wholeHeader(tcp) {
			return errnoRet(uapi.EINVAL), nil
		}
		cookie, mss := k.make(c, ip, tcp)
		return uint64(cookie) | uint64(mss)<<32, nil
	}
}

func rawCheckCookie(k *cookieKind) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		if !k.valid(c, c.In(0), c.In(1)) {
			return errnoRet(uapi.EACCES), nil
		}
		return 0, nil
	}
}

// Flags of a TCP header.
const (
	tcpFIN = 1 << iota
	tcpSYN
	tcpRST
	_
	tcpACK
)

const stateListen = 10 // TCP_LISTEN

// genCookie implements bpf_tcp_gen_syncookie: a listener creates cookies while its queue is full.
func genCookie(c *Call, s *net.Socket) (uint64, *vm.Action) {
	ip, tcp := c.In(1), c.In(3)
	switch {
	case !wholeHeader(tcp), s.Protocol() != ipprotoTCP, s.State() != stateListen,
		tcp[13]&(tcpSYN|tcpACK|tcpFIN|tcpRST) != tcpSYN:
		return errnoRet(uapi.EINVAL), nil
	}
	if errno := cookieFamily(s, ip); errno != 0 {
		return errnoRet(errno), nil
	}
	return errnoRet(uapi.ENOENT), nil
}

// checkCookie implements bpf_tcp_check_syncookie: cookies are valid only after a listener's queue
// was full.
func checkCookie(c *Call, s *net.Socket) (uint64, *vm.Action) {
	ip, tcp := c.In(1), c.In(3)
	switch {
	case len(tcp) < tcpHeader, s.Protocol() != ipprotoTCP, s.State() != stateListen:
		return errnoRet(uapi.EINVAL), nil
	case tcp[13]&(tcpACK|tcpRST|tcpSYN) != tcpACK:
		return errnoRet(uapi.ENOENT), nil
	case len(ip) < cookieV4.to+cookieV4.addr:
		return errnoRet(uapi.EINVAL), nil
	}
	return errnoRet(uapi.ENOENT), nil
}

// cookieFamily checks whether a listener accepts segments with that IP header.
func cookieFamily(s *net.Socket, ip []byte) uapi.Errno {
	switch {
	case len(ip) < cookieV4.to+cookieV4.addr:
		return uapi.EINVAL
	case ip[0]>>4 == 4:
		if s.Family() == afInet6 && s.IPv6Only() {
			return uapi.EINVAL
		}
	case ip[0]>>4 != 6:
		return uapi.EPROTONOSUPPORT
	case len(ip) < cookieV6.to+cookieV6.addr || s.Family() != afInet6:
		return uapi.EINVAL
	}
	return 0
}
