// Command mdlayher uses github.com/mdlayher/netlink, github.com/jsimonetti/rtnetlink and
// github.com/mdlayher/ethtool in a network namespace of its own and prints what it is answered,
// without what differs from run to run.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sort"
	"syscall"
	"time"

	"github.com/jsimonetti/rtnetlink"
	"github.com/mdlayher/ethtool"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// The state of an address or a device that the kernel changes a little later is not printed.

// device is the index of the device d0.
const device = 3

func main() {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		fmt.Println("namespace:", err)
		os.Exit(1)
	}
	c, err := rtnetlink.Dial(&netlink.Config{Strict: len(os.Args) > 1 && os.Args[1] == "strict"})
	if err != nil {
		fmt.Println("dial:", err)
		os.Exit(1)
	}
	links(c)
	addresses(c)
	routes(c)
	neighbors(c)
	raw()
	told(c)
	cards()
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

func links(c *rtnetlink.Conn) {
	kind := func(name, kind string) *rtnetlink.LinkMessage {
		return &rtnetlink.LinkMessage{Attributes: &rtnetlink.LinkAttributes{Name: name, Info: &rtnetlink.LinkInfo{Kind: kind}}}
	}
	say("veth", c.Link.New(kind("d0", "veth"))) // its other end gets index 2, itself 3
	say("veth again", c.Link.New(kind("d0", "veth")))
	say("another", c.Link.New(kind("v0", "veth")))
	say("kind", c.Link.New(kind("x0", "no-such-kind")))
	up := func(i uint32, flags uint32) error {
		return c.Link.Set(&rtnetlink.LinkMessage{Family: unix.AF_UNSPEC, Index: i, Flags: flags, Change: unix.IFF_UP})
	}
	say("up", up(device, unix.IFF_UP))
	say("the other", up(2, unix.IFF_UP))
	say("lo", up(1, unix.IFF_UP))
	say("nothing up", up(4711, unix.IFF_UP))
	list, err := c.Link.List()
	say("list", err)
	for _, l := range list {
		a := l.Attributes
		fmt.Printf("  %d %s type %d flags %x mtu %d queue %d qdisc %q info %v address of %d bytes, broadcast of %d, link %d, statistics %t %t, xdp %v\n", l.Index, a.Name, l.Type, l.Flags&^unix.IFF_RUNNING, a.MTU, *a.TxQueueLen, a.QueueDisc, a.Info != nil && a.Info.Kind != "", len(a.Address), len(a.Broadcast), a.Type,
			a.Stats != nil, a.Stats64 != nil, a.XDP != nil && a.XDP.Attached != 0)
	}
	_, err = c.Link.Get(4711)
	say("get nothing", err)
	one, err := c.Link.Get(device)
	say("get", err)
	if err == nil {
		fmt.Println(" ", one.Attributes.Name)
	}
	say("delete nothing", c.Link.Delete(4711))
	say("delete lo", c.Link.Delete(1))
	say("delete", c.Link.Delete(4))
	list, err = c.Link.List()
	fmt.Println("left:", len(list), err)
}

func addresses(c *rtnetlink.Conn) {
	add := func(text string, device uint32) error {
		ip, n, _ := net.ParseCIDR(text)
		bits, _ := n.Mask.Size()
		family, flags := uint8(unix.AF_INET), uint8(0)
		if four := ip.To4(); four != nil {
			ip = four
		} else {
			family, flags = unix.AF_INET6, unix.IFA_F_NODAD
		}
		return c.Address.New(&rtnetlink.AddressMessage{Family: family, PrefixLength: uint8(bits), Flags: flags, Index: device, Attributes: &rtnetlink.AddressAttributes{Address: ip, Local: ip}})
	}
	say("address", add("10.1.0.1/24", device))
	say("address again", add("10.1.0.1/24", device))
	say("IPv6", add("fd00::1/64", device))
	say("bits", add("10.1.0.1/24", 4711))
	list, err := c.Address.List()
	say("list addresses", err)
	for _, a := range list {
		if !a.Attributes.Address.IsLinkLocalUnicast() {
			fmt.Printf("  family %d /%d flags %x scope %d device %d %v local %v label %q broadcast %v all flags %x lifetimes %x %x\n", a.Family, a.PrefixLength, a.Flags&^unix.IFA_F_TENTATIVE, a.Scope, a.Index, a.Attributes.Address, a.Attributes.Local, a.Attributes.Label, a.Attributes.Broadcast,
				a.Attributes.Flags&^unix.IFA_F_TENTATIVE, a.Attributes.CacheInfo.Valid, a.Attributes.CacheInfo.Prefered)
		}
	}
}

func routes(c *rtnetlink.Conn) {
	add := func(to string, via net.IP, device, priority uint32) *rtnetlink.RouteMessage {
		_, n, _ := net.ParseCIDR(to)
		bits, _ := n.Mask.Size()
		return &rtnetlink.RouteMessage{Family: unix.AF_INET, DstLength: uint8(bits), Table: unix.RT_TABLE_MAIN, Protocol: unix.RTPROT_BOOT, Scope: unix.RT_SCOPE_UNIVERSE, Type: unix.RTN_UNICAST,
			Attributes: rtnetlink.RouteAttributes{Dst: n.IP.To4(), Gateway: via, OutIface: device, Priority: priority}}
	}
	say("route", c.Route.Add(add("192.0.2.0/24", net.IPv4(10, 1, 0, 9).To4(), device, 7)))
	say("route again", c.Route.Add(add("192.0.2.0/24", net.IPv4(10, 1, 0, 9).To4(), device, 7)))
	say("far", c.Route.Add(add("192.0.3.0/24", net.IPv4(172, 31, 0, 9).To4(), device, 7)))
	say("no device", c.Route.Add(add("192.0.3.0/24", nil, 4711, 7)))
	list, err := c.Route.List()
	say("list routes", err)
	for _, r := range list {
		if r.Family == unix.AF_INET {
			a := r.Attributes
			fmt.Printf("  %v/%d via %v src %v device %d table %d priority %d protocol %d scope %d type %d flags %x\n", a.Dst, r.DstLength, a.Gateway, a.Src, a.OutIface, a.Table, a.Priority, r.Protocol, r.Scope, r.Type, r.Flags)
		}
	}
	got, err := c.Route.Get(&rtnetlink.RouteMessage{Family: unix.AF_INET, DstLength: 32, Attributes: rtnetlink.RouteAttributes{Dst: net.IPv4(192, 0, 2, 7).To4()}})
	say("get", err)
	for _, r := range got {
		fmt.Printf("  via %v src %v device %d\n", r.Attributes.Gateway, r.Attributes.Src, r.Attributes.OutIface)
	}
	gone := add("192.0.2.0/24", nil, device, 7)
	say("delete", c.Route.Delete(gone))
	say("delete again", c.Route.Delete(gone))
}

func neighbors(c *rtnetlink.Conn) {
	near := &rtnetlink.NeighMessage{Family: unix.AF_INET, Index: device, State: unix.NUD_PERMANENT, Attributes: &rtnetlink.NeighAttributes{Address: net.IPv4(10, 1, 0, 50).To4(), LLAddress: net.HardwareAddr{2, 0, 0, 0, 0, 0x50}}}
	say("neighbor", c.Neigh.New(near))
	say("neighbor again", c.Neigh.New(near))
	list, err := c.Neigh.List()
	say("list neighbors", err)
	for _, n := range list {
		if n.Family == unix.AF_INET {
			fmt.Printf("  %v %v state %x device %d type %d\n", n.Attributes.Address, n.Attributes.LLAddress, n.State, n.Index, n.Type)
		}
	}
	say("delete", c.Neigh.Delete(near.Index))
	say("delete again", c.Neigh.Delete(near.Index))
}

// raw sends messages that are wrong in several ways: errors must have the request behind them, or
// say that they have not (NLM_F_CAPPED).
func raw() {
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		fmt.Println("raw:", err)
		return
	}
	defer c.Close()
	for _, option := range []netlink.ConnOption{0, netlink.ExtendedAcknowledge, netlink.CapAcknowledge} {
		if option != 0 {
			say(fmt.Sprint("option ", option), c.SetOption(option, true))
		}
		for _, m := range []struct {
			what string
			typ  netlink.HeaderType
			size int
		}{
			{"link", unix.RTM_GETLINK, 16}, {"no link", unix.RTM_DELLINK, 16}, {"short", unix.RTM_NEWLINK, 4}, {"address", unix.RTM_NEWADDR, 8}, {"route", unix.RTM_DELROUTE, 12}, {"neighbor", unix.RTM_DELNEIGH, 12},
			{"qdisc", unix.RTM_DELQDISC, 20}, {"filter", unix.RTM_DELTFILTER, 20}, {"unknown", 999, 16},
		} {
			body := make([]byte, m.size)
			if m.size > 4 {
				body[4] = 0x7f
			}
			_, err := c.Execute(netlink.Message{Header: netlink.Header{Type: m.typ, Flags: netlink.Request | netlink.Acknowledge}, Data: body})
			say(m.what, err)
		}
	}
}

func told(c *rtnetlink.Conn) {
	g, err := netlink.Dial(unix.NETLINK_ROUTE, &netlink.Config{Groups: 1 << (unix.RTNLGRP_LINK - 1)})
	if err != nil {
		fmt.Println("groups:", err)
		return
	}
	defer g.Close()
	say("join", g.JoinGroup(unix.RTNLGRP_IPV4_IFADDR))
	say("mtu", c.Link.Set(&rtnetlink.LinkMessage{Index: device, Attributes: &rtnetlink.LinkAttributes{Name: "d0", MTU: 1280}}))
	ip := net.IPv4(10, 9, 0, 1).To4()
	say("address", c.Address.New(&rtnetlink.AddressMessage{Family: unix.AF_INET, PrefixLength: 24, Index: device, Attributes: &rtnetlink.AddressAttributes{Address: ip, Local: ip}}))
	say("leave", g.LeaveGroup(unix.RTNLGRP_IPV4_IFADDR))
	say("deadline", g.SetReadDeadline(time.Now().Add(time.Second)))
	for {
		list, err := g.Receive()
		if err != nil {
			fmt.Println("  end:", errors.Is(err, os.ErrDeadlineExceeded))
			return
		}
		for _, m := range list {
			fmt.Printf("  %d flags %x of device %d\n", m.Header.Type, uint16(m.Header.Flags), m.Data[4])
		}
	}
}

// cards asks by ethtool's family of generic netlink.
func cards() {
	c, err := ethtool.New()
	if err != nil {
		say("ethtool", err)
		return
	}
	defer c.Close()
	infos, err := c.LinkInfos()
	say("link infos", err)
	sort.Slice(infos, func(i, k int) bool { return infos[i].Interface.Index < infos[k].Interface.Index })
	for _, i := range infos {
		fmt.Printf("  %d %s port %v\n", i.Interface.Index, i.Interface.Name, i.Port)
	}
	modes, err := c.LinkModes()
	say("link modes", err)
	for _, m := range modes {
		fmt.Printf("  %d %s speed %d duplex %v\n", m.Interface.Index, m.Interface.Name, m.SpeedMegabits, m.Duplex)
	}
	states, err := c.LinkStates()
	say("link states", err)
	for _, s := range states {
		fmt.Printf("  %d %s %t\n", s.Interface.Index, s.Interface.Name, s.Link)
	}
	_, err = c.LinkInfo(ethtool.Interface{Name: "none"})
	say("none", err)
	_, err = c.WakeOnLAN(ethtool.Interface{Name: "d0"})
	say("wake", err)
}
