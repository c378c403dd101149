//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() {
	tools["xdpmodes"] = xdpModesTool
}

// xdpModesTool attaches a program to devices in each mode, by netlink and by a link, and says in
// which mode the device then has one.
func xdpModesTool() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	c, err := converse()
	if err != nil {
		return err
	}
	for _, kind := range []string{"dummy", "veth"} {
		add := appendAttribute(make([]byte, ifinfomsgSize), unix.IFLA_LINKINFO, appendAttribute(nil, unix.IFLA_INFO_KIND, append([]byte(kind), 0)))
		if _, e, err := c.ask(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, add); e != 0 || err != nil {
			return fmt.Errorf("%s: %v %v", kind, e, err)
		}
	}
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()}})
	if err != nil {
		return err
	}
	set := func(index, fd, flags uint32) unix.Errno {
		b := make([]byte, ifinfomsgSize)
		le.PutUint32(b[4:], index)
		x := appendAttribute(nil, iflaXDPFD, le.AppendUint32(nil, fd))
		x = appendAttribute(x, xdpFlags, le.AppendUint32(nil, flags))
		_, e, err := c.ask(unix.RTM_SETLINK, 0, appendAttribute(b, iflaXDP|unix.NLA_F_NESTED, x))
		if err != nil {
			return unix.EIO
		}
		return e
	}
	mode := func(index uint32) (m byte) {
		b := make([]byte, ifinfomsgSize)
		le.PutUint32(b[4:], index)
		answers, _, _ := c.ask(unix.RTM_GETLINK, 0, b)
		for _, a := range answers {
			attributes(a[nlmsgHdrSize+ifinfomsgSize:], func(typ uint16, data []byte) {
				if typ == iflaXDP {
					attributes(data, func(typ uint16, data []byte) {
						if typ == xdpAttached {
							m = data[0]
						}
					})
				}
			})
		}
		return m
	}
	for _, dev := range []struct {
		name  string
		index uint32
	}{{"lo", 1}, {"dummy", 2}, {"veth", 4}} {
		for _, flags := range []uint32{0, 2, 4, 8, 6} {
			e := set(dev.index, uint32(p.FD()), flags)
			fmt.Println(dev.name, flags, "netlink:", unix.ErrnoName(e), "mode", mode(dev.index))
			_ = set(dev.index, ^uint32(0), flags)
			l, err := link.AttachXDP(link.XDPOptions{Program: p, Interface: int(dev.index), Flags: link.XDPAttachFlags(flags)})
			fmt.Println(dev.name, flags, "link:", outcomeOf(err), "mode", mode(dev.index))
			if l != nil {
				l.Close()
			}
		}
	}
	return nil
}

// xdpModesOf612 is what the tool printed where it ran natively, as root of a virtual machine with
// Debian's Linux 6.12.107.
const xdpModesOf612 = `lo 0 netlink:  mode 2
lo 0 link: ok mode 2
lo 2 netlink:  mode 2
lo 2 link: ok mode 2
lo 4 netlink: ENOTSUP mode 0
lo 4 link: ENOTSUP mode 0
lo 8 netlink: ENOTSUP mode 0
lo 8 link: ENOTSUP mode 0
lo 6 netlink: EINVAL mode 0
lo 6 link: EINVAL mode 0
dummy 0 netlink:  mode 2
dummy 0 link: ok mode 2
dummy 2 netlink:  mode 2
dummy 2 link: ok mode 2
dummy 4 netlink: ENOTSUP mode 0
dummy 4 link: ENOTSUP mode 0
dummy 8 netlink: ENOTSUP mode 0
dummy 8 link: ENOTSUP mode 0
dummy 6 netlink: EINVAL mode 0
dummy 6 link: EINVAL mode 0
veth 0 netlink:  mode 1
veth 0 link: ok mode 1
veth 2 netlink:  mode 2
veth 2 link: ok mode 2
veth 4 netlink:  mode 1
veth 4 link: ok mode 1
veth 8 netlink: EINVAL mode 0
veth 8 link: EINVAL mode 0
veth 6 netlink: EINVAL mode 0
veth 6 link: EINVAL mode 0
`

func TestDevicesHaveTheModesOfXDPThatTheirDriversHave(t *testing.T) {
	r := start(t, "xdpmodes", "", func(c *Config) { c.Root = true })
	assert.Equal(t, xdpModesOf612, r.out, "%s", r.notes)
}
