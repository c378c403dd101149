//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Options of sockets that are about BPF programs (include/uapi/asm-generic/socket.h).
const (
	soDetachFilter       = 27
	soAttachBPF          = 50
	soAttachReuseportBPF = 52
	soDetachReuseportBPF = 68
)

// setsockopt serves SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_EBPF and what detaches their programs.
func (c *call) setsockopt() {
	if uint32(c.arg(1)) == unix.SOL_NETLINK && uint32(c.arg(2)) == unix.NETLINK_ADD_MEMBERSHIP {
		c.watch()
	}
	if uint32(c.arg(1)) != unix.SOL_SOCKET {
		c.s.host(c.n)
		return
	}
	option := uint32(c.arg(2))
	group := option == soAttachReuseportBPF || option == soDetachReuseportBPF
	if option == soDetachFilter || option == soDetachReuseportBPF {
		if !c.s.sys.SocketDetach(c, c.fd(0), group) {
			c.s.host(c.n) // a filter of classic BPF, which the host has, or none
			return
		}
		c.s.reply(c.n, 0, 0)
		return
	}
	b := make([]byte, 4)
	switch {
	case uint32(c.arg(4)) != 4:
		c.s.reply(c.n, 0, unix.EINVAL)
		return
	case !c.Read(c.arg(3), b):
		c.s.reply(c.n, 0, unix.EFAULT)
		return
	}
	e := c.s.sys.SocketAttach(c, c.fd(0), int32(le.Uint32(b)), group)
	if e == 0 {
		c.s.note("a program is attached to a socket of the host: it runs for events of the hook socket or sk_reuseport, not for the socket's packets")
	}
	c.s.reply(c.n, 0, errnoOf(e))
}

// openSockets lists the inodes of the sockets that processes of the session have open.
func (s *supervisor) openSockets() []uint64 {
	var out []uint64
	for _, pid := range descendants(os.Getpid()) {
		tables, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/fd", pid)) // threads may have descriptors of their own
		for _, dir := range tables {
			list, _ := os.ReadDir(dir)
			for _, f := range list {
				link, err := os.Readlink(dir + "/" + f.Name())
				if rest, ok := strings.CutPrefix(link, "socket:["); err == nil && ok {
					if ino, err := strconv.ParseUint(strings.TrimSuffix(rest, "]"), 10, 64); err == nil {
						out = append(out, ino)
					}
				}
			}
		}
	}
	return out
}
