//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
)

// What a copy of a descriptor of the tool refers to on the host.

// cgroupPath returns the path of a cgroup's directory below its mount.
func cgroupPath(fd int) string {
	p, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return ""
	}
	p = strings.TrimPrefix(p, "/sys/fs/cgroup")
	return strings.TrimPrefix(p, "/unified")
}

// pidOf returns the process id of a pidfd, 0 for other files and when the process has ended.
func pidOf(fd int) uint32 {
	link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil || !isPidfd(link) {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(l, "Pid:"); ok {
			pid, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
			return uint32(max(pid, 0))
		}
	}
	return 0
}

// isPidfd reports whether a descriptor is a pidfd, by its link in /proc. Since Linux 6.9 they may
// have a file system of their own.
func isPidfd(link string) bool {
	return link == "anon_inode:[pidfd]" || strings.HasPrefix(link, "pidfd:")
}

// socketInfo describes a socket.
func socketInfo(fd int) *bpfsys.SocketInfo {
	option := func(name int) int {
		v, _ := unix.GetsockoptInt(fd, unix.SOL_SOCKET, name)
		return v
	}
	i := &bpfsys.SocketInfo{
		Family: uint16(option(unix.SO_DOMAIN)), Type: uint16(option(unix.SO_TYPE)), Protocol: uint16(option(unix.SO_PROTOCOL)),
		State: tcpClose, Reuseport: option(unix.SO_REUSEPORT) != 0,
	}
	i.Cookie, _ = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
	if a, err := unix.Getsockname(fd); err == nil {
		i.Local = addressOf(a)
	}
	if a, err := unix.Getpeername(fd); err == nil {
		i.Remote = addressOf(a)
		i.State = tcpEstablished
	}
	if i.Protocol == unix.IPPROTO_TCP && i.Type == unix.SOCK_STREAM {
		if t, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			i.State = t.State
		}
	} else if option(unix.SO_ACCEPTCONN) != 0 {
		i.State = tcpListen
	}
	i.Bound = i.Local.Port() != 0
	return i
}

func addressOf(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr), uint16(a.Port))
	}
	return netip.AddrPort{}
}
