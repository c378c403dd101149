//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	tools["ethtool"] = ethtoolTool
}

// ethtoolTool asks the family ethtool of generic netlink about devices in a network namespace.
func ethtoolTool() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	route, err := converse()
	if err != nil {
		return err
	}
	for _, kind := range []string{"dummy", "veth"} {
		add := appendAttribute(make([]byte, ifinfomsgSize), unix.IFLA_LINKINFO, appendAttribute(nil, unix.IFLA_INFO_KIND, []byte(kind+"\x00")))
		if _, e, err := route.ask(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, add); e != 0 || err != nil {
			return fmt.Errorf("%s: %v %v", kind, e, err)
		}
	}
	for _, index := range []uint32{1, 3, 4} {
		b := make([]byte, ifinfomsgSize)
		le.PutUint32(b[4:], index)
		le.PutUint32(b[8:], unix.IFF_UP)
		le.PutUint32(b[12:], unix.IFF_UP)
		if _, e, err := route.ask(unix.RTM_NEWLINK, 0, b); e != 0 || err != nil {
			return fmt.Errorf("up: %v %v", e, err)
		}
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
	const getFamily, familyID, familyName = 3, 1, 2
	answers, e, err := c.ask(unix.GENL_ID_CTRL, 0, appendAttribute([]byte{getFamily, 1, 0, 0}, familyName, []byte("ethtool\x00")))
	if e != 0 || err != nil || len(answers) == 0 {
		fmt.Println("no family", e, err)
		return nil
	}
	id := uint16(0)
	attributes(answers[0][nlmsgHdrSize+4:], func(typ uint16, data []byte) {
		if typ == familyID {
			id = le.Uint16(data)
		}
	})
	ask := func(name string, command byte, flags uint16, head []byte) {
		body := []byte{command, 1, 0, 0}
		if head != nil {
			body = appendAttribute(body, 1|unix.NLA_F_NESTED, head)
		}
		answers, e, err := c.ask(id, flags, body)
		fmt.Printf("%s %d %s", name, command, unix.ErrnoName(e))
		if err != nil {
			fmt.Print(" ", err)
		}
		for _, a := range answers {
			fmt.Printf(" %d %x: %x", le.Uint16(a[6:]), a[nlmsgHdrSize:nlmsgHdrSize+2], a[nlmsgHdrSize+4:])
		}
		fmt.Println()
	}
	index := func(i uint32) []byte { return appendAttribute(nil, 1, le.AppendUint32(nil, i)) }
	named := func(n string) []byte { return appendAttribute(nil, 2, append([]byte(n), 0)) }
	for _, d := range []struct {
		name string
		head []byte
	}{{"lo", index(1)}, {"dummy0", index(2)}, {"veth0", named("veth0")}} {
		for _, command := range []byte{2, 4, 6, 7, 9, 13, 15, 17, 19, 21, 23, 25} {
			ask(d.name, command, 0, d.head)
		}
	}
	ask("nothing", 6, 0, index(99))
	ask("nothing", 6, 0, named("nosuch"))
	ask("no header", 6, 0, nil)
	ask("empty header", 6, 0, []byte{})
	ask("other name", 6, 0, append(index(2), named("veth0")...))
	ask("both", 6, 0, append(index(2), named("dummy0")...))
	ask("all", 6, unix.NLM_F_DUMP, nil)
	ask("no command", 200, 0, index(1))
	return nil
}

// TestEthtoolMessagesAreAnswered compares with what the tool printed where it ran natively, as root
// of a virtual machine with Debian's Linux 6.12.107.
func TestEthtoolMessagesAreAnswered(t *testing.T) {
	want, err := os.ReadFile("testdata/ethtool-6.12.107.txt")
	require.NoError(t, err)
	r := start(t, "ethtool", "", func(c *Config) { c.Root, c.System.Machine.CPUs = true, 1 }) // the machine had one
	if strings.HasPrefix(r.out, "no family") {
		t.Skip("the host's kernel has no ethtool by netlink")
	}
	assert.Equal(t, string(want), r.out, "%s", r.notes)
}
