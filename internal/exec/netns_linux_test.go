//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	osexec "os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() {
	tools["networks"] = networksTool
	tools["mount namespaces"] = mountNamespacesTool
	tools["devices"] = devicesTool
}

// networksTool tries the ways to a real network namespace of its own, which a user namespace would
// permit, and then uses a simulated one.
func networksTool() error {
	runtime.LockOSThread()
	child := func(flags uintptr) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := osexec.Command(self, "tool", "nothing")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
		return cmd.Run()
	}
	fmt.Println("plain:", outcomeOf(child(0)))
	fmt.Println("clone:", outcomeOf(child(unix.CLONE_NEWUSER|unix.CLONE_NEWNET)))
	fmt.Println("with another:", outcomeOf(unix.Unshare(unix.CLONE_NEWNET|unix.CLONE_NEWUTS)))
	_, _, e := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0)
	fmt.Println("clone3:", unix.ErrnoName(e))

	own := fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
	before, err := os.Readlink(own)
	if err != nil {
		return err
	}
	first, err := os.Open(own)
	if err != nil {
		return err
	}
	fmt.Println("unshare:", outcomeOf(unix.Unshare(unix.CLONE_NEWNET)))
	if after, err := os.Readlink(own); err != nil || after != before {
		return fmt.Errorf("the host's namespace became %s: %v", after, err)
	}
	second, err := os.Open(own)
	if err != nil {
		return err
	}
	inside, err := converse() // stays in the namespace that the thread is in now
	if err != nil {
		return err
	}
	fmt.Println("loopback:", linksOf(inside))
	fmt.Println("wrong kind:", outcomeOf(unix.Setns(int(second.Fd()), unix.CLONE_NEWUTS)))
	fmt.Println("back:", outcomeOf(unix.Setns(int(first.Fd()), unix.CLONE_NEWNET)))
	name := append([]byte("dummy"), 0)
	add := appendAttribute(make([]byte, ifinfomsgSize), unix.IFLA_LINKINFO, appendAttribute(nil, unix.IFLA_INFO_KIND, name))
	_, e, err = inside.ask(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, add)
	fmt.Println("from outside:", unix.ErrnoName(e), err, linksOf(inside))
	_, e, err = inside.ask(unix.RTM_GETROUTE, unix.NLM_F_DUMP, make([]byte, 12))
	fmt.Println("routes:", unix.ErrnoName(e), err)
	fmt.Println("again:", outcomeOf(unix.Setns(int(second.Fd()), 0)))
	outside, err := converse()
	if err != nil {
		return err
	}
	fmt.Println("same:", linksOf(outside))
	return nil
}

// mountNamespacesTool wants a mount namespace of its own, alone and with another.
func mountNamespacesTool() error {
	runtime.LockOSThread()
	before, err := os.Readlink("/proc/thread-self/ns/mnt")
	if err != nil {
		return err
	}
	fmt.Println("unshare:", outcomeOf(unix.Unshare(unix.CLONE_NEWNS)), "with another:", outcomeOf(unix.Unshare(unix.CLONE_NEWNS|unix.CLONE_NEWUTS)))
	after, err := os.Readlink("/proc/thread-self/ns/mnt")
	fmt.Println("the same:", before == after, outcomeOf(err))
	return nil
}

// TestAMountNamespaceIsTheOldOne for a tool that believes that it is root; others get none.
func TestAMountNamespaceIsTheOldOne(t *testing.T) {
	for _, live := range []bool{false, true} {
		r := start(t, "mount namespaces", "", func(c *Config) { c.Live, c.Root = live, true })
		assert.Equal(t, "unshare: ok with another: EPERM\nthe same: true ok\n", r.out, "live %t", live)
		assert.Contains(t, r.notes, "a new mount namespace (CLONE_NEWNS) is the old one")
	}
	if os.Getuid() == 0 {
		assert.Equal(t, "unshare: EPERM with another: EPERM\nthe same: true ok\n0 <nil>\n", asNobody(t, "supervise", "mount namespaces"))
	}
}

// linksOf lists the devices that a dump returns: index, name and whether they are up.
func linksOf(c *conversation) (out []string) {
	answers, e, err := c.ask(unix.RTM_GETLINK, unix.NLM_F_DUMP, make([]byte, ifinfomsgSize))
	if e != 0 || err != nil {
		return []string{fmt.Sprint(e, err)}
	}
	for _, m := range answers {
		b := m[nlmsgHdrSize:]
		name := ""
		attributes(b[ifinfomsgSize:], func(typ uint16, data []byte) {
			if typ == unix.IFLA_IFNAME {
				name = textOf(data)
			}
		})
		state := "down"
		if le.Uint32(b[8:])&unix.IFF_UP != 0 {
			state = "up"
		}
		out = append(out, fmt.Sprint(le.Uint32(b[4:]), " ", name, " ", state))
	}
	return out
}

func TestNetworkNamespacesAreSimulated(t *testing.T) {
	for _, live := range []bool{false, true} {
		r := start(t, "networks", "", func(c *Config) { c.Live, c.Root = live, true })
		assert.Equal(t, "plain: ok\nclone: EPERM\nwith another: EPERM\nclone3: ENOSYS\nunshare: ok\nloopback: [1 lo down]\nwrong kind: EINVAL\nback: ok\n"+
			"from outside:  <nil> [1 lo down 2 dummy0 down]\nroutes:  <nil>\nagain: ok\nsame: [1 lo down 2 dummy0 down]\n", r.out, "live %t", live)
		assert.Contains(t, r.notes, "refused a new network namespace")
		assert.Contains(t, r.notes, "a new network namespace is simulated")
		assert.Zero(t, r.code)
	}
}

// devicesTool sends messages about devices and addresses.
func devicesTool() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	c, err := converse()
	if err != nil {
		return err
	}
	defer unix.Close(c.fd)
	const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL
	u32 := func(v uint32) []byte { return le.AppendUint32(nil, v) }
	link := func(index, flags uint32, attrs ...any) []byte {
		b := make([]byte, ifinfomsgSize)
		le.PutUint32(b[4:], index)
		le.PutUint32(b[8:], flags)
		le.PutUint32(b[12:], flags)
		for i := 0; i < len(attrs); i += 2 {
			v, ok := attrs[i+1].([]byte)
			if !ok {
				v = append([]byte(attrs[i+1].(string)), 0)
			}
			b = appendAttribute(b, uint16(attrs[i].(int)), v)
		}
		return b
	}
	kind := func(kind string, data ...byte) []byte {
		info := appendAttribute(nil, unix.IFLA_INFO_KIND, append([]byte(kind), 0))
		if data != nil {
			info = appendAttribute(info, unix.IFLA_INFO_DATA, data)
		}
		return info
	}
	address := func(index uint32, family, bits byte, ip ...byte) []byte {
		return appendAttribute(append([]byte{family, bits, 0, 0}, u32(index)...), unix.IFA_LOCAL, ip)
	}
	const info, name = unix.IFLA_LINKINFO, unix.IFLA_IFNAME
	for _, m := range []struct {
		what  string
		typ   uint16
		flags uint16
		body  []byte
	}{
		{"loopback up", unix.RTM_NEWLINK, 0, link(1, unix.IFF_UP)},
		{"no device", unix.RTM_SETLINK, 0, link(9, unix.IFF_UP)},
		{"is it known", unix.RTM_NEWLINK, 0, link(0, 0)},
		{"negative index", unix.RTM_NEWLINK, create, link(1<<31, 0, info, kind("dummy"))},
		{"dummy", unix.RTM_NEWLINK, create, link(0, unix.IFF_UP, info, kind("dummy"), name, "d")},
		{"the same name", unix.RTM_NEWLINK, create, link(0, 0, info, kind("dummy"), name, "d")},
		{"unknown kind", unix.RTM_NEWLINK, create, link(0, 0, info, kind("bridge"))},
		{"pair", unix.RTM_NEWLINK, create, link(0, 0, info, kind("veth", appendAttribute(nil, vethPeer, link(0, 0, name, "there"))...), name, "here")},
		{"netkit of mode 7", unix.RTM_NEWLINK, create, link(0, 0, info, kind("netkit", appendAttribute(nil, netkitMode, u32(7))...))},
		{"netkit of policy 7", unix.RTM_NEWLINK, create, link(0, 0, info, kind("netkit", appendAttribute(nil, netkitPolicy, u32(7))...))},
		{"primary is read-only", unix.RTM_NEWLINK, create, link(0, 0, info, kind("netkit", appendAttribute(nil, netkitPrimary, []byte{1})...))},
		{"address of mode L3", unix.RTM_NEWLINK, create, link(0, 0, info, kind("netkit"), unix.IFLA_ADDRESS, []byte{2, 0, 0, 0, 0, 1})},
		{"netkit", unix.RTM_NEWLINK, create, link(1000, unix.IFF_UP, info, kind("netkit", appendAttribute(appendAttribute(nil, netkitMode, u32(0)), netkitPeerPolicy, u32(2))...))},
		{"master", unix.RTM_NEWLINK, 0, link(2, 0, unix.IFLA_MASTER, u32(1))},
		{"rename", unix.RTM_SETLINK, 0, link(2, 0, name, "dd", unix.IFLA_MTU, u32(1400))},
		{"taken", unix.RTM_SETLINK, 0, link(2, 0, name, "lo")},
		{"address", unix.RTM_NEWADDR, create, address(2, unix.AF_INET, 8, 10, 0, 0, 1)},
		{"the same address", unix.RTM_NEWADDR, create, address(2, unix.AF_INET, 8, 10, 0, 0, 1)},
		{"another family", unix.RTM_NEWADDR, create, address(2, unix.AF_INET6, 8, 10, 0, 0, 1)},
		{"33 bits", unix.RTM_NEWADDR, create, address(2, unix.AF_INET, 33, 10, 0, 0, 2)},
		{"address nowhere", unix.RTM_NEWADDR, create, address(9, unix.AF_INET, 8, 10, 0, 0, 1)},
		{"an address that it has not", unix.RTM_DELADDR, 0, address(2, unix.AF_INET, 8, 10, 0, 0, 9)},
		{"remove the loopback device", unix.RTM_DELLINK, 0, link(1, 0)},
		{"remove half a pair", unix.RTM_DELLINK, 0, link(0, 0, name, "here")},
		{"remove nothing", unix.RTM_DELLINK, 0, link(0, 0)},
		{"short", unix.RTM_NEWLINK, 0, []byte{1, 2, 3}},
	} {
		_, e, err := c.ask(m.typ, m.flags, m.body)
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		fmt.Println(m.what+":", unix.ErrnoName(e))
	}
	fmt.Println(linksOf(c))
	for _, family := range []byte{0, unix.AF_INET6} {
		answers, _, err := c.ask(unix.RTM_GETADDR, unix.NLM_F_DUMP, []byte{family, 0, 0, 0, 0, 0, 0, 0})
		if err != nil {
			return err
		}
		for _, m := range answers {
			b := m[nlmsgHdrSize:]
			attributes(b[ifaddrmsgSize:], func(typ uint16, data []byte) {
				if typ == unix.IFA_ADDRESS {
					fmt.Println("device", le.Uint32(b[4:]), data, b[1])
				}
			})
		}
	}
	list, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return err
	}
	fmt.Print("listed:")
	for _, l := range strings.Split(strings.TrimSpace(string(list)), "\n")[2:] {
		device, _, _ := strings.Cut(strings.TrimSpace(l), ":")
		fmt.Print(" ", device)
	}
	fmt.Println()
	one, e, err := c.ask(unix.RTM_GETLINK, 0, link(0, 0, name, "nk1"))
	fmt.Println("one:", len(one), unix.ErrnoName(e), err)
	return nil
}

func TestDevicesAreCreatedByNetlink(t *testing.T) {
	r := start(t, "devices", "", func(c *Config) { c.Root = true })
	assert.Equal(t, `loopback up: 
no device: ENODEV
is it known: ENODEV
negative index: EINVAL
dummy: 
the same name: EEXIST
unknown kind: ENOTSUP
pair: 
netkit of mode 7: EINVAL
netkit of policy 7: EINVAL
primary is read-only: EINVAL
address of mode L3: ENOTSUP
netkit: 
master: ENOTSUP
rename: 
taken: EEXIST
address: 
the same address: EEXIST
another family: EINVAL
33 bits: EINVAL
address nowhere: ENODEV
an address that it has not: EADDRNOTAVAIL
remove the loopback device: ENOTSUP
remove half a pair: 
remove nothing: EINVAL
short: EINVAL
[1 lo up 2 dd up 5 nk0 down 1000 nk1 up]
device 1 [127 0 0 1] 8
device 2 [10 0 0 1] 8
device 1 [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1] 128
device 1 [0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1] 128
listed: lo dd nk0 nk1
one: 1  <nil>
`, r.out)
	for _, note := range []string{`network devices of kind "bridge" are not simulated`, "attribute 10 of devices is not simulated"} {
		assert.Contains(t, r.notes, note)
	}
	assert.Zero(t, r.code)
}
