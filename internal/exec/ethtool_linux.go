//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	mathbits "math/bits"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Questions of the family ethtool of generic netlink about simulated devices
// (net/ethtool/netlink.c). The host answers those about its own devices, and which number the
// family has.

// Commands (ETHTOOL_MSG_*_GET); the reply to a question has the same number in its header as the
// question, up to a difference by changes that are told to nobody.
const (
	ethLinkInfo, ethLinkModes, ethLinkState, ethChannels, ethTimestamping = 2, 4, 6, 17, 25
)

// ethReplies are the numbers of replies, which count notifications, too (ETHTOOL_MSG_*_GET_REPLY).
var ethReplies = [256]byte{ethLinkInfo: 2, ethLinkModes: 4, ethLinkState: 6, ethChannels: 18, ethTimestamping: 26}

// ethQuestions are the commands that ask, of those up to the last that is known here.
var ethQuestions = [256]bool{1: true, 2: true, 4: true, 6: true, 7: true, 9: true, 11: true, 13: true, 15: true, 17: true, 19: true, 21: true, 23: true, 25: true}

// Attributes of a request's header (ETHTOOL_A_HEADER_*).
const ethIndex, ethName = 1, 2

const genlHdrSize = 4

// generic serves a message to generic netlink if it asks about a simulated device, and has the host
// serve it otherwise.
func (c *call) generic(read func() ([]byte, bool)) {
	netns := c.Netns()
	if netns == 0 && len(c.s.simulated(0)) == 0 {
		c.s.host(c.n)
		return
	}
	g, ino, protocol, ok := c.netlinkSocket(c.fd(0))
	if !ok {
		c.s.host(c.n)
		return
	}
	defer unix.Close(g)
	if protocol != unix.NETLINK_GENERIC {
		c.s.host(c.n)
		return
	}
	msg, ok := read()
	if !ok || len(msg) < nlmsgHdrSize+genlHdrSize || int(le.Uint32(msg)) > len(msg) || le.Uint32(msg) < nlmsgHdrSize+genlHdrSize {
		c.s.host(c.n)
		return
	}
	family := c.s.family(int(le.Uint16(msg[4:])))
	if family == nil {
		c.s.host(c.n)
		return
	}
	e, served := family(c, g, ino, netns, msg[:le.Uint32(msg)])
	if !served {
		c.s.host(c.n)
		return
	}
	if e != 0 || le.Uint16(msg[6:])&(unix.NLM_F_ACK|unix.NLM_F_DUMP) == unix.NLM_F_ACK {
		c.s.answerNetlink(g, ino, msg, e)
	}
	c.s.pokeAnswered(g, ino)
	c.s.reply(c.n, int64(len(msg)), 0)
}

// genericFamily serves a message of a family of generic netlink; served is false if it is about a
// device of the host.
type genericFamily func(c *call, g int, ino uint64, netns uint32, msg []byte) (e unix.Errno, served bool)

// family returns what serves the family with a number, which the host gave the tool, too, or nil.
func (s *supervisor) family(number int) genericFamily {
	if s.families == nil {
		s.families = map[int]genericFamily{}
		for name, serve := range map[string]genericFamily{"ethtool": (*call).ethtool, "netdev": (*call).netdev} {
			if id := hostFamily(name); id > unix.GENL_ID_CTRL {
				s.families[id] = serve
			}
		}
	}
	return s.families[number]
}

// hostFamily returns the number of a family of generic netlink at the host, -1 if it has none.
func hostFamily(name string) int {
	const getFamily, familyID, familyName = 3, 1, 2
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return -1
	}
	defer unix.Close(fd)
	body := appendAttribute([]byte{getFamily, 1, 0, 0}, familyName, append([]byte(name), 0))
	msg := header(make([]byte, nlmsgHdrSize), 0, unix.GENL_ID_CTRL, unix.NLM_F_REQUEST, body)
	limit := unix.NsecToTimeval(1e9)
	b := make([]byte, maxNetlink)
	if unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit) != nil || unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		return -1
	}
	n, _, err := unix.Recvfrom(fd, b, 0)
	id := -1
	if err == nil && n > nlmsgHdrSize+genlHdrSize && le.Uint16(b[4:]) == unix.GENL_ID_CTRL {
		attributes(b[nlmsgHdrSize+genlHdrSize:n], func(typ uint16, data []byte) {
			if typ == familyID && len(data) >= 2 {
				id = int(le.Uint16(data))
			}
		})
	}
	return id
}

// ethtool answers a message; served is false if it is about a device of the host.
func (c *call) ethtool(g int, ino uint64, netns uint32, msg []byte) (e unix.Errno, served bool) {
	command, flags := msg[nlmsgHdrSize], le.Uint16(msg[6:])
	index, name, has := uint32(0), "", false
	attributes(msg[nlmsgHdrSize+genlHdrSize:], func(typ uint16, data []byte) {
		if typ != 1 { // the header, in each message
			return
		}
		attributes(data, func(typ uint16, data []byte) {
			switch {
			case typ == ethIndex && len(data) >= 4:
				index, has = le.Uint32(data), true
			case typ == ethName:
				name, has = textOf(data), true
			}
		})
	})
	devices := c.s.simulated(netns)
	if flags&unix.NLM_F_DUMP != 0 {
		if netns == 0 {
			return 0, false
		}
		for _, d := range devices {
			if body := c.s.ethtoolBody(d, command); body != nil {
				c.s.queue(g, ino, msg, uapi.RouteMessage(le.Uint16(msg[4:])), unix.NLM_F_MULTI, body)
			}
		}
		c.s.queue(g, ino, msg, nlmsgDone, unix.NLM_F_MULTI, make([]byte, 4))
		return 0, true
	}
	var d *network.Device
	for _, x := range devices {
		if has && (index == 0 || x.Index == index) && (name == "" || x.Name == name) {
			d = x
		}
	}
	switch {
	case d == nil && netns == 0:
		return 0, false
	case !ethQuestions[command]:
		if command <= ethTimestamping {
			c.s.note(fmt.Sprintf("ethtool netlink message %d, which would change a device, is not simulated", command))
		}
		return unix.EOPNOTSUPP, true
	case !has:
		return unix.EINVAL, true
	case d == nil:
		return unix.ENODEV, true
	}
	body := c.s.ethtoolBody(d, command)
	if body == nil {
		return unix.EOPNOTSUPP, true
	}
	c.s.queue(g, ino, msg, uapi.RouteMessage(le.Uint16(msg[4:])), 0, body)
	return 0, true
}

// ethtoolBody returns the answer to a question about a device, without the header of the message;
// nil means that its driver has none (drivers/net/loopback.c, dummy.c, veth.c).
func (s *supervisor) ethtoolBody(d *network.Device, command byte) []byte {
	loopback, veth, dummy := !d.Ethernet(), d.Kind == "veth", d.Kind == "dummy"
	head := appendAttribute(nil, ethIndex, le.AppendUint32(nil, d.Index))
	head = appendAttribute(head, ethName, append([]byte(d.Name), 0))
	b := appendAttribute([]byte{ethReplies[command], 1, 0, 0}, 1|unix.NLA_F_NESTED, head)
	byteOf := func(typ uint16, v byte) { b = appendAttribute(b, typ, []byte{v}) }
	word := func(typ uint16, v uint32) { b = appendAttribute(b, typ, le.AppendUint32(nil, v)) }
	switch {
	case command == ethLinkState:
		if loopback || veth {
			link := byte(0)
			if d.Flags()&network.FlagLowerUp != 0 {
				link = 1
			}
			byteOf(2, link)
		}
	case command == ethLinkInfo && veth: // port, address, MDI-X and its control, transceiver
		for typ := uint16(2); typ <= 6; typ++ {
			byteOf(typ, 0)
		}
	case command == ethLinkModes && veth:
		const speed, full = 10000, 1
		byteOf(2, 0) // no negotiation
		modes := appendAttribute(nil, 2, le.AppendUint32(nil, s.enumerator("ethtool_link_mode_bit_indices", "__ETHTOOL_LINK_MODE_MASK_NBITS")))
		b = appendAttribute(b, 3|unix.NLA_F_NESTED, appendAttribute(modes, 3|unix.NLA_F_NESTED, nil))
		word(5, speed)
		byteOf(6, full)
		byteOf(10, 0)
	case command == ethChannels && veth: // the most to receive and to send with, and how many are used
		word(2, d.RxQueues)
		word(6, 1)
		word(3, d.TxQueues)
		word(7, 1)
	case command == ethTimestamping && (loopback || veth || dummy):
		last := s.enumerator("", "SOF_TIMESTAMPING_LAST")
		set := appendAttribute(appendAttribute(nil, 1, nil), 2, le.AppendUint32(nil, uint32(mathbits.Len32(last))))
		var list []byte
		for _, bit := range []struct {
			index uint32
			name  string
		}{{1, "software-transmit"}, {3, "software-receive"}, {4, "software-system-clock"}} {
			one := appendAttribute(appendAttribute(nil, 1, le.AppendUint32(nil, bit.index)), 2, append([]byte(bit.name), 0))
			list = appendAttribute(list, 1|unix.NLA_F_NESTED, one)
		}
		b = appendAttribute(b, 2|unix.NLA_F_NESTED, appendAttribute(set, 3|unix.NLA_F_NESTED, list))
	default:
		return nil
	}
	return b
}

// enumerator returns the value of an enumerator of the simulated kernel, of the enumeration of that
// name if one is given, or 0.
func (s *supervisor) enumerator(of, name string) uint32 {
	spec := s.sys.Target().BTF
	if spec == nil {
		return 0
	}
	for id := spec.FirstID(); int(id) < spec.NumTypes(); id++ {
		if spec.Kind(id) != btf.KindEnum || of != "" && spec.Name(id) != of || of == "" && spec.Name(id) != "" {
			continue
		}
		if t, err := spec.Type(id); err == nil {
			for _, v := range t.Values {
				if v.Name == name {
					return uint32(v.Value)
				}
			}
		}
	}
	return 0
}

// Commands of SIOCETHTOOL, and the set of strings that names statistics (ETH_SS_STATS).
const (
	ethtoolDriver, ethtoolStrings, ethtoolStats, ethtoolSets, ethtoolChannels = 0x3, 0x1b, 0x1d, 0x37, 0x3c
	ethtoolStatsSet                                                           = 1
)

// Sizes of struct ethtool_drvinfo, of a text in it, of the name of a statistic, and of struct
// ethtool_channels.
const ethtoolDriverSize, ethtoolTextSize, ethtoolNameSize, ethtoolChannelsSize = 196, 32, 32, 36

// ethtoolIoctl answers a question about a simulated device at an address (dev_ethtool): its driver,
// the channels of a veth device, and of its statistics the other end. Packets do not travel, so others
// are not counted.
func (c *call) ethtoolIoctl(d *network.Device, addr uint64) unix.Errno {
	b := make([]byte, 4)
	if !c.Read(addr, b) {
		return unix.EFAULT
	}
	command, veth := le.Uint32(b), d.Kind == "veth"
	switch {
	case command == ethtoolDriver && d.Ethernet():
		b = append(b, make([]byte, ethtoolDriverSize-len(b))...)
		copy(b[4:], d.Kind)
		version := c.s.cfg.Release
		if veth {
			version = "1.0"
			const statistics = 4 + 5*ethtoolTextSize + 12 + 4
			le.PutUint32(b[statistics:], 1)
		}
		copy(b[4+ethtoolTextSize:4+2*ethtoolTextSize-1], version)
	case command == ethtoolChannels && veth:
		b = append(b, make([]byte, ethtoolChannelsSize-len(b))...)
		le.PutUint32(b[4:], d.RxQueues)
		le.PutUint32(b[8:], d.TxQueues)
		le.PutUint32(b[20:], 1) // as many are used
		le.PutUint32(b[24:], 1)
	case command == ethtoolSets && veth: // which sets there are, of those that are asked for, and their sizes
		b = make([]byte, 16)
		if !c.Read(addr, b) {
			return unix.EFAULT
		}
		mask := le.Uint64(b[8:]) & (1 << ethtoolStatsSet)
		if le.PutUint64(b[8:], mask); mask != 0 {
			b = le.AppendUint32(b, 1)
		}
	case command == ethtoolStrings && veth:
		b = make([]byte, 12)
		if !c.Read(addr, b) {
			return unix.EFAULT
		}
		if le.Uint32(b[4:]) != ethtoolStatsSet {
			return unix.EOPNOTSUPP
		}
		le.PutUint32(b[8:], 1)
		b = append(b, make([]byte, ethtoolNameSize)...)
		copy(b[12:], "peer_ifindex")
	case command == ethtoolStats && veth:
		b = le.AppendUint64(le.AppendUint32(b, 1), uint64(d.Peer.Index))
	default:
		c.s.note(fmt.Sprintf("command %#x of ethtool is not simulated for devices of kind %s", command, d.Kind))
		return unix.EOPNOTSUPP
	}
	if !c.Write(addr, b) {
		return unix.EFAULT
	}
	return 0
}
