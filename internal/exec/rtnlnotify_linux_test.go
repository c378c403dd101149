//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"net/netip"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tools["watchroutes"] = watchRoutesTool
}

// watchRoutesTool joins groups, by address and by option, changes the network and prints what it is
// told: of a thread that waits in recvmsg(2), and of an epoll instance.
func watchRoutesTool() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	c, err := converse()
	if err != nil {
		return err
	}
	waits, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	if err := unix.Bind(waits, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1 << (unix.RTNLGRP_LINK - 1)}); err != nil {
		return err
	}
	polls, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	if err := unix.Bind(polls, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	for _, group := range []int{unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_NEIGH} {
		if err := unix.SetsockoptInt(polls, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, group); err != nil {
			return err
		}
	}
	ep, err := unix.EpollCreate1(0)
	if err != nil {
		return err
	}
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, polls, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		return err
	}
	told := make(chan string)
	go func() {
		runtime.LockOSThread()
		for {
			b := make([]byte, maxNetlink)
			n, _, err := unix.Recvfrom(waits, b, 0)
			if err != nil {
				told <- err.Error()
				return
			}
			told <- fmt.Sprintf("%d of device %d", le.Uint16(b[4:]), le.Uint32(b[20:n]))
		}
	}()
	do := func(what string, typ, flags uint16, body []byte) {
		_, e, err := c.ask(typ, flags, body)
		fmt.Println(what, unix.ErrnoName(e), err)
	}
	all := func() {
		b := make([]byte, maxNetlink)
		ev := make([]unix.EpollEvent, 1)
		n, err := unix.EpollWait(ep, ev, 5000)
		fmt.Println("  ready", n, err)
		for {
			n, _, err := unix.Recvfrom(polls, b, 0)
			if err != nil {
				fmt.Println(" ", err)
				break
			}
			typ := le.Uint16(b[4:])
			if typ == unix.RTM_DELNEIGH { // whose times are left out as those of the others
				le.PutUint16(b[4:], unix.RTM_NEWNEIGH)
			}
			fmt.Printf("  %d flags %x of %t: %s\n", typ, le.Uint16(b[6:]), le.Uint32(b[8:]) == c.seq, answerText(b[:n]))
		}
		n, err = unix.EpollWait(ep, ev, 0)
		fmt.Println("  ready", n, err)
	}
	const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL
	info := appendAttribute(nil, unix.IFLA_INFO_KIND, []byte("veth\x00"))
	do("create", unix.RTM_NEWLINK, create, appendAttribute(make([]byte, ifinfomsgSize), unix.IFLA_LINKINFO, info))
	fmt.Println(" ", <-told)
	fmt.Println(" ", <-told)
	for index, also := range map[uint32]int{3: 1} {
		b := make([]byte, ifinfomsgSize)
		le.PutUint32(b[4:], index)
		le.PutUint32(b[8:], unix.IFF_UP)
		le.PutUint32(b[12:], unix.IFF_UP)
		do("up", unix.RTM_NEWLINK, 0, b)
		for range also {
			fmt.Println(" ", <-told)
		}
	}
	ip := func(text string) []byte { return netip.MustParseAddr(text).AsSlice() }
	a := append([]byte{unix.AF_INET, 24, 0, 0}, le.AppendUint32(nil, 3)...)
	a = appendAttribute(appendAttribute(a, unix.IFA_LOCAL, ip("10.9.0.1")), unix.IFA_ADDRESS, ip("10.9.0.1"))
	do("address", unix.RTM_NEWADDR, create, a)
	all()
	hop := func(via string) []byte {
		gateway := appendAttribute(nil, unix.RTA_GATEWAY, ip(via))
		return append(append(le.AppendUint16(nil, uint16(8+len(gateway))), 0, 0, 3, 0, 0, 0), gateway...)
	}
	route := []byte{unix.AF_INET, 16, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, 0, unix.RTN_UNICAST, 0, 0, 0, 0}
	route = appendAttribute(route, unix.RTA_DST, ip("10.8.0.0"))
	several := appendAttribute(route[:len(route):len(route)], unix.RTA_MULTIPATH, append(hop("10.9.0.2"), hop("10.9.0.3")...))
	do("route", unix.RTM_NEWROUTE, create, several)
	all()
	do("again", unix.RTM_NEWROUTE, create, several)
	one := appendAttribute(route[:len(route):len(route)], unix.RTA_GATEWAY, ip("10.9.0.4"))
	do("replaced", unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, one)
	all()
	do("bad way", unix.RTM_NEWROUTE, create, appendAttribute(route[:len(route):len(route)], unix.RTA_MULTIPATH, hop("10.9.0.2")[:12]))
	do("far way", unix.RTM_NEWROUTE, create, appendAttribute(appendAttribute(route[:12:12], unix.RTA_DST, ip("10.7.0.0")), unix.RTA_MULTIPATH, append(hop("10.11.0.2"), hop("10.9.0.3")...)))
	n := append([]byte{unix.AF_INET, 0, 0, 0}, le.AppendUint32(nil, 3)...)
	n = append(le.AppendUint16(n, 0x80), 0, 0)
	n = appendAttribute(appendAttribute(n, unix.NDA_DST, ip("10.9.0.5")), unix.NDA_LLADDR, []byte{2, 0, 0, 0, 0, 5})
	do("neighbor", unix.RTM_NEWNEIGH, create, n)
	all()
	do("no neighbor", unix.RTM_DELNEIGH, 0, n)
	all()
	do("no address", unix.RTM_DELADDR, 0, a)
	all()
	do("delete", unix.RTM_DELLINK, 0, le.AppendUint32(le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 0), 3), 0), 0))
	return nil
}

// TestToolsAreToldOfChangesOfTheNetwork: sockets that joined groups get what they get of a real
// kernel: testdata/rtnl-6.18.44.txt has what the same tool printed on that kernel.
func TestToolsAreToldOfChangesOfTheNetwork(t *testing.T) {
	want, err := os.ReadFile("testdata/rtnl-6.18.44.txt")
	require.NoError(t, err)
	r := start(t, "watchroutes", "", func(c *Config) { c.Root = true })
	assert.Equal(t, string(want), r.out, r.notes)
}

// TestToolsOfOthersAreToldOfChanges: ip monitor of iproute2 prints what another ip command does.
func TestToolsOfOthersAreToldOfChanges(t *testing.T) {
	if _, err := osexec.LookPath("ip"); err != nil {
		t.Skip(err)
	}
	r := start(t, "", "", func(c *Config) {
		c.Root = true
		c.Args = []string{"/bin/sh", "-c", `unshare -n sh -c '
			ip link add v0 type veth; ip link set v0 up
			ip monitor link address route & m=$!
			for i in 1 2 3 4 5 6 7 8 9; do grep -q skb_wait_for_more_packets /proc/$m/stack 2>/dev/null && break; sleep 0.1; done
			ip addr add 10.9.0.1/24 dev v0
			ip route add 10.8.0.0/16 nexthop via 10.9.0.2 dev v0 weight 1 nexthop via 10.9.0.3 dev v0 weight 2
			ip link set v0 mtu 1400
			sleep 0.3; kill $m'`}
	})
	for _, want := range []string{"inet 10.9.0.1/24 scope global v0", "local 10.9.0.1 dev v0 table local", "10.8.0.0/16", "nexthop via 10.9.0.3 dev v0 weight 2", "mtu 1400"} {
		assert.Contains(t, strings.ReplaceAll(r.out, "\t", " "), want, r.notes)
	}
}
