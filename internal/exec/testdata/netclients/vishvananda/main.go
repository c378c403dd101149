// Command vishvananda uses github.com/vishvananda/netlink in a network namespace of its own and
// prints what it is answered, without what differs from run to run.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sort"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

func main() {
	runtime.LockOSThread()
	if _, err := netns.New(); err != nil {
		fmt.Println("namespace:", err)
		os.Exit(1)
	}
	links()
	addresses()
	routes()
	neighbors()
	disciplines()
	filters()
	errorsOfAll()
	told()
	others()
}

// say prints an operation and its error.
func say(what string, err error) {
	var number syscall.Errno
	switch {
	case err == nil:
		fmt.Println(what+":", "ok")
	case errors.As(err, &number):
		fmt.Println(what+":", unix.ErrnoName(number))
	default:
		fmt.Println(what+":", err)
	}
}

func link(name string) netlink.Link {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Name: name, Index: 4242}}
	}
	return l
}

func listLinks() {
	list, err := netlink.LinkList()
	say("list links", err)
	for _, l := range list {
		a := l.Attrs()
		kind := ""
		if v, ok := l.(*netlink.Veth); ok {
			peer, err := netlink.VethPeerIndex(v)
			kind = fmt.Sprint(" peer ", peer, " ", err)
		}
		fmt.Printf("  %d %s %s mtu %d queue %d flags %x parent %d alias %q encap %s address of %d bytes, %d and %d queues, group %d, xdp %v, statistics %t, slave %v, promiscuity %d%s\n",
			a.Index, a.Name, l.Type(), a.MTU, a.TxQLen, a.RawFlags&^unix.IFF_RUNNING, a.ParentIndex, a.Alias, a.EncapType, len(a.HardwareAddr), a.NumTxQueues, a.NumRxQueues, a.Group,
			a.Xdp != nil && a.Xdp.Attached, a.Statistics != nil, a.Slave, a.Promisc, kind)
	}
}

func links() {
	listLinks()
	say("lo up", netlink.LinkSetUp(link("lo")))
	say("veth", netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "v0", MTU: 1400}, PeerName: "v1"}))
	say("veth again", netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "v0"}, PeerName: "v2"}))
	say("dummy", netlink.LinkAdd(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "d0"}}))
	listLinks()
	say("up", netlink.LinkSetUp(link("v0")))
	say("other up", netlink.LinkSetUp(link("v1")))
	say("dummy up", netlink.LinkSetUp(link("d0")))
	say("mtu", netlink.LinkSetMTU(link("v0"), 1300))
	say("alias", netlink.LinkSetAlias(link("v0"), "the first"))
	say("queue", netlink.LinkSetTxQLen(link("v0"), 77))
	say("address", netlink.LinkSetHardwareAddr(link("v0"), net.HardwareAddr{2, 0, 0, 0, 0, 1}))
	say("multicast off", netlink.LinkSetMulticastOff(link("d0")))
	say("promiscuous", netlink.SetPromiscOn(link("d0")))
	say("other name", netlink.LinkAddAltName(link("d0"), "another"))
	say("name", netlink.LinkSetName(link("d0"), "d9"))
	say("no name", netlink.LinkSetName(link("d9"), "v1"))
	listLinks()
	_, err := netlink.LinkByName("none")
	say("by name", err)
	_, err = netlink.LinkByIndex(4711)
	say("by index", err)
	l, err := netlink.LinkByAlias("the first")
	say("by alias", err)
	if err == nil {
		fmt.Println(" ", l.Attrs().Name)
	}
	say("group", netlink.LinkSetGroup(link("d9"), 7))
	say("down", netlink.LinkSetDown(link("d9")))
	say("delete", netlink.LinkDel(link("d9")))
	say("delete again", netlink.LinkDel(link("d9")))
}

func listAddresses(family int) {
	list, err := netlink.AddrList(nil, family)
	say("list addresses", err)
	for _, a := range list {
		if a.IP.IsLinkLocalUnicast() {
			continue
		}
		fmt.Printf("  %v peer %v label %q flags %x scope %d broadcast %v device %d valid %d preferred %d\n", a.IPNet, a.Peer, a.Label, a.Flags&^unix.IFA_F_TENTATIVE, a.Scope, a.Broadcast, a.LinkIndex, a.ValidLft, a.PreferedLft)
	}
}

func address(text string) *netlink.Addr {
	a, err := netlink.ParseAddr(text)
	if err != nil {
		panic(err)
	}
	if a.IP.To4() == nil {
		a.Flags = unix.IFA_F_NODAD
	}
	return a
}

func addresses() {
	v0 := link("v0")
	say("add", netlink.AddrAdd(v0, address("10.1.0.1/24")))
	say("add again", netlink.AddrAdd(v0, address("10.1.0.1/24")))
	say("replace", netlink.AddrReplace(v0, address("10.1.0.1/24")))
	say("second", netlink.AddrAdd(v0, address("10.1.0.2/24")))
	point := address("10.2.0.1/32")
	point.Peer = address("10.2.0.9/32").IPNet
	say("peer", netlink.AddrAdd(v0, point))
	label := address("10.3.0.1/24")
	label.Label = "v0:x"
	label.Broadcast = net.IPv4(10, 3, 0, 255).To4()
	say("label", netlink.AddrAdd(v0, label))
	short := address("10.4.0.1/24")
	short.ValidLft, short.PreferedLft = 4000, 2000
	say("lifetime", netlink.AddrAdd(v0, short))
	say("IPv6", netlink.AddrAdd(v0, address("fd00::1/64")))
	say("no device", netlink.AddrAdd(link("none"), address("10.5.0.1/24")))
	listAddresses(netlink.FAMILY_V4)
	listAddresses(netlink.FAMILY_ALL)
	say("delete", netlink.AddrDel(v0, address("10.1.0.2/24")))
	say("delete again", netlink.AddrDel(v0, address("10.1.0.2/24")))
	list, err := netlink.AddrList(v0, netlink.FAMILY_V4)
	fmt.Println("of the device:", len(list), err)
	list, err = netlink.AddrList(link("v1"), netlink.FAMILY_V4)
	fmt.Println("of the other:", len(list), err)
}

func routeText(r netlink.Route) string {
	hops := ""
	for _, h := range r.MultiPath {
		hops += fmt.Sprintf(" [via %v device %d weight %d flags %v]", h.Gw, h.LinkIndex, h.Hops, h.ListFlags())
	}
	return fmt.Sprintf("%v via %v src %v device %d table %d proto %v scope %v type %d prio %d mtu %d flags %v tos %d%s", r.Dst, r.Gw, r.Src, r.LinkIndex, r.Table, r.Protocol, r.Scope, r.Type, r.Priority, r.MTU, r.ListFlags(), r.Tos, hops)
}

func listRoutes(what string, family int, filter *netlink.Route, mask uint64) {
	list, err := netlink.RouteListFiltered(family, filter, mask)
	say("list routes "+what, err)
	for _, r := range list {
		if r.Dst != nil && (r.Dst.IP.IsLinkLocalUnicast() || r.Dst.IP.IsMulticast()) {
			continue
		}
		fmt.Println(" ", routeText(r))
	}
}

func network(text string) *net.IPNet {
	_, n, err := net.ParseCIDR(text)
	if err != nil {
		panic(err)
	}
	return n
}

func routes() {
	v0 := link("v0").Attrs().Index
	gateway := &netlink.Route{LinkIndex: v0, Dst: network("192.0.2.0/24"), Gw: net.IPv4(10, 1, 0, 9)}
	say("gateway", netlink.RouteAdd(gateway))
	say("gateway again", netlink.RouteAdd(gateway))
	say("append", netlink.RouteAppend(&netlink.Route{LinkIndex: v0, Dst: network("192.0.2.0/24"), Gw: net.IPv4(10, 1, 0, 8)}))
	say("change", netlink.RouteChange(&netlink.Route{LinkIndex: v0, Dst: network("192.0.2.0/24"), Gw: net.IPv4(10, 1, 0, 7)}))
	say("change of nothing", netlink.RouteChange(&netlink.Route{LinkIndex: v0, Dst: network("192.0.9.0/24"), Gw: net.IPv4(10, 1, 0, 7)}))
	say("mtu", netlink.RouteAdd(&netlink.Route{LinkIndex: v0, Dst: network("192.0.3.0/24"), Gw: net.IPv4(10, 1, 0, 9), MTU: 1200, Priority: 5}))
	say("source", netlink.RouteAdd(&netlink.Route{LinkIndex: v0, Dst: network("192.0.4.0/24"), Src: net.IPv4(10, 1, 0, 1), Scope: netlink.SCOPE_LINK, Table: 100}))
	say("several", netlink.RouteReplace(&netlink.Route{Dst: network("192.0.5.0/24"), MultiPath: []*netlink.NexthopInfo{{LinkIndex: v0, Gw: net.IPv4(10, 1, 0, 3)}, {LinkIndex: v0, Gw: net.IPv4(10, 1, 0, 4), Hops: 2}}}))
	say("default", netlink.RouteAdd(&netlink.Route{Gw: net.IPv4(10, 1, 0, 254)}))
	say("far", netlink.RouteAdd(&netlink.Route{Dst: network("192.0.6.0/24"), Gw: net.IPv4(172, 31, 0, 1)}))
	say("onlink", netlink.RouteAdd(&netlink.Route{LinkIndex: v0, Dst: network("192.0.6.0/24"), Gw: net.IPv4(172, 31, 0, 1), Flags: int(netlink.FLAG_ONLINK)}))
	say("blackhole", netlink.RouteAdd(&netlink.Route{Dst: network("192.0.7.0/24"), Type: unix.RTN_BLACKHOLE}))
	say("IPv6", netlink.RouteAdd(&netlink.Route{LinkIndex: v0, Dst: network("2001:db8::/32"), Gw: net.ParseIP("fd00::9")}))
	listRoutes("main", netlink.FAMILY_V4, &netlink.Route{}, 0)
	listRoutes("table 100", netlink.FAMILY_V4, &netlink.Route{Table: 100}, netlink.RT_FILTER_TABLE)
	listRoutes("local", netlink.FAMILY_V4, &netlink.Route{Table: unix.RT_TABLE_LOCAL, LinkIndex: v0}, netlink.RT_FILTER_TABLE|netlink.RT_FILTER_OIF)
	listRoutes("IPv6", netlink.FAMILY_V6, &netlink.Route{}, 0)
	for _, to := range []string{"192.0.2.7", "192.0.3.1", "10.1.0.77", "10.1.0.1", "8.8.8.8", "192.0.7.1", "127.0.0.1", "2001:db8::7"} {
		list, err := netlink.RouteGet(net.ParseIP(to))
		say("get "+to, err)
		for _, r := range list {
			fmt.Println(" ", routeText(r))
		}
	}
	say("delete", netlink.RouteDel(&netlink.Route{Dst: network("192.0.3.0/24")}))
	say("delete again", netlink.RouteDel(&netlink.Route{Dst: network("192.0.3.0/24")}))
	say("delete other", netlink.RouteDel(&netlink.Route{Dst: network("192.0.2.0/24"), Gw: net.IPv4(10, 1, 0, 99)}))
}

func neighbors() {
	v0 := link("v0").Attrs().Index
	mac := net.HardwareAddr{2, 0, 0, 0, 0, 0x50}
	near := &netlink.Neigh{LinkIndex: v0, IP: net.IPv4(10, 1, 0, 50), HardwareAddr: mac, State: netlink.NUD_PERMANENT}
	say("neighbor", netlink.NeighAdd(near))
	say("neighbor again", netlink.NeighAdd(near))
	say("set", netlink.NeighSet(near))
	say("other", netlink.NeighAdd(&netlink.Neigh{LinkIndex: v0, IP: net.ParseIP("fd00::50"), HardwareAddr: mac, State: netlink.NUD_PERMANENT}))
	say("no address", netlink.NeighAdd(&netlink.Neigh{LinkIndex: v0, IP: net.IPv4(10, 1, 0, 51), State: netlink.NUD_PERMANENT}))
	say("no device", netlink.NeighAdd(&netlink.Neigh{LinkIndex: 4711, IP: net.IPv4(10, 1, 0, 51), HardwareAddr: mac, State: netlink.NUD_PERMANENT}))
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		list, err := netlink.NeighList(0, family)
		say("list neighbors", err)
		sort.Slice(list, func(i, k int) bool { return list[i].IP.String() < list[k].IP.String() })
		for _, n := range list {
			if !n.IP.IsMulticast() {
				fmt.Printf("  %v %v state %x flags %x type %d device %d family %d\n", n.IP, n.HardwareAddr, n.State, n.Flags, n.Type, n.LinkIndex, n.Family)
			}
		}
	}
	list, err := netlink.NeighList(1, netlink.FAMILY_V4)
	fmt.Println("of lo:", len(list), err)
	say("delete", netlink.NeighDel(near))
	say("delete again", netlink.NeighDel(near))
}

func listDisciplines() {
	list, err := netlink.QdiscList(nil)
	say("list qdiscs", err)
	for _, q := range list {
		a := q.Attrs()
		fmt.Printf("  %s handle %s parent %s device %d uses %d\n", q.Type(), netlink.HandleStr(a.Handle), netlink.HandleStr(a.Parent), a.LinkIndex, a.Refcnt)
	}
}

func clsact(device int) *netlink.Clsact {
	return &netlink.Clsact{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: device, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}}
}

func disciplines() {
	v0 := link("v0").Attrs().Index
	say("clsact", netlink.QdiscAdd(clsact(v0)))
	say("clsact again", netlink.QdiscAdd(clsact(v0)))
	say("ingress", netlink.QdiscAdd(&netlink.Ingress{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link("v1").Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_INGRESS}}))
	say("no device", netlink.QdiscAdd(clsact(4711)))
	listDisciplines()
	say("delete", netlink.QdiscDel(&netlink.Ingress{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link("v1").Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_INGRESS}}))
	say("delete again", netlink.QdiscDel(&netlink.Ingress{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link("v1").Attrs().Index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_INGRESS}}))
	classes, err := netlink.ClassList(link("v0"), 0)
	fmt.Println("classes:", len(classes), err)
}

// program loads a program of a type that returns 0.
func program(typ uint32) int {
	code := [16]byte{0xb7, 0, 0, 0, 0, 0, 0, 0, 0x95}
	license := [4]byte{'G', 'P', 'L'}
	attr := struct {
		typ, count    uint32
		code, license uint64
		rest          [128]byte
	}{typ: typ, count: 2, code: uint64(uintptr(unsafe.Pointer(&code))), license: uint64(uintptr(unsafe.Pointer(&license)))}
	fd, _, e := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_LOAD, uintptr(unsafe.Pointer(&attr)), 48)
	if e != 0 {
		fmt.Println("load:", e)
	}
	return int(fd)
}

func filter(device int, parent uint32, handle uint32, fd int, name string) *netlink.BpfFilter {
	return &netlink.BpfFilter{FilterAttrs: netlink.FilterAttrs{LinkIndex: device, Parent: parent, Handle: handle, Protocol: unix.ETH_P_ALL, Priority: 1}, Fd: fd, Name: name, DirectAction: true}
}

func listFilters(device netlink.Link, parent uint32) {
	list, err := netlink.FilterList(device, parent)
	say("list filters", err)
	for _, f := range list {
		a := f.Attrs()
		b, _ := f.(*netlink.BpfFilter)
		if b == nil {
			b = &netlink.BpfFilter{}
		}
		fmt.Printf("  %s device %d handle %x parent %s prio %d protocol %x name %q direct %t id %t tag %q class %x\n", f.Type(), a.LinkIndex, a.Handle, netlink.HandleStr(a.Parent), a.Priority, a.Protocol, b.Name, b.DirectAction, b.Id != 0, b.Tag, b.ClassId)
	}
}

func filters() {
	v0 := link("v0")
	device := v0.Attrs().Index
	fd := program(unix.BPF_PROG_TYPE_SCHED_CLS)
	say("filter", netlink.FilterAdd(filter(device, netlink.HANDLE_MIN_INGRESS, 1, fd, "one")))
	say("filter again", netlink.FilterAdd(filter(device, netlink.HANDLE_MIN_INGRESS, 1, fd, "one")))
	say("egress", netlink.FilterReplace(filter(device, netlink.HANDLE_MIN_EGRESS, 1, fd, "two")))
	say("bad descriptor", netlink.FilterAdd(filter(device, netlink.HANDLE_MIN_EGRESS, 2, 999, "three")))
	say("no device", netlink.FilterAdd(filter(4711, netlink.HANDLE_MIN_EGRESS, 2, fd, "three")))
	say("no qdisc", netlink.FilterAdd(filter(link("v1").Attrs().Index, netlink.HANDLE_MIN_EGRESS, 2, fd, "three")))
	listFilters(v0, netlink.HANDLE_MIN_INGRESS)
	listFilters(v0, netlink.HANDLE_MIN_EGRESS)
	say("delete", netlink.FilterDel(filter(device, netlink.HANDLE_MIN_EGRESS, 1, fd, "two")))
	say("delete again", netlink.FilterDel(filter(device, netlink.HANDLE_MIN_EGRESS, 1, fd, "two")))
	listFilters(v0, netlink.HANDLE_MIN_EGRESS)
	xdp := program(unix.BPF_PROG_TYPE_XDP)
	say("xdp", netlink.LinkSetXdpFd(v0, xdp))
	say("xdp only once", netlink.LinkSetXdpFdWithFlags(v0, xdp, 1))
	if a := link("v0").Attrs().Xdp; a != nil {
		fmt.Println("  attached", a.Attached, a.AttachMode, a.ProgId != 0)
	}
	say("no xdp", netlink.LinkSetXdpFd(v0, -1))
}

func errorsOfAll() {
	say("kind", netlink.LinkAdd(&netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Name: "x0"}, LinkType: "no-such-kind"}))
	say("long name", netlink.LinkAdd(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "a-name-that-is-far-too-long"}}))
	say("bad name", netlink.LinkAdd(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Name: "a/b"}}))
	say("mtu of a veth", netlink.LinkSetMTU(link("v0"), 10))
	say("mtu of nothing", netlink.LinkSetMTU(link("none"), 1500))
	say("address", netlink.LinkSetHardwareAddr(link("v0"), net.HardwareAddr{2, 0, 0, 1}))
	say("multicast address", netlink.LinkSetHardwareAddr(link("v0"), net.HardwareAddr{1, 0, 0, 0, 0, 1}))
	say("delete lo", netlink.LinkDel(link("lo")))
	say("bits", netlink.AddrAdd(link("v0"), &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}}))
	say("route", netlink.RouteAdd(&netlink.Route{LinkIndex: 4711, Dst: network("203.0.113.0/24")}))
	say("to a route's end", netlink.RouteDel(&netlink.Route{Dst: network("203.0.113.0/24"), Gw: net.IPv4(10, 1, 0, 9)}))
}

// told subscribes to all changes and prints what comes of some.
func told() {
	done := make(chan struct{})
	defer close(done)
	links, addrs, routes, neighs := make(chan netlink.LinkUpdate, 100), make(chan netlink.AddrUpdate, 100), make(chan netlink.RouteUpdate, 100), make(chan netlink.NeighUpdate, 100)
	say("subscribe to links", netlink.LinkSubscribe(links, done))
	say("to addresses", netlink.AddrSubscribe(addrs, done))
	say("to routes", netlink.RouteSubscribe(routes, done))
	say("to neighbors", netlink.NeighSubscribe(neighs, done))
	v1 := link("v1")
	say("mtu", netlink.LinkSetMTU(v1, 1280))
	say("add", netlink.AddrAdd(v1, address("10.7.0.1/24")))
	say("route", netlink.RouteAdd(&netlink.Route{LinkIndex: v1.Attrs().Index, Dst: network("198.51.100.0/24"), Gw: net.IPv4(10, 7, 0, 2)}))
	say("neighbor", netlink.NeighAdd(&netlink.Neigh{LinkIndex: v1.Attrs().Index, IP: net.IPv4(10, 7, 0, 3), HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 3}, State: netlink.NUD_PERMANENT}))
	say("down", netlink.LinkSetDown(v1))
	var lines []string
	for {
		select {
		case u := <-links:
			fmt.Printf("  link %d %s mtu %d up %t\n", u.Header.Type, u.Attrs().Name, u.Attrs().MTU, u.IfInfomsg.Flags&unix.IFF_UP != 0)
			continue
		case u := <-addrs:
			if !u.LinkAddress.IP.IsLinkLocalUnicast() {
				lines = append(lines, fmt.Sprintf("  address %v new %t device %d", u.LinkAddress.String(), u.NewAddr, u.LinkIndex))
			}
			continue
		case u := <-routes:
			if u.Dst == nil || !u.Dst.IP.IsLinkLocalUnicast() && !u.Dst.IP.IsMulticast() {
				lines = append(lines, fmt.Sprintf("  route %d %s", u.Type, routeText(u.Route)))
			}
			continue
		case u := <-neighs:
			if !u.IP.IsMulticast() {
				lines = append(lines, fmt.Sprintf("  neighbor %d %v state %x", u.Type, u.IP, u.State))
			}
			continue
		case <-time.After(300 * time.Millisecond):
		}
		break
	}
	sort.SliceStable(lines, func(i, k int) bool { return kindOf(lines[i]) < kindOf(lines[k]) })
	fmt.Println(strings.Join(lines, "\n"))
}

func kindOf(line string) string { return strings.Fields(line)[0] }

// others asks other families, which a namespace has nothing of.
func others() {
	rules, err := netlink.RuleList(netlink.FAMILY_V4)
	say("rules", err)
	for _, r := range rules {
		fmt.Println(" ", r.Priority, r.Table)
	}
	_, err = netlink.GenlFamilyGet("nlctrl")
	say("generic netlink", err)
	_, err = netlink.GenlFamilyGet("no-such-family")
	say("no family", err)
	nexthop, err := netlink.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Dst: network("192.0.2.0/24")}, netlink.RT_FILTER_DST)
	fmt.Println("filtered:", len(nexthop), err)
	id, err := netlink.GetNetNsIdByPid(os.Getpid())
	fmt.Println("id of the namespace:", id, err)
}
