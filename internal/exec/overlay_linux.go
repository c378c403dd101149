//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/bpfsys/network"
)

// Places that the simulated kernel shares with the host: tasks of events in /proc, and simulated
// devices in /sys/class/net.

// classNet has the network devices.
const classNet = "/sys/class/net"

// taskPath returns the path below /proc of a place in the directory of a task that events made. A
// process of the session has its own directory, also if an event's task has the same id, and none
// once it has ended: system calls of processes, too, make tasks that programs see.
func (s *supervisor) taskPath(p string) (string, bool) {
	rest, ok := strings.CutPrefix(p, "/proc/")
	if !ok || rest == "" || rest[0] < '1' || rest[0] > '9' {
		return "", false
	}
	who, _, _ := strings.Cut(rest, "/")
	id, err := strconv.Atoi(who)
	if err != nil || !s.sys.HasTask(id) {
		return "", false
	}
	if s.seen[id] {
		return "", false
	}
	return rest, true
}

// taskLink returns where a link in the directory of a task leads, "" if there is none.
func (s *supervisor) taskLink(p string) string {
	if rest, ok := s.taskPath(p); ok {
		return s.sys.Task(rest, nil).Link
	}
	return ""
}

// lookShared returns what is at a place that the simulated kernel shares with the host; kind is
// hostPath for the host's.
func (c *call) lookShared(p string) (kind pathKind, b []byte) {
	if rest, ok := c.s.taskPath(p); ok {
		return kindOf(c.s.sys.Task(rest, func(file string) bool {
			_, err := os.Stat(file)
			return err == nil
		}))
	}
	if rest, ok := strings.CutPrefix(p, classNet); ok && (rest == "" || rest[0] == '/') {
		return c.lookDevice(strings.TrimPrefix(rest, "/"))
	}
	return hostPath, nil
}

func kindOf(e bpfsys.TaskEntry) (pathKind, []byte) {
	switch e.Kind {
	case bpfsys.IsDir:
		return directory, nil
	case bpfsys.IsFile:
		return plain, e.Text
	case bpfsys.Absent:
		return absent, nil
	}
	return hostPath, nil
}

// lookDevice returns what is at a path below /sys/class/net. In a simulated network namespace there
// are only simulated devices.
func (c *call) lookDevice(path string) (pathKind, []byte) {
	netns := c.Netns()
	devices := c.s.simulated(netns)
	if netns == 0 && len(devices) == 0 {
		return hostPath, nil
	}
	if path == "" {
		return directory, nil
	}
	name, rest, _ := strings.Cut(path, "/")
	i := slices.IndexFunc(devices, func(d *network.Device) bool { return d.Name == name })
	if i < 0 {
		if netns == 0 {
			return hostPath, nil
		}
		return absent, nil
	}
	if devices[i].SysDir(rest) != nil {
		return directory, nil
	}
	if text, ok := devices[i].SysFile(rest); ok {
		return plain, []byte(text)
	}
	return absent, nil
}

// coversDevice reports whether the host has nothing at a place of network devices: in a simulated
// network namespace, whose lo is not the host's.
func (c *call) coversDevice(p string) bool {
	return strings.HasPrefix(p, classNet+"/") && c.Netns() != 0
}

// simulated returns the simulated devices of a network namespace.
func (s *supervisor) simulated(netns uint32) (list []*network.Device) {
	s.sys.Network(func(n *network.Network) { list = n.Devices(netns) })
	return list
}

// names lists a simulated directory.
func (c *call) names(p string) []string {
	if rest, ok := c.s.taskPath(p); ok {
		return c.s.sys.TaskDir(rest)
	}
	if c.s.cgroups[p] != 0 {
		return c.s.cgroupNames(p)
	}
	rest, ok := strings.CutPrefix(p, classNet)
	if !ok {
		return c.s.sys.ReadDir(p)
	}
	netns := c.Netns()
	devices := c.s.simulated(netns)
	var out []string
	if rest == "" {
		if netns == 0 {
			if list, err := net.Interfaces(); err == nil {
				for _, i := range list {
					out = append(out, i.Name)
				}
			}
		}
		for _, d := range devices {
			out = append(out, d.Name)
		}
		slices.Sort(out)
		return out
	}
	name, rest, _ := strings.Cut(rest[1:], "/")
	for _, d := range devices {
		if d.Name == name {
			return d.SysDir(rest)
		}
	}
	return nil
}

// netDevices returns /proc/net/dev: the host's devices and the simulated ones.
func (c *call) netDevices(p string) ([]byte, bool) {
	if name, ok := c.ownFile(p); !ok || name != "net/dev" {
		return nil, false
	}
	netns := c.Netns()
	devices := c.s.simulated(netns)
	if netns == 0 && len(devices) == 0 {
		return nil, false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", c.n.PID))
	if err != nil {
		return nil, false
	}
	if netns != 0 { // the two lines of titles
		for i, l := 0, 0; i < len(b); i++ {
			if b[i] == '\n' {
				if l++; l == 2 {
					b = b[:i+1]
				}
			}
		}
	}
	for _, d := range devices {
		b = append(b, d.StatisticsLine()...)
	}
	return b, true
}

// Sizes of struct ifreq, of the name in it, and of struct sockaddr.
const ifreqSize, sockaddrSize = 40, 16

// deviceRequests are the requests of ioctl(2) on sockets that ask about a device by struct ifreq.
var deviceRequests = []uint32{unix.SIOCGIFNAME, unix.SIOCGIFFLAGS, unix.SIOCGIFADDR, unix.SIOCGIFMTU, unix.SIOCGIFHWADDR, unix.SIOCGIFINDEX, unix.SIOCGIFTXQLEN, unix.SIOCETHTOOL}

// deviceIoctl answers a question about a simulated device (dev_ifsioc_locked, devinet_ioctl); ok is
// false for devices of the host. In a simulated network namespace there are no others.
func (c *call) deviceIoctl() (ok bool) {
	req, netns := uint32(c.arg(1)), c.Netns()
	devices := c.s.simulated(netns)
	if !slices.Contains(deviceRequests, req) || netns == 0 && len(devices) == 0 {
		return false
	}
	b := make([]byte, ifreqSize)
	if !c.Read(c.arg(2), b) {
		c.s.reply(c.n, 0, unix.EFAULT)
		return true
	}
	i := slices.IndexFunc(devices, func(d *network.Device) bool {
		if req == unix.SIOCGIFNAME {
			return d.Index == le.Uint32(b[unix.IFNAMSIZ:])
		}
		return d.Name == textOf(b[:unix.IFNAMSIZ])
	})
	if i < 0 {
		if netns != 0 {
			c.s.reply(c.n, 0, unix.ENODEV)
		}
		return netns != 0
	}
	d, v := devices[i], b[unix.IFNAMSIZ:]
	switch req {
	case unix.SIOCGIFNAME:
		clear(b[:unix.IFNAMSIZ])
		copy(b[:unix.IFNAMSIZ-1], d.Name)
	case unix.SIOCGIFFLAGS:
		le.PutUint16(v, uint16(d.Flags()))
	case unix.SIOCGIFMTU:
		le.PutUint32(v, d.MTU)
	case unix.SIOCGIFINDEX:
		le.PutUint32(v, d.Index)
	case unix.SIOCGIFTXQLEN:
		le.PutUint32(v, d.Queue)
	case unix.SIOCGIFHWADDR:
		clear(v[:sockaddrSize])
		le.PutUint16(v, d.Hardware())
		copy(v[2:], d.Address[:])
	case unix.SIOCETHTOOL:
		c.s.reply(c.n, 0, c.ethtoolIoctl(d, le.Uint64(v)))
		return true
	case unix.SIOCGIFADDR:
		j := slices.IndexFunc(d.Addrs, func(a network.Addr) bool { return a.Prefix.Addr().Is4() })
		if j < 0 {
			c.s.reply(c.n, 0, unix.EADDRNOTAVAIL)
			return true
		}
		clear(v[:sockaddrSize])
		le.PutUint16(v, unix.AF_INET)
		copy(v[4:], d.Addrs[j].Prefix.Addr().AsSlice())
	}
	e := unix.Errno(0)
	if !c.Write(c.arg(2), b) {
		e = unix.EFAULT
	}
	c.s.reply(c.n, 0, e)
	return true
}
