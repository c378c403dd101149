//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"net/netip"
	"os"
	osexec "os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tools["fib"] = fibTool
	tools["hostroutes"] = hostRoutesTool
}

// fibTool adds, lists and removes routes and neighbors in a network namespace.
func fibTool() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	c, err := converse()
	if err != nil {
		return err
	}
	const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL
	u32 := func(v uint32) []byte { return le.AppendUint32(nil, v) }
	ip := func(text string) []byte { return netip.MustParseAddr(text).AsSlice() }
	do := func(what string, typ, flags uint16, body []byte, attrs ...any) {
		for i := 0; i < len(attrs); i += 2 {
			body = appendAttribute(body, uint16(attrs[i].(int)), attrs[i+1].([]byte))
		}
		answers, e, err := c.ask(typ, flags, body)
		if err != nil {
			fmt.Println(what, err)
			return
		}
		fmt.Println(what, unix.ErrnoName(e))
		for _, a := range answers {
			fmt.Println(" ", answerText(a))
		}
	}
	family := func(text string) byte {
		if netip.MustParseAddr(text).Is4() {
			return unix.AF_INET
		}
		return unix.AF_INET6
	}
	route := func(what string, typ, flags uint16, prefix string, attrs ...any) {
		p := netip.MustParsePrefix(prefix)
		b := []byte{family(p.Addr().String()), byte(p.Bits()), 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST, 0, 0, 0, 0}
		if typ == unix.RTM_DELROUTE {
			b[5], b[6], b[7] = 0, unix.RT_SCOPE_NOWHERE, 0
		}
		if p.Bits() > 0 {
			attrs = append([]any{unix.RTA_DST, p.Addr().AsSlice()}, attrs...)
		}
		do(what, typ, flags, b, attrs...)
	}
	dump := func(what string, typ uint16, family byte, size int) {
		b := make([]byte, size)
		b[0] = family
		answers, e, err := c.ask(typ, unix.NLM_F_DUMP, b)
		fmt.Println("list", what, unix.ErrnoName(e), err)
		for _, a := range answers {
			fmt.Println(" ", answerText(a))
		}
	}
	routes4 := func() { dump("routes", unix.RTM_GETROUTE, unix.AF_INET, 12) }
	up := func(index, flags uint32) {
		b := make([]byte, ifinfomsgSize)
		le.PutUint32(b[4:], index)
		le.PutUint32(b[8:], flags)
		le.PutUint32(b[12:], unix.IFF_UP)
		do(fmt.Sprint("device ", index, " up ", flags), unix.RTM_NEWLINK, 0, b)
	}
	address := func(text string, flags byte) {
		p := netip.MustParsePrefix(text)
		do("address "+text, unix.RTM_NEWADDR, create, append([]byte{family(p.Addr().String()), byte(p.Bits()), flags, 0}, u32(2)...), unix.IFA_LOCAL, p.Addr().AsSlice(), unix.IFA_ADDRESS, p.Addr().AsSlice())
	}
	neighbor := func(what string, typ, flags uint16, text string, state uint16, lladdr ...byte) {
		b := append([]byte{family(text), 0, 0, 0}, u32(2)...)
		b = append(le.AppendUint16(b, state), 0, 0)
		attrs := []any{unix.NDA_DST, ip(text)}
		if lladdr != nil {
			attrs = append(attrs, unix.NDA_LLADDR, lladdr)
		}
		do(what, typ, flags, b, attrs...)
	}
	do("dummy", unix.RTM_NEWLINK, create, make([]byte, ifinfomsgSize), unix.IFLA_LINKINFO, appendAttribute(nil, unix.IFLA_INFO_KIND, []byte("dummy\x00")))
	up(1, unix.IFF_UP)
	address("10.1.2.3/24", 0)
	routes4()
	route("gateway of a device that is down", unix.RTM_NEWROUTE, create, "192.0.2.0/24", unix.RTA_GATEWAY, ip("10.1.2.9"), unix.RTA_OIF, u32(2))
	up(2, unix.IFF_UP)
	routes4()
	route("gateway", unix.RTM_NEWROUTE, create, "192.0.2.0/24", unix.RTA_GATEWAY, ip("10.1.2.9"), unix.RTA_OIF, u32(2))
	route("gateway again", unix.RTM_NEWROUTE, create, "192.0.2.0/24", unix.RTA_GATEWAY, ip("10.1.2.9"))
	route("gateway, other metric", unix.RTM_NEWROUTE, create, "192.0.2.0/24", unix.RTA_GATEWAY, ip("10.1.2.10"), unix.RTA_PRIORITY, u32(100))
	route("far gateway", unix.RTM_NEWROUTE, create, "198.51.100.0/24", unix.RTA_GATEWAY, ip("172.16.0.1"))
	route("no device", unix.RTM_NEWROUTE, create, "198.51.100.0/24", unix.RTA_OIF, u32(99))
	route("bits behind the prefix", unix.RTM_NEWROUTE, create, "198.51.100.1/24", unix.RTA_OIF, u32(2))
	route("nothing", unix.RTM_NEWROUTE, create, "198.51.100.0/24")
	route("change of nothing", unix.RTM_NEWROUTE, unix.NLM_F_REPLACE, "198.51.100.0/24", unix.RTA_OIF, u32(2))
	route("default", unix.RTM_NEWROUTE, create, "0.0.0.0/0", unix.RTA_GATEWAY, ip("10.1.2.1"))
	route("replaced default", unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, "0.0.0.0/0", unix.RTA_GATEWAY, ip("10.1.2.2"))
	routes4()
	for _, to := range []string{"192.0.2.7", "10.1.2.77", "10.1.2.3", "8.8.8.8", "127.0.0.9"} {
		do("get "+to, unix.RTM_GETROUTE, 0, []byte{unix.AF_INET, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, unix.RTA_DST, ip(to))
	}
	route("delete", unix.RTM_DELROUTE, 0, "192.0.2.0/24", unix.RTA_GATEWAY, ip("10.1.2.9"))
	route("delete the other", unix.RTM_DELROUTE, 0, "192.0.2.0/24")
	route("delete nothing", unix.RTM_DELROUTE, 0, "192.0.2.0/24")
	route("delete default", unix.RTM_DELROUTE, 0, "0.0.0.0/0")
	do("get 8.8.8.8", unix.RTM_GETROUTE, 0, []byte{unix.AF_INET, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, unix.RTA_DST, ip("8.8.8.8"))

	const permanent, reachable = unix.NUD_PERMANENT, unix.NUD_REACHABLE
	neighbor("neighbor", unix.RTM_NEWNEIGH, create, "10.1.2.50", permanent, 2, 0, 0, 0, 0, 0x50)
	neighbor("neighbor again", unix.RTM_NEWNEIGH, create, "10.1.2.50", permanent, 2, 0, 0, 0, 0, 0x51)
	neighbor("neighbor replaced", unix.RTM_NEWNEIGH, unix.NLM_F_REPLACE, "10.1.2.50", permanent, 2, 0, 0, 0, 0, 0x52)
	neighbor("neighbor without an address", unix.RTM_NEWNEIGH, create, "10.1.2.51", permanent)
	neighbor("short address", unix.RTM_NEWNEIGH, create, "10.1.2.52", permanent, 2)
	neighbor("change of no neighbor", unix.RTM_NEWNEIGH, unix.NLM_F_REPLACE, "10.1.2.53", permanent, 2, 0, 0, 0, 0, 0x53)
	neighbor("another", unix.RTM_NEWNEIGH, create, "fd00::50", permanent, 2, 0, 0, 0, 0, 0x60)
	dump("neighbors", unix.RTM_GETNEIGH, unix.AF_INET, 12)
	dump("all neighbors", unix.RTM_GETNEIGH, unix.AF_INET6, 12)
	neighbor("delete", unix.RTM_DELNEIGH, 0, "10.1.2.50", 0)
	neighbor("delete nothing", unix.RTM_DELNEIGH, 0, "10.1.2.99", 0)

	address("fd00::1/64", unix.IFA_F_NODAD)
	route("gateway", unix.RTM_NEWROUTE, create, "2001:db8::/32", unix.RTA_GATEWAY, ip("fd00::9"), unix.RTA_OIF, u32(2))
	route("gateway again", unix.RTM_NEWROUTE, create, "2001:db8::/32", unix.RTA_GATEWAY, ip("fd00::9"), unix.RTA_OIF, u32(2))
	route("far gateway", unix.RTM_NEWROUTE, create, "2001:db9::/32", unix.RTA_GATEWAY, ip("fd01::9"), unix.RTA_OIF, u32(2))
	dump("routes", unix.RTM_GETROUTE, unix.AF_INET6, 12)
	do("get 2001:db8::7", unix.RTM_GETROUTE, 0, []byte{unix.AF_INET6, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, unix.RTA_DST, ip("2001:db8::7"))
	do("get 2001:db9::7", unix.RTM_GETROUTE, 0, []byte{unix.AF_INET6, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, unix.RTA_DST, ip("2001:db9::7"))
	route("delete", unix.RTM_DELROUTE, 0, "2001:db8::/32")
	route("delete nothing", unix.RTM_DELROUTE, 0, "2001:db8::/32")

	route("gateway", unix.RTM_NEWROUTE, create, "192.0.2.0/24", unix.RTA_GATEWAY, ip("10.1.2.9"), unix.RTA_OIF, u32(2))
	up(2, 0)
	routes4()
	up(2, unix.IFF_UP)
	routes4()
	do("delete the address", unix.RTM_DELADDR, 0, append([]byte{unix.AF_INET, 24, 0, 0}, u32(2)...), unix.IFA_LOCAL, ip("10.1.2.3"))
	routes4()
	return nil
}

// answerText prints a message about a route or a neighbor: its fixed part in hexadecimal, then its
// attributes, but not those with times.
func answerText(m []byte) string {
	out := fmt.Sprintf("%d flags %x: %x", le.Uint16(m[4:]), le.Uint16(m[6:]), m[nlmsgHdrSize:nlmsgHdrSize+12])
	times := []uint16{unix.RTA_CACHEINFO}
	if typ := le.Uint16(m[4:]); typ == unix.RTM_NEWNEIGH {
		times = []uint16{unix.NDA_CACHEINFO, unix.NDA_PROBES}
	}
	attributes(m[nlmsgHdrSize+12:], func(typ uint16, data []byte) {
		if !slices.Contains(times, typ) {
			out += fmt.Sprintf(" %d=%x", typ, data)
		}
	})
	return out
}

// TestRoutesAndNeighborsAreThoseOfAKernel compares with what the tool printed where it ran
// natively, as root of a virtual machine with Debian's Linux 6.12.107, but for what IPv6 adds by
// itself: addresses of the link and multicast neighbors.
func TestRoutesAndNeighborsAreThoseOfAKernel(t *testing.T) {
	want, err := os.ReadFile("testdata/fib-6.12.107.txt")
	require.NoError(t, err)
	r := start(t, "fib", "", func(c *Config) { c.Root = true })
	got := regexp.MustCompile(`1=0a010233 2=[0-9a-f]{12}\b`).ReplaceAllString(r.out, "1=0a010233 2=its own") // a device's address is random
	assert.Equal(t, string(want), got, "%s", r.notes)
}

// TestRoutesOfTheHostStay: in the namespace of the host, routes and neighbors of simulated devices
// are served beside the host's.
func TestRoutesOfTheHostStay(t *testing.T) {
	r := start(t, "hostroutes", "", func(c *Config) { c.Root = true })
	assert.Equal(t, "route of the host EPERM\nsimulated \nown true\nall of the host true\nget true\nneighbor \nneighbors true\n", r.out, "%s", r.notes)
	assert.Contains(t, r.notes, "refused netlink message RTM_NEWROUTE, which would change the host's network")
}

// hostRoutesTool adds routes to a simulated device and to lo, and compares the lists before and
// after.
func hostRoutesTool() error {
	c, err := converse()
	if err != nil {
		return err
	}
	list := func(typ uint16) (out []string) {
		answers, _, _ := c.ask(typ, unix.NLM_F_DUMP, []byte{unix.AF_INET, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
		for _, a := range answers {
			out = append(out, answerText(a))
		}
		return out
	}
	const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL
	before := list(unix.RTM_GETROUTE)
	add := func(device uint32, ip ...byte) unix.Errno {
		b := []byte{unix.AF_INET, 24, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_LINK, unix.RTN_UNICAST, 0, 0, 0, 0}
		b = appendAttribute(appendAttribute(b, unix.RTA_DST, ip), unix.RTA_OIF, le.AppendUint32(nil, device))
		_, e, _ := c.ask(unix.RTM_NEWROUTE, create, b)
		return e
	}
	fmt.Println("route of the host", unix.ErrnoName(add(1, 203, 0, 113, 0)))
	link := make([]byte, ifinfomsgSize)
	le.PutUint32(link[4:], 7001)
	le.PutUint32(link[8:], unix.IFF_UP)
	le.PutUint32(link[12:], unix.IFF_UP)
	link = appendAttribute(link, unix.IFLA_LINKINFO, appendAttribute(nil, unix.IFLA_INFO_KIND, []byte("dummy\x00")))
	if _, e, err := c.ask(unix.RTM_NEWLINK, create, link); e != 0 || err != nil {
		return fmt.Errorf("dummy: %v %v", e, err)
	}
	fmt.Println("simulated", unix.ErrnoName(add(7001, 203, 0, 113, 0)))
	after := list(unix.RTM_GETROUTE)
	own := slices.DeleteFunc(slices.Clone(after), func(l string) bool { return !strings.Contains(l, "1=cb007100 4=591b0000") })
	fmt.Println("own", len(own) == 1)
	fmt.Println("all of the host", len(after) == len(before)+1 && !slices.ContainsFunc(before, func(l string) bool { return !slices.Contains(after, l) }))
	answers, _, _ := c.ask(unix.RTM_GETROUTE, 0, appendAttribute([]byte{unix.AF_INET, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, unix.RTA_DST, []byte{203, 0, 113, 7}))
	fmt.Println("get", len(answers) == 1 && strings.Contains(answerText(answers[0]), "4=591b0000"))
	near := append(le.AppendUint32([]byte{unix.AF_INET, 0, 0, 0}, 7001), 0x80, 0, 0, 0)
	near = appendAttribute(appendAttribute(near, unix.NDA_DST, []byte{203, 0, 113, 9}), unix.NDA_LLADDR, []byte{2, 0, 0, 0, 0, 9})
	_, e, _ := c.ask(unix.RTM_NEWNEIGH, create, near)
	fmt.Println("neighbor", unix.ErrnoName(e))
	fmt.Println("neighbors", slices.ContainsFunc(list(unix.RTM_GETNEIGH), func(l string) bool { return strings.Contains(l, "1=cb007109 2=020000000009") }))
	return nil
}

// TestIproute2ListsRoutes runs a script of iproute2, in the namespace of the host and in a
// simulated one.
func TestIproute2ListsRoutes(t *testing.T) {
	if _, err := osexec.LookPath("ip"); err != nil {
		t.Skip("iproute2 is not installed")
	}
	const script = `set -e
ip link add d0 type dummy
ip link set d0 up
ip addr add 10.9.8.7/24 dev d0
ip route add 203.0.113.0/24 via 10.9.8.1
ip route add 198.51.100.0/24 dev d0 metric 7
ip neigh add 10.9.8.1 lladdr 02:00:00:00:00:01 dev d0
ip route show dev d0
ip route get 203.0.113.5 | head -1
ip route show table local dev d0
ip neigh show dev d0
ip -br addr show dev d0 | tr -s ' '
ip -s link show dev d0 | grep -c -E 'RX:|TX:'
ip neigh del 10.9.8.1 dev d0
ip route del 203.0.113.0/24
ip route show dev d0
ip route add 192.0.2.0/24 via 172.31.255.9 dev d0 || echo refused
ip route del 203.0.113.0/24 dev d0 || echo again`
	r := start(t, "", "", func(c *Config) { c.Args, c.Root = []string{"/bin/sh", "-c", script}, true })
	assert.Equal(t, `10.9.8.0/24 proto kernel scope link src 10.9.8.7 
198.51.100.0/24 scope link metric 7 
203.0.113.0/24 via 10.9.8.1 
203.0.113.5 via 10.9.8.1 dev d0 src 10.9.8.7 uid 0 
local 10.9.8.7 proto kernel scope host src 10.9.8.7 
broadcast 10.9.8.255 proto kernel scope link src 10.9.8.7 
10.9.8.1 lladdr 02:00:00:00:00:01 PERMANENT 
d0 UNKNOWN 10.9.8.7/24 
2
10.9.8.0/24 proto kernel scope link src 10.9.8.7 
198.51.100.0/24 scope link metric 7 
Error: Nexthop has invalid gateway.
`, strings.ReplaceAll(strings.ReplaceAll(r.out, "RTNETLINK answers: Network is unreachable\nrefused\n", "Error: Nexthop has invalid gateway.\n"), "RTNETLINK answers: No such process\nagain\n", ""), "%s", r.notes)
}
