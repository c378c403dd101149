//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

func init() { tools["host devices"] = hostDevicesTool }

// hostDevicesTool sends messages that would change devices of the host's namespace.
func hostDevicesTool() error {
	c, err := converse()
	if err != nil {
		return err
	}
	for _, d := range []struct {
		index uint32
		name  string
	}{{1, ""}, {1, "lo"}, {0, "lo"}, {1 << 30, ""}, {1 << 29, "lo"}, {0, "nosuch0"}} {
		b := make([]byte, ifinfomsgSize)
		le.PutUint32(b[4:], d.index)
		le.PutUint32(b[12:], unix.IFF_UP)
		if d.name != "" {
			b = appendAttribute(b, unix.IFLA_IFNAME, append([]byte(d.name), 0))
		}
		for _, typ := range []uint16{unix.RTM_NEWLINK, unix.RTM_SETLINK, unix.RTM_DELLINK} {
			_, e, err := c.ask(typ, 0, b)
			if err != nil {
				return err
			}
			fmt.Print(unix.ErrnoName(e), " ")
		}
		b = appendAttribute(b, unix.IFLA_LINKINFO, appendAttribute(nil, unix.IFLA_INFO_KIND, []byte("dummy\x00")))
		_, e, err := c.ask(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL, b)
		fmt.Println(unix.ErrnoName(e), d.index, d.name)
		if err != nil {
			return err
		}
	}
	return nil
}

// TestDevicesOfTheHostCannotBeChanged: the host refuses, as the tool has no rights over its network.
// A device whose index and name it does not have is made in the simulated kernel.
func TestDevicesOfTheHostCannotBeChanged(t *testing.T) {
	r := start(t, "host devices", "", func(c *Config) { c.Root = true })
	assert.Equal(t, `EPERM EPERM EPERM EPERM 1 
EPERM EPERM EPERM EPERM 1 lo
EPERM EPERM EPERM EPERM 0 lo
EPERM EPERM EPERM  1073741824 
EPERM EPERM EPERM EEXIST 536870912 lo
EPERM EPERM EPERM  0 nosuch0
`, r.out)
}
