//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["netdev"] = netdevTool }

// netdevTool asks the family netdev of generic netlink, and ioctl(2), about a veth device and about
// one that is not there.
func netdevTool() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	route, err := converse()
	if err != nil {
		return err
	}
	add := appendAttribute(make([]byte, ifinfomsgSize), unix.IFLA_LINKINFO, appendAttribute(nil, unix.IFLA_INFO_KIND, []byte("veth\x00")))
	if _, e, err := route.ask(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, add); e != 0 || err != nil {
		return fmt.Errorf("veth: %v %v", e, err)
	}
	family := hostFamily("netdev")
	if family < 0 {
		fmt.Println("no family")
		return nil
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_GENERIC)
	if err != nil {
		return err
	}
	limit := unix.NsecToTimeval(2e9)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return err
	}
	c := &conversation{fd: fd}
	ask := func(what string, flags uint16, body []byte) {
		answers, e, err := c.ask(uint16(family), flags, append([]byte{netdevGet, 1, 0, 0}, body...))
		fmt.Println(what, unix.ErrnoName(e), err)
		for _, a := range answers {
			out := fmt.Sprintf("  %x:", a[nlmsgHdrSize:nlmsgHdrSize+genlHdrSize])
			attributes(a[nlmsgHdrSize+genlHdrSize:], func(typ uint16, data []byte) { out += fmt.Sprintf(" %d=%x", typ, data) })
			fmt.Println(out)
		}
	}
	index := func(i uint32) []byte { return appendAttribute(nil, netdevIndex, le.AppendUint32(nil, i)) }
	ask("lo", 0, index(1))
	ask("veth", 0, index(2))
	ask("nothing", 0, index(99))
	ask("no index", 0, nil)
	ask("all", unix.NLM_F_DUMP, nil)

	request := func(what, name string, data []byte) {
		q, err := unix.NewIfreq(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		*(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(q), unix.IFNAMSIZ)) = unsafe.Pointer(&data[0])
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(q)))
		runtime.KeepAlive(data)
		fmt.Println(what, name, unix.ErrnoName(e))
	}
	for _, name := range []string{"lo", "veth0", "none"} {
		driver := make([]byte, ethtoolDriverSize)
		le.PutUint32(driver, ethtoolDriver)
		request("driver", name, driver)
		text, _, _ := bytes.Cut(driver[4:], []byte{0})
		fmt.Printf("  %q\n", text)
	}
	channels := make([]byte, ethtoolChannelsSize)
	le.PutUint32(channels, ethtoolChannels)
	request("channels", "veth0", channels)
	fmt.Printf("  %x\n", channels)
	return nil
}

// TestDriversOfDevicesAreAskedFor compares with what the tool printed natively, as root of a machine
// with Linux 6.18.44 and two processors.
func TestDriversOfDevicesAreAskedFor(t *testing.T) {
	r := start(t, "netdev", "", func(c *Config) { c.Root, c.System.Machine.CPUs = true, 2 })
	if strings.HasPrefix(r.out, "no family") {
		t.Skip("the host's kernel has no family netdev")
	}
	assert.Equal(t, `lo  <nil>
  01010000: 1=01000000 3=0000000000000000 5=0000000000000000 6=0000000000000000
veth  <nil>
  01010000: 1=02000000 3=2300000000000000 5=0700000000000000 6=0000000000000000
nothing ENODEV <nil>
no index EINVAL <nil>
all  <nil>
  01010000: 1=01000000 3=0000000000000000 5=0000000000000000 6=0000000000000000
  01010000: 1=02000000 3=2300000000000000 5=0700000000000000 6=0000000000000000
  01010000: 1=03000000 3=2300000000000000 5=0700000000000000 6=0000000000000000
driver lo ENOTSUP
  ""
driver veth0 
  "veth"
driver none ENODEV
  ""
channels veth0 
  3c0000000200000002000000000000000000000001000000010000000000000000000000
`, r.out, "%s", r.notes)
}
