//go:build linux && (amd64 || arm64)

package exec

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// sendsWhole returns how many bytes a call will have sent over a Unix stream, if the connection is
// still open afterwards: all, since they have room at once. It is -1 if that is not known.
func (c *call) sendsWhole(name string) int64 {
	flags, parts := int(c.fd(3)), []piece{{c.arg(1), c.arg(2)}}
	switch {
	case name == "sendmsg":
		m, ok := c.message(c.arg(1))
		if !ok || m.control != 0 || m.name.addr != 0 {
			return -1
		}
		flags, parts = int(c.fd(2)), m.parts
	case c.arg(4) != 0: // to an address
		return -1
	}
	g, err := c.s.grab(c.n, c.fd(0))
	if err != nil {
		return -1
	}
	defer unix.Close(g)
	if flags&^(unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) != 0 || !isUnixStream(g) || !ready(g, unix.POLLOUT) || ready(g, unix.POLLERR|unix.POLLHUP) {
		return -1
	}
	// Writable means that a quarter of the buffer is used at most (unix_writable).
	limit, err := unix.GetsockoptInt(g, unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err != nil {
		return -1
	}
	data, ok := c.gathered(parts, uint64(limit/4))
	if !ok {
		return -1
	}
	// No bytes are sent by this, but it fails where sending was shut down (unix_stream_sendmsg).
	if _, err := unix.SendmsgN(g, nil, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err != nil {
		return -1
	}
	return int64(len(data))
}

// unixRefused returns the error of a connect to the address of a Unix socket that failed, as far as
// the address tells it: nothing is there, or it is no socket (unix_find_other).
func (c *call) unixRefused(b *begun) (e unix.Errno, known bool) {
	addr, ok := b.args["uservaddr"].([]byte)
	if !ok || len(addr) <= 2 || le.Uint16(addr) != unix.AF_UNIX {
		return 0, false
	}
	tgid, name := c.process().tgid, addr[2:]
	if name[0] == 0 {
		list, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", tgid))
		shown := " " + strings.ReplaceAll(string(name), "\x00", "@") + "\n"
		return unix.ECONNREFUSED, err == nil && !strings.Contains(string(list), shown)
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	base := "cwd"
	if name[0] == '/' {
		base = "root"
	}
	var st unix.Stat_t
	err := unix.Stat(fmt.Sprintf("/proc/%d/%s/%s", tgid, base, name), &st)
	if e, failed := err.(unix.Errno); failed {
		return e, true
	}
	return unix.ECONNREFUSED, st.Mode&unix.S_IFMT != unix.S_IFSOCK
}
