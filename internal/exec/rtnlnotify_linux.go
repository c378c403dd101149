//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Notifications of changes of the simulated network, to sockets that joined their groups
// (rtmsg_ifinfo, rtmsg_ifa, rtmsg_fib, __neigh_notify). A socket's groups are those of the host's
// socket. It must become ready when a notification is queued here, but only the host makes it so:
// an empty message is sent through it, which the host's kernel acknowledges. The acknowledgement is
// taken out of the socket before the tool reads.

// watcher is a socket that joined groups. fd is a copy of it.
type watcher struct {
	fd   int
	poke bool // an acknowledgement is, or will be, in the socket
	lost bool // there were more notifications than are kept
}

// Limits of sockets that joined groups, and of notifications that one has not read.
const (
	maxWatchers      = 256
	maxNotifications = 1024
)

// pokeSeq is the sequence number of messages that make a socket ready.
const pokeSeq = 0x62706672

// joins notes sockets of NETLINK_ROUTE that join groups by the address that bind(2) gives them.
func (c *call) joins() {
	const groups = 8 // sockaddr_nl.nl_groups
	b := make([]byte, 12)
	if uint32(c.arg(2)) >= 12 && c.Read(c.arg(1), b) && le.Uint16(b) == unix.AF_NETLINK && le.Uint32(b[groups:]) != 0 {
		c.watch()
	}
}

// watch notes that the socket that is the call's first argument joins groups.
func (c *call) watch() {
	s := c.s
	g, ino, ok := c.route(c.fd(0))
	if !ok {
		return
	}
	if len(s.watchers) == maxWatchers {
		open := s.openSockets()
		for other, w := range s.watchers {
			if !slices.Contains(open, other) {
				unix.Close(w.fd)
				delete(s.watchers, other)
			}
		}
	}
	if s.watchers[ino] != nil || len(s.watchers) >= maxWatchers {
		unix.Close(g)
		return
	}
	if s.watchers == nil {
		s.watchers = map[uint64]*watcher{}
	}
	s.watchers[ino] = &watcher{fd: g}
}

// joined reports whether a socket is in one of the first 32 multicast groups.
func (w *watcher) joined(group uint32) bool {
	list, err := unix.GetsockoptInt(w.fd, unix.SOL_NETLINK, unix.NETLINK_LIST_MEMBERSHIPS)
	return err == nil && uint32(list)>>(group-1)&1 != 0
}

// part is a part of the network that notifications are about.
type part struct {
	key      string
	group    uint32
	add, del uapi.RouteMessage
	body     []byte
	route    *network.Route
	neighbor []byte // the message of a neighbor that is removed
}

// parts lists the parts of a namespace in the order in which they are told of.
func (s *supervisor) parts(netns uint32) (links, rest []part) {
	var devices []*network.Device
	s.sys.Network(func(n *network.Network) { devices = n.Devices(netns) })
	for _, d := range devices {
		links = append(links, part{key: string(le.AppendUint32([]byte("l"), d.Index)), group: unix.RTNLGRP_LINK, add: uapi.RouteNewlink, del: uapi.RouteDellink,
			body: s.linkBody(d, s.xdpOf(bpfsys.Device{Netns: netns, Index: d.Index}))})
	}
	s.sys.Network(func(n *network.Network) {
		for _, d := range devices {
			for i := range d.Addrs {
				a := &d.Addrs[i]
				group := uint32(unix.RTNLGRP_IPV6_IFADDR)
				if a.Prefix.Addr().Is4() {
					group = unix.RTNLGRP_IPV4_IFADDR
				}
				rest = append(rest, part{key: "a" + string(le.AppendUint32(nil, d.Index)) + a.Prefix.String(), group: group, add: uapi.RouteNewaddr, del: uapi.RouteDeladdr, body: addressBody(d, a)})
			}
		}
		for _, is4 := range []bool{true, false} {
			group := uint32(unix.RTNLGRP_IPV6_ROUTE)
			if is4 {
				group = unix.RTNLGRP_IPV4_ROUTE
			}
			for _, r := range n.Routes(netns, is4) {
				body := routeBody(r)
				rest = append(rest, part{key: "r" + routeKey(r), group: group, add: uapi.RouteNewroute, del: uapi.RouteDelroute, body: body, route: r})
			}
		}
		for _, d := range devices {
			for _, x := range d.Neighbors {
				gone := *x
				gone.State, gone.Address = neighborFailed, nil
				rest = append(rest, part{key: "n" + string(le.AppendUint32(nil, d.Index)) + x.Addr.String(), group: unix.RTNLGRP_NEIGH, add: uapi.RouteNewneigh, del: uapi.RouteDelneigh,
					body: neighborBody(d, x), neighbor: neighborBody(d, &gone)})
			}
		}
	})
	return links, rest
}

// neighborFailed is the state of a neighbor without an address (NUD_FAILED).
const neighborFailed = 0x20

// notifying runs what may change the network of a namespace and tells sockets in it what changed.
// msg is the message that asks for the change, through the socket g.
func (c *call) notifying(g int, netns uint32, msg []byte, change func()) {
	s := c.s
	if len(s.watchers) == 0 {
		change()
		return
	}
	type state struct{ links, rest []part }
	spaces := []uint32{netns} // the other end of a pair may be elsewhere
	for ino := range s.watchers {
		if other := s.routeSockets[ino]; !slices.Contains(spaces, other) {
			spaces = append(spaces, other)
		}
	}
	before := map[uint32]state{}
	for _, n := range spaces {
		links, rest := s.parts(n)
		before[n] = state{links, rest}
	}
	change()
	port := portOf(g)
	for _, n := range spaces {
		old := before[n]
		links, rest := s.parts(n)
		removed, added := changed(rest, old.rest)
		same := func(p *part, list []part) bool {
			return p.route != nil && slices.ContainsFunc(list, func(q part) bool { return q.route != nil && q.route.To == p.route.To && q.route.Table == p.route.Table })
		}
		tell := func(p *part, typ uapi.RouteMessage, body []byte) {
			from, port, flags := msg, port, uint16(0)
			if p.group == unix.RTNLGRP_NEIGH || p.route != nil && p.route.Origin == network.OriginKernel { // these are told of without the request's number
				from, port = make([]byte, nlmsgHdrSize), 0
			}
			switch {
			case typ == uapi.RouteNewroute && same(p, removed):
				flags = unix.NLM_F_REPLACE
			case typ == uapi.RouteNewroute:
				flags = unix.NLM_F_CREATE | unix.NLM_F_EXCL
			}
			s.tellWatchers(n, p.group, header(from, port, typ, flags, body))
		}
		gone, made := changed(links, old.links)
		for i := range made {
			tell(&made[i], made[i].add, made[i].body)
		}
		slices.SortStableFunc(removed, func(a, b part) int { return cmp.Compare(a.rank(true), b.rank(true)) })
		slices.SortStableFunc(added, func(a, b part) int { return cmp.Compare(a.rank(false), b.rank(false)) })
		for i := range removed {
			p := &removed[i]
			switch {
			case p.route != nil && silent(p.route, uapi.RouteMessage(le.Uint16(msg[4:]))):
			case same(p, added): // replaced
			case p.neighbor != nil && uapi.RouteMessage(le.Uint16(msg[4:])) == uapi.RouteDelneigh: // it fails first
				tell(p, p.add, p.neighbor)
				tell(p, p.del, p.neighbor)
			default:
				tell(p, p.del, p.body)
			}
		}
		for i := range gone {
			tell(&gone[i], gone[i].del, gone[i].body)
		}
		for i := range added {
			tell(&added[i], added[i].add, added[i].body)
		}
	}
}

// silent reports whether nobody is told that a route is gone: those of IPv4 that end with their
// device do so without a word (fib_table_flush), but for those of its addresses.
func silent(r *network.Route, typ uapi.RouteMessage) bool {
	return r.To.Addr().Is4() && typ != uapi.RouteDelroute && typ != uapi.RouteDeladdr && r.Type != network.RouteLocal
}

// rank orders what follows from one change: an address's own route comes first and goes last
// (fib_add_ifaddr, fib_del_ifaddr).
func (p *part) rank(removed bool) int {
	switch {
	case p.route == nil && p.neighbor == nil:
		return 0
	case p.neighbor != nil:
		return 9
	case p.route.Type == network.RouteLocal && removed:
		return 4
	case p.route.Type == network.RouteLocal:
		return 1
	case !removed && p.route.Type == network.RouteBroadcast && p.route.Device.HasBroadcast(p.route.To.Addr()): // it was given
		return 2
	}
	return 3
}

// routeKey returns what makes a route another one. Nobody is told of flags that follow from a
// device's carrier.
func routeKey(r *network.Route) string {
	x := *r
	x.Device, x.Hops = nil, nil
	key := fmt.Sprint(x)
	for _, h := range append([]network.Hop{{Device: r.Device}}, r.Hops...) {
		if h.Device != nil {
			key += fmt.Sprint(" ", h.Via, h.More, h.Device.Index)
		}
	}
	return key
}

// changed returns the parts that are only in the old list, and those that are new or different.
func changed(now, old []part) (gone, made []part) {
	was, is := map[string][]byte{}, map[string]bool{}
	for _, p := range old {
		was[p.key] = p.body
	}
	for _, p := range now {
		if is[p.key] = true; was[p.key] == nil || p.route == nil && !bytes.Equal(was[p.key], p.body) {
			made = append(made, p)
		}
	}
	for _, p := range old {
		if !is[p.key] {
			gone = append(gone, p)
		}
	}
	return gone, made
}

// tellWatchers queues a notification for the sockets of a namespace that are in its group.
func (s *supervisor) tellWatchers(netns, group uint32, msg []byte) {
	for ino, w := range s.watchers {
		switch {
		case s.routeSockets[ino] != netns || !w.joined(group):
			continue
		case len(s.replies[ino]) >= maxNotifications:
			w.lost = true
		default:
			s.replies[ino] = append(s.replies[ino], msg)
		}
		if !w.poke {
			w.poke = poke(w.fd)
		}
	}
}

// poke makes a socket ready to be read: the host's kernel acknowledges a message that means
// nothing.
func poke(fd int) bool {
	b := le.AppendUint32(nil, nlmsgHdrSize)
	b = le.AppendUint16(le.AppendUint16(b, unix.NLMSG_NOOP), unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b = le.AppendUint32(le.AppendUint32(b, pokeSeq), 0)
	return unix.Sendto(fd, b, unix.MSG_DONTWAIT, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) == nil
}

// unpoke takes the acknowledgement out of a socket if it is the next message there. It reports
// whether none is left.
func unpoke(fd int) bool {
	b := make([]byte, nlmsgHdrSize)
	n, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT|unix.MSG_PEEK)
	if err == nil && n == nlmsgHdrSize && le.Uint32(b[8:]) == pokeSeq && le.Uint16(b[4:]) == unix.NLMSG_ERROR {
		_, _, err = unix.Recvfrom(fd, b, unix.MSG_DONTWAIT)
		return err == nil
	}
	return err == unix.EAGAIN
}

func (w *watcher) unpoke() { w.poke = w.poke && !unpoke(w.fd) }

// maxPoked limits the sockets that were made ready: those that were closed before their answers were
// read are among them.
const maxPoked = 1024

// pokeAnswered makes a socket ready for which an answer waits here, so that a tool that polls it
// reads it.
func (s *supervisor) pokeAnswered(g int, ino uint64) {
	if len(s.replies[ino]) > 0 && s.watchers[ino] == nil && !s.poked[ino] && poke(g) {
		if len(s.poked) >= maxPoked {
			clear(s.poked)
		}
		s.poked[ino] = true
	}
}

// unpokeAnswered undoes that when the caller's socket has no more answers here.
func (c *call) unpokeAnswered() {
	s := c.s
	if len(s.poked) == 0 {
		return
	}
	g, ino, _, ok := c.netlinkSocket(c.fd(0))
	if !ok {
		return
	}
	defer unix.Close(g)
	if s.poked[ino] && len(s.replies[ino]) == 0 && unpoke(g) {
		delete(s.poked, ino)
	}
}

// watching serves a read of a socket that joined groups: it fails if notifications were lost, and
// waits here where it would wait at the host. done reports whether it was served; flags are those
// of the call.
func (c *call) watching(flags uint64, again func(*call)) (done bool) {
	s := c.s
	if len(s.watchers) == 0 {
		return false
	}
	g, ino, _, ok := c.netlinkSocket(c.fd(0))
	if !ok {
		return false
	}
	unix.Close(g)
	w := s.watchers[ino]
	if w == nil {
		return false
	}
	w.unpoke()
	switch {
	case w.lost && len(s.replies[ino]) == 0:
		w.lost = false
		s.reply(c.n, 0, unix.ENOBUFS)
		return true
	case len(s.replies[ino]) > 0 || flags&unix.MSG_DONTWAIT != 0:
		return false
	}
	if mode, err := unix.FcntlInt(uintptr(w.fd), unix.F_GETFL, 0); err != nil || mode&unix.O_NONBLOCK != 0 {
		return false
	}
	var end time.Time
	if t, err := unix.GetsockoptTimeval(w.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO); err == nil && t.Nano() > 0 {
		end = time.Now().Add(time.Duration(t.Nano()))
	}
	n := *c.n
	go s.awaitMessage(&call{s: s, n: &n}, w, end, again)
	return true
}

// awaitMessage has a call read again when its socket is ready, and ends it when its time is over or
// it is interrupted.
func (s *supervisor) awaitMessage(c *call, w *watcher, end time.Time, again func(*call)) {
	for {
		p := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLIN}}
		ready, _ := unix.Poll(p, int(pollWatched/time.Millisecond))
		s.mu.Lock()
		switch {
		case !s.valid(c.n.ID):
		case ready > 0:
			again(c)
		case !end.IsZero() && time.Now().After(end):
			s.reply(c.n, 0, unix.EAGAIN)
		case c.Interrupted():
			s.reply(c.n, 0, unix.EINTR)
		default:
			s.mu.Unlock()
			continue
		}
		s.mu.Unlock()
		return
	}
}

// pollWatched is how long a read that waits goes without a look at whether it is still wanted.
const pollWatched = 20 * time.Millisecond
