//go:build linux && (amd64 || arm64)

package exec

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Attributes of qdiscs and filters (include/uapi/linux/rtnetlink.h, pkt_cls.h).
const (
	tcaKind, tcaOptions, tcaChain                                                     = 1, 2, 11
	tcaBPFAct, tcaBPFPolice, tcaBPFClassID, tcaBPFOpsLen, tcaBPFOps, tcaBPFFD         = 1, 2, 3, 4, 5, 6
	tcaStats, tcaStats2, tcaHWOffload, tcaStatsBasic, tcaStatsQueue                   = 3, 7, 12, 1, 3
	tcStatsSize, tcStatsBasicSize, tcStatsQueueSize, tcRoot                           = 40, 16, 20, 0xffffffff
	tcaBPFName, tcaBPFFlags, tcaBPFFlagsGen, tcaBPFTag, tcaBPFID                      = 7, 8, 9, 10, 11
	tcmsgSize, tcBPFDirect, tcGenKnown, tcGenSkipSW, tcClsact, tcBPFMaxName, genNotHW = 20, 1, 0x3, 0x2, 0xfffffff1, 256, 8
)

// tcMessage is a message about a qdisc or a filter (struct tcmsg and attributes).
type tcMessage struct {
	typ                  uapi.RouteMessage
	flags                uint16
	ifindex              uint32
	handle, parent, info uint32
	kind                 string
	options              []byte
	hasKind, hasOptions  bool
	otherChains          bool
}

func (m *tcMessage) priority() uint16 { return uint16(m.info >> 16) }
func (m *tcMessage) protocol() uint16 { return uint16(m.info) }

func parseTC(msg []byte) (*tcMessage, bool) {
	if len(msg) < nlmsgHdrSize+tcmsgSize {
		return nil, false
	}
	b := msg[nlmsgHdrSize:]
	m := &tcMessage{
		typ: uapi.RouteMessage(le.Uint16(msg[4:])), flags: le.Uint16(msg[6:]),
		ifindex: le.Uint32(b[4:]), handle: le.Uint32(b[8:]), parent: le.Uint32(b[12:]), info: le.Uint32(b[16:]),
	}
	attributes(b[tcmsgSize:], func(typ uint16, data []byte) {
		switch typ {
		case tcaKind:
			m.kind, _, _ = strings.Cut(string(data), "\x00")
			m.hasKind = true
		case tcaOptions:
			m.options, m.hasOptions = data, true
		case tcaChain:
			m.otherChains = len(data) >= 4 && le.Uint32(data) != 0
		}
	})
	return m, true
}

// tc serves the messages of tc(8) and libbpf's bpf_tc_* about clsact and ingress qdiscs and their
// BPF filters. served is false for others.
func (c *call) tc(g int, ino uint64, netns uint32, msg []byte) (e unix.Errno, served bool) {
	m, ok := parseTC(msg)
	if !ok {
		return unix.EINVAL, true
	}
	s, sys, on := c.s, c.s.sys, bpfsys.Device{Netns: netns, Index: m.ifindex}
	switch m.typ {
	case uapi.RouteNewqdisc, uapi.RouteDelqdisc:
		if netns != 0 && !sys.HasDevice(on) {
			return unix.ENODEV, true
		}
		if m.parent != tcClsact || m.kind != "" && m.kind != "clsact" && m.kind != "ingress" {
			return 0, false
		}
		if m.typ == uapi.RouteDelqdisc {
			if sys.TCQdisc(on) != "" && (m.handle != 0 && m.handle != bpfsys.TCClsactMajor || m.hasKind && m.kind == "") { // tc_get_qdisc
				return unix.EINVAL, true
			}
			if s.ingress[on] && sys.TCQdisc(on) == "" && (m.handle != 0 || m.hasKind) { // the queue stays, of another kind and handle
				return unix.EINVAL, true
			}
			return errnoOf(sys.DelTCQdisc(on, m.kind)), true
		}
		switch {
		case m.kind == "":
			return unix.ENOENT, true
		case m.handle&0xffff != 0:
			return unix.EINVAL, true
		case m.flags&unix.NLM_F_CREATE == 0 && sys.TCQdisc(on) == "":
			return unix.ENOENT, true
		}
		e := sys.NewTCQdisc(on, m.kind, m.flags&unix.NLM_F_EXCL != 0)
		s.ingress[on] = s.ingress[on] || e == 0
		return errnoOf(e), true
	case uapi.RouteNewtfilter:
		if m.otherChains || m.kind != "" && m.kind != "bpf" {
			return 0, false
		}
		f := &bpfsys.TCFilter{Parent: m.parent, Priority: m.priority(), Protocol: m.protocol(), Handle: m.handle}
		first := !slices.ContainsFunc(sys.TCFilters(on, m.parent), func(f *bpfsys.TCFilter) bool { return f.Priority == m.priority() })
		place := *f // the kernel looks for the place of the filter before it reads the options
		if e := sys.NewTCFilter(on, &place, m.flags&unix.NLM_F_CREATE != 0, m.flags&unix.NLM_F_EXCL != 0); e != 0 {
			return errnoOf(e), true
		}
		switch { // tc_new_tfilter: the first filter of a priority makes the classifier
		case first && !m.hasKind:
			return unix.EINVAL, true
		case first && m.kind == "":
			return unix.ENOENT, true
		}
		if e := c.filterOptions(m, f); e != 0 {
			return e, true
		}
		if e := sys.NewTCFilter(on, f, m.flags&unix.NLM_F_CREATE != 0, m.flags&unix.NLM_F_EXCL != 0); e != 0 {
			return errnoOf(e), true
		}
		s.logf("[%d] netlink: filter %d of device %d", c.n.PID, f.Handle, m.ifindex)
		if m.flags&unix.NLM_F_ECHO != 0 {
			s.queue(g, ino, msg, uapi.RouteNewtfilter, 0, m.filterBody(f))
		}
		return 0, true
	case uapi.RouteDeltfilter:
		if m.otherChains || m.kind != "" && m.kind != "bpf" {
			return 0, false
		}
		return errnoOf(sys.DelTCFilter(on, m.parent, m.priority(), m.protocol(), m.handle, m.kind)), true
	case uapi.RouteGettfilter:
		if m.flags&unix.NLM_F_DUMP != 0 {
			// Without a parent, those of the device's own qdisc are asked for: there are none
			// (tc_dump_tfilter).
			for _, f := range sys.TCFilters(on, m.parent) {
				if (m.priority() == 0 || m.priority() == f.Priority) && (m.protocol() == 0 || m.protocol() == f.Protocol) {
					s.queue(g, ino, msg, uapi.RouteNewtfilter, unix.NLM_F_MULTI, m.filterBody(f))
				}
			}
			s.queue(g, ino, msg, nlmsgDone, unix.NLM_F_MULTI, make([]byte, 4))
			return 0, true
		}
		f, e := sys.TCFilterAt(on, m.parent, m.priority(), m.protocol(), m.handle)
		if e == 0 {
			s.queue(g, ino, msg, uapi.RouteNewtfilter, 0, m.filterBody(f))
		}
		return errnoOf(e), true
	}
	return 0, false
}

// filterOptions reads the attributes of a BPF filter (cls_bpf_change).
func (c *call) filterOptions(m *tcMessage, f *bpfsys.TCFilter) unix.Errno {
	if !m.hasOptions {
		return unix.EINVAL
	}
	var e unix.Errno
	fd, hasFD, classic := int32(-1), false, false
	attributes(m.options, func(typ uint16, data []byte) {
		word := uint32(0)
		if len(data) >= 4 {
			word = le.Uint32(data)
		}
		switch typ {
		case tcaBPFClassID, tcaBPFFD, tcaBPFFlags, tcaBPFFlagsGen:
			if len(data) < 4 {
				e = unix.ERANGE // the kernel's attribute policy
			}
		}
		switch typ {
		case tcaBPFFD:
			fd, hasFD = int32(word), true
		case tcaBPFName:
			if !slices.Contains(data[:min(len(data), tcBPFMaxName)], 0) { // NLA_NUL_STRING
				if e = unix.EINVAL; len(data) > tcBPFMaxName {
					e = unix.ERANGE
				}
				return
			}
			f.Name, _, _ = strings.Cut(string(data), "\x00")
		case tcaBPFFlags:
			if f.Flags = word; word&^tcBPFDirect != 0 {
				e = unix.EINVAL
			}
		case tcaBPFFlagsGen:
			if f.GenFlags = word; word&^tcGenKnown != 0 || word&tcGenKnown == tcGenKnown {
				e = unix.EINVAL
			}
		case tcaBPFClassID:
			f.ClassID = word
		case tcaBPFOps, tcaBPFOpsLen:
			classic = true
		case tcaBPFAct, tcaBPFPolice:
			c.s.note("actions of tc filters are not simulated; use direct action (TCA_BPF_FLAG_ACT_DIRECT)")
			e = unix.EOPNOTSUPP
		}
	})
	switch {
	case e != 0:
		return e
	case classic && !hasFD:
		c.s.note("tc filters with classic BPF (TCA_BPF_OPS) are not simulated")
		return unix.EOPNOTSUPP
	case classic || !hasFD, f.GenFlags&tcGenSkipSW != 0: // no device takes programs
		return unix.EINVAL
	}
	file := c.File(fd)
	if file.Kind == bpfsys.NoFile {
		return unix.EBADF
	}
	var ok bool
	if f.Prog, ok = file.Object.(*bpfsys.Prog); !ok {
		return unix.EINVAL
	}
	f.GenFlags |= genNotHW
	return 0
}

// filterBody returns the answer about a filter without its header (tcf_fill_node, cls_bpf_dump): its
// parent is the one that was asked for.
func (m *tcMessage) filterBody(f *bpfsys.TCFilter) []byte {
	b := le.AppendUint32(make([]byte, 4), m.ifindex)
	b = le.AppendUint32(b, f.Handle)
	b = le.AppendUint32(b, m.parent)
	b = le.AppendUint32(b, uint32(f.Priority)<<16|uint32(f.Protocol))
	b = appendAttribute(b, tcaKind, []byte("bpf\x00"))
	b = appendAttribute(b, tcaChain, make([]byte, 4))
	var o []byte
	if f.ClassID != 0 {
		o = appendAttribute(o, tcaBPFClassID, le.AppendUint32(nil, f.ClassID))
	}
	if f.Name != "" {
		o = appendAttribute(o, tcaBPFName, append([]byte(f.Name), 0))
	}
	tag := f.Prog.Tag()
	o = appendAttribute(o, tcaBPFID, le.AppendUint32(nil, f.Prog.ID()))
	o = appendAttribute(o, tcaBPFTag, tag[:])
	if f.Flags != 0 {
		o = appendAttribute(o, tcaBPFFlags, le.AppendUint32(nil, f.Flags))
	}
	o = appendAttribute(o, tcaBPFFlagsGen, le.AppendUint32(nil, f.GenFlags))
	return appendAttribute(b, tcaOptions, o)
}

// queue adds an answer to a message for the next read of the socket.
func (s *supervisor) queue(g int, ino uint64, msg []byte, typ uapi.RouteMessage, flags uint16, body []byte) {
	s.replies[ino] = append(s.replies[ino], header(msg, portOf(g), typ, flags, body))
}

// portOf returns the port of a netlink socket.
func portOf(g int) uint32 {
	if sa, err := unix.Getsockname(g); err == nil {
		if nl, ok := sa.(*unix.SockaddrNetlink); ok {
			return nl.Pid
		}
	}
	return 0
}

// withQdiscs adds the simulated qdiscs to the host's answer to RTM_GETQDISC.
func (s *supervisor) withQdiscs(netns uint32, msg, answer []byte, port uint32) []byte {
	var out []byte
	m, ok := parseTC(msg)
	if !ok {
		return nil
	}
	list := []uint32{m.ifindex}
	if m.ifindex == 0 {
		list = s.devices(netns)
	}
	root := map[uint32]string{} // of the devices that were up
	s.sys.Network(func(n *network.Network) {
		for _, d := range n.Devices(netns) {
			if kind := d.Qdisc(); kind != "noop" {
				root[d.Index] = kind
			}
		}
	})
	for _, ifindex := range list {
		one := func(kind string, handle, parent, uses uint32) {
			b := le.AppendUint32(make([]byte, 4), ifindex)
			for _, v := range []uint32{handle, parent, uses} {
				b = le.AppendUint32(b, v)
			}
			b = appendAttribute(b, tcaKind, append([]byte(kind), 0))
			b = appendAttribute(b, tcaHWOffload, []byte{0})
			stats := appendAttribute(nil, tcaStatsBasic, make([]byte, tcStatsBasicSize)) // packets do not travel
			b = appendAttribute(b, tcaStats2, appendAttribute(stats, tcaStatsQueue, make([]byte, tcStatsQueueSize)))
			out = append(out, header(msg, port, uapi.RouteNewqdisc, unix.NLM_F_MULTI, appendAttribute(b, tcaStats, make([]byte, tcStatsSize)))...)
		}
		if kind := root[ifindex]; kind != "" {
			one(kind, 0, tcRoot, 2)
		}
		if kind := s.sys.TCQdisc(bpfsys.Device{Netns: netns, Index: ifindex}); kind != "" {
			one(kind, bpfsys.TCClsactMajor, tcClsact, 1)
		}
	}
	return append(out, answer...)
}
