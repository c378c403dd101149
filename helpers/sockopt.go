package helpers

import (
	"encoding/binary"
	"fmt"

	"github.com/bpfrun/bpfrun/internal/kernel"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var sockoptHelpers = []row{
	{ID: uapi.FuncSetsockopt, Do: onOptionSocket(setsockopt), Note: "kept with the socket, recorded as an event"},
	{ID: uapi.FuncGetsockopt, Do: onOptionSocket(getsockopt), Note: "what was set, else the kernel's default"},
}

// Levels of socket options.
const (
	solIP     = 0
	solSocket = 1
	solTCP    = 6
	solIPv6   = 41
)

// Options with special handling (asm-generic/socket.h, linux/tcp.h, linux/in.h, linux/bpf.h).
const (
	soBindToDevice     = 25
	tcpCongestion      = 13
	tcpBPFIW           = 1001
	tcpBPFCwndClamp    = 1002
	tcpBPFDelackMax    = 1003
	tcpBPFRTOMin       = 1004
	tcpBPFSyn          = 1005
	tcpBPFSynMac       = 1007
	tcpBPFCallbacks    = 1008
	allSockOpsCBs      = 0x7f
	ipTOS              = 1
	ipv6TClass         = 67
	ipv6AutoFlowlabel  = 70
	maxCongestionName  = 16
	defaultCongestion  = "cubic"
	maxSocketBuffer    = 212992 // net.core.wmem_max and rmem_max
	leastSendBuffer    = 4608
	leastReceiveBuffer = 2304
)

// intOption is an option whose value is an int.
type intOption struct {
	level, name int32
	def         int32
	low, high   int32  // values out of this range are -EINVAL
	flag        bool   // any value but 0 is 1
	number      string // the value of the socket that it is
	clamp       func(v int32) int32
}

// intOptions are the options that bpf_setsockopt allows (sol_socket_sockopt, sol_tcp_sockopt,
// sol_ip_sockopt, sol_ipv6_sockopt).
var intOptions = []intOption{
	{level: solSocket, name: 2, flag: true}, // SO_REUSEADDR
	{level: solSocket, name: 7, def: 16384, clamp: func(v int32) int32 { return bufferSize(v, leastSendBuffer) }},     // SO_SNDBUF
	{level: solSocket, name: 8, def: 131072, clamp: func(v int32) int32 { return bufferSize(v, leastReceiveBuffer) }}, // SO_RCVBUF
	{level: solSocket, name: 9, flag: true},                                                                  // SO_KEEPALIVE
	{level: solSocket, name: 12, number: "priority"},                                                         // SO_PRIORITY
	{level: solSocket, name: 15, flag: true, number: "reuseport"},                                            // SO_REUSEPORT
	{level: solSocket, name: 18, def: 1, clamp: receiveLowat},                                                // SO_RCVLOWAT
	{level: solSocket, name: 36, number: "mark"},                                                             // SO_MARK
	{level: solSocket, name: 47, def: -1},                                                                    // SO_MAX_PACING_RATE
	{level: solSocket, name: 62, low: 0, high: 1<<31 - 1, number: "bound_dev_if"},                            // SO_BINDTOIFINDEX
	{level: solSocket, name: 74, def: 1, low: -1, high: 1, clamp: func(v int32) int32 { return max(v, -v) }}, // SO_TXREHASH
	{level: solTCP, name: 1, flag: true},                                                                     // TCP_NODELAY
	{level: solTCP, name: 2, low: 0, high: 32767, clamp: func(v int32) int32 { return v }},                   // TCP_MAXSEG
	{level: solTCP, name: 4, def: 7200, low: 1, high: 32767},                                                 // TCP_KEEPIDLE
	{level: solTCP, name: 5, def: 75, low: 1, high: 32767},                                                   // TCP_KEEPINTVL
	{level: solTCP, name: 6, def: 9, low: 1, high: 127},                                                      // TCP_KEEPCNT
	{level: solTCP, name: 7, def: 6, low: 1, high: 127},                                                      // TCP_SYNCNT
	{level: solTCP, name: 10},                                                                                // TCP_WINDOW_CLAMP
	{level: solTCP, name: 16, low: 0, high: 1},                                                               // TCP_THIN_LINEAR_TIMEOUTS
	{level: solTCP, name: 18, low: 0, high: 1<<31 - 1},                                                       // TCP_USER_TIMEOUT
	{level: solTCP, name: 25},                                                                                // TCP_NOTSENT_LOWAT
	{level: solTCP, name: 27, low: 0, high: 2},                                                               // TCP_SAVE_SYN
	{level: solIP, name: ipTOS, clamp: func(v int32) int32 { return v & 0xff }},
	{level: solIPv6, name: ipv6TClass, low: -1, high: 255, clamp: func(v int32) int32 { return max(v, 0) }},
	{level: solIPv6, name: ipv6AutoFlowlabel, def: 1, flag: true},
}

func bufferSize(v, least int32) int32 { return max(2*min(max(v, 0), maxSocketBuffer), least) }

func receiveLowat(v int32) int32 {
	switch {
	case v < 0:
		return 1<<31 - 1
	case v == 0:
		return 1
	}
	return v
}

func findOption(level, name int32) *intOption {
	for i := range intOptions {
		if o := &intOptions[i]; o.level == level && o.name == name {
			return o
		}
	}
	return nil
}

// permitted checks what does not depend on the value (__bpf_setsockopt).
func permitted(s *net.Socket, level int32) bool {
	switch level {
	case solSocket:
		return s.Full()
	case solTCP:
		return s.Full() && s.Protocol() == ipprotoTCP
	case solIP:
		const raw = 3
		return s.Full() && (s.Family() == afInet || s.Family() == afInet6 && s.Type() != raw && !s.IPv6Only())
	case solIPv6:
		return s.Full() && s.Family() == afInet6
	}
	return false
}

// sockOptions sets and gets the options of a socket, which stores them.
type sockOptions struct {
	*net.Socket
	order  binary.ByteOrder
	kernel *kernel.Kernel // for its devices and its clock
}

func setsockopt(c *Call, s *net.Socket) (uint64, *vm.Action) {
	value := c.In(3)
	level, name := int32(uint32(c.Args[1])), int32(uint32(c.Args[2]))
	errno := uapi.EINVAL
	if s != nil && permitted(s, level) {
		errno = sockOptions{s, c.guest.Order(), c.Kernel}.setOption(net.SockOption{Level: level, Name: name}, value)
	}
	if errno == 0 {
		return 0, c.Run.emit(Event{Kind: SetSockopt, Number: uint64(uint32(name)), Detail: fmt.Sprintf("%s, level %d", s.Role(), level), Data: append([]byte(nil), value...)})
	}
	return errnoRet(errno), nil
}

func (s sockOptions) setOption(opt net.SockOption, value []byte) uapi.Errno {
	switch {
	case opt == net.SockOption{Level: solSocket, Name: soBindToDevice}:
		return s.bindToDevice(cString(value))
	case opt == net.SockOption{Level: solTCP, Name: tcpCongestion}:
		return setCongestion(s.Socket, opt, value)
	case len(value) != 4:
		return uapi.EINVAL
	}
	v := int32(s.order.Uint32(value))
	o := findOption(opt.Level, opt.Name)
	switch {
	case o == nil && opt.Level == solTCP:
		return s.setBPFOption(opt.Name, v)
	case o == nil, o.low != o.high && (v < o.low || v > o.high):
		return uapi.EINVAL
	}
	const maxSeg, leastSeg = 2, 88
	if opt.Level == solTCP && opt.Name == maxSeg && v != 0 && v < leastSeg {
		return uapi.EINVAL
	}
	if o.flag && v != 0 {
		v = 1
	}
	if o.clamp != nil {
		v = o.clamp(v)
	}
	if o.number != "" {
		s.SetNumber(o.number, uint64(uint32(v)))
		return 0
	}
	if opt.Level == solIP {
		v = s.setTOS(v)
	}
	s.keep(opt, v)
	return 0
}

func (s sockOptions) keep(opt net.SockOption, v int32) {
	b := make([]byte, 4)
	s.order.PutUint32(b, uint32(v))
	s.SetOption(opt, b)
}

// setTOS mirrors __ip_sock_set_tos: streams keep their ECN bits, and the priority follows the
// class.
func (s sockOptions) setTOS(v int32) int32 {
	const ecn, stream = 3, 1
	was := s.intValue(net.SockOption{Level: solIP, Name: ipTOS}, 0)
	if s.Type() == stream {
		v = v&^ecn | was&ecn
	}
	if v != was {
		s.SetNumber("priority", [...]uint64{0, 2, 6, 4}[v>>3&3])
	}
	return v
}

func (s sockOptions) intValue(opt net.SockOption, def int32) int32 {
	if b, ok := s.Option(opt); ok && len(b) == 4 {
		return int32(s.order.Uint32(b))
	}
	return def
}

// bindToDevice implements SO_BINDTODEVICE: an empty name removes the binding.
func (s sockOptions) bindToDevice(name string) uapi.Errno {
	if name == "" {
		s.SetNumber("bound_dev_if", 0)
		return 0
	}
	for _, d := range s.kernel.Devices() {
		if d.Name == name {
			s.SetNumber("bound_dev_if", uint64(d.Index))
			return 0
		}
	}
	return uapi.ENODEV
}

// setCongestion accepts the algorithms that every kernel has; BPF programs cannot load modules
// (sol_tcp_sockopt_congestion).
func setCongestion(s *net.Socket, opt net.SockOption, value []byte) uapi.Errno {
	name := cString(value[:min(len(value), maxCongestionName-1)])
	switch {
	case len(value) < 2:
		return uapi.EINVAL
	case name == "cdg":
		return uapi.ENOTSUPP
	case name != "reno" && name != defaultCongestion:
		return uapi.ENOENT
	}
	s.SetOption(opt, []byte(name))
	return 0
}

// setBPFOption is bpf_sol_tcp_setsockopt.
func (s sockOptions) setBPFOption(name, v int32) uapi.Errno {
	const shortest = 2 // ticks
	ticks := (int64(v)*int64(s.kernel.Clock().HZ) + 999_999) / 1_000_000
	tooLong := int64(s.kernel.Clock().HZ) / 5
	opt := net.SockOption{Level: solTCP, Name: name}
	switch name {
	case tcpBPFIW:
		if sent, _ := s.Number("data_segs_out"); v <= 0 || sent > 0 {
			return uapi.EINVAL
		}
		s.SetNumber("snd_cwnd", uint64(v))
	case tcpBPFCwndClamp:
		if v <= 0 {
			return uapi.EINVAL
		}
		s.SetNumber("snd_cwnd_clamp", uint64(v))
		s.SetNumber("snd_ssthresh", uint64(v))
	case tcpBPFDelackMax, tcpBPFRTOMin:
		if ticks > tooLong || ticks < shortest {
			return uapi.EINVAL
		}
		s.keep(opt, v)
	case tcpBPFCallbacks:
		if v&^allSockOpsCBs != 0 {
			return uapi.EINVAL
		}
		s.SetCallbackFlags(uint32(v))
	default:
		return uapi.EINVAL
	}
	return 0
}

func getsockopt(c *Call, s *net.Socket) (uint64, *vm.Action) {
	n := c.Args[4] & 0xffffffff
	level, name := int32(uint32(c.Args[1])), int32(uint32(c.Args[2]))
	if c.Run.ProgType == uapi.ProgTypeSockOps && level == solTCP && name >= tcpBPFSyn && name <= tcpBPFSynMac {
		return c.zeroed(3, uapi.ENOENT) // no SYN was saved
	}
	if s == nil || !permitted(s, level) {
		return c.zeroed(3, uapi.EINVAL)
	}
	value, errno := sockOptions{s, c.guest.Order(), c.Kernel}.getOption(net.SockOption{Level: level, Name: name}, n)
	if errno != 0 {
		return c.zeroed(3, errno)
	}
	out := c.Out(3)
	clear(out)
	copy(out, value)
	return 0, c.guest.Write(c.Args[3], out)
}

func (s sockOptions) getOption(opt net.SockOption, n uint64) ([]byte, uapi.Errno) {
	if opt == (net.SockOption{Level: solTCP, Name: tcpCongestion}) {
		if n < 2 {
			return nil, uapi.EINVAL
		}
		name, ok := s.Option(opt)
		if !ok {
			name = []byte(defaultCongestion)
		}
		return name[:min(uint64(len(name)), n-1)], 0
	}
	if n != 4 {
		return nil, uapi.EINVAL
	}
	b := make([]byte, 4)
	o := findOption(opt.Level, opt.Name)
	const maxSeg = 2
	switch {
	case opt.Level == solTCP && opt.Name == tcpBPFCallbacks:
		s.order.PutUint32(b, s.CallbackFlags())
		return b, 0
	case o == nil:
		return nil, uapi.EINVAL
	case o.number != "":
		v, _ := s.Number(o.number)
		s.order.PutUint32(b, uint32(v))
		return b, 0
	case opt.Level == solTCP && opt.Name == maxSeg:
		v, _ := s.Number("mss_cache")
		if set := s.intValue(opt, 0); set != 0 && (s.State() == tcpListen || s.State() == tcpClosed) {
			v = uint64(set)
		}
		s.order.PutUint32(b, uint32(v))
		return b, 0
	}
	s.order.PutUint32(b, uint32(s.intValue(opt, o.def)))
	return b, 0
}
