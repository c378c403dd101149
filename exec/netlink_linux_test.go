//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/uapi"
)

func init() {
	tools["routes"] = routesTool
}

// conversation is a NETLINK_ROUTE socket of a tool.
type conversation struct {
	fd  int
	seq uint32
}

func converse() (*conversation, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	limit := unix.NsecToTimeval(2e9)
	return &conversation{fd: fd}, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit)
}

// message returns a message with a header.
func (c *conversation) message(typ, flags uint16, body []byte) []byte {
	c.seq++
	b := le.AppendUint32(nil, uint32(nlmsgHdrSize+len(body)))
	b = le.AppendUint16(le.AppendUint16(b, typ), flags|unix.NLM_F_REQUEST)
	return append(le.AppendUint32(le.AppendUint32(b, c.seq), 0), body...)
}

// ask sends a message that asks for an acknowledgement, and returns the messages before it and its error.
func (c *conversation) ask(typ, flags uint16, body []byte) (answers [][]byte, e unix.Errno, err error) {
	if err := unix.Sendto(c.fd, c.message(typ, flags|unix.NLM_F_ACK, body), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, 0, err
	}
	buf := make([]byte, maxNetlink)
	for {
		n, _, err := unix.Recvfrom(c.fd, buf, 0)
		if err != nil {
			return answers, 0, err
		}
		for b := buf[:n]; len(b) >= nlmsgHdrSize; {
			size := int(le.Uint32(b))
			if size < nlmsgHdrSize || size > len(b) {
				return answers, 0, fmt.Errorf("a message of %d bytes in %d", size, len(b))
			}
			msg := append([]byte(nil), b[:size]...)
			switch t := le.Uint16(msg[4:]); {
			case le.Uint32(msg[8:]) != c.seq:
				return answers, 0, fmt.Errorf("answer %d to message %d", le.Uint32(msg[8:]), c.seq)
			case t == unix.NLMSG_ERROR:
				return answers, unix.Errno(-int32(le.Uint32(msg[16:]))), nil
			case t == nlmsgDone:
				return answers, 0, nil
			default:
				answers = append(answers, msg)
			}
			b = b[min(len(b), (size+3)&^3):]
		}
	}
}

// routesTool sends one message of each type.
func routesTool() error {
	for _, m := range uapi.RouteMessages() {
		c, err := converse()
		if err != nil {
			return err
		}
		if _, e, err := c.ask(uint16(m), 0, make([]byte, 32)); err != nil {
			fmt.Println(m, err)
		} else {
			fmt.Println(m, unix.ErrnoName(e))
		}
		unix.Close(c.fd)
	}
	_, _, e := unix.Syscall6(unix.SYS_SENDMMSG, 1, 0, 0, 0, 0, 0)
	fmt.Println("sendmmsg", e)
	c, err := converse()
	if err != nil {
		return err
	}
	_, _, e = unix.Syscall6(unix.SYS_SENDMMSG, uintptr(c.fd), 0, 1, 0, 0, 0)
	fmt.Println("sendmmsg to the kernel", e)
	_, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW, 0)
	fmt.Println("AF_XDP", err)
	return nil
}

// TestNoRouteMessageChangesTheHost sends a message of every type that the newest kernel has. Those that change something are served or refused by
// name; queries are answered by the host.
func TestNoRouteMessageChangesTheHost(t *testing.T) {
	r := start(t, "routes", "")
	require.Zero(t, r.code, "%s%s", r.out, r.notes)
	answers := map[string]string{}
	for l := range strings.Lines(r.out) {
		name, e, _ := strings.Cut(strings.TrimSpace(l), " ")
		answers[name] = e
	}
	for _, m := range uapi.RouteMessages() {
		named := strings.Contains(r.notes, m.String()+",")
		switch howRoute(m) {
		case routeRefused:
			assert.Equal(t, "EPERM", answers[m.String()], "%s", m)
			assert.True(t, named, "no note names %s", m)
		default:
			assert.Contains(t, answers, m.String())
			assert.False(t, named && howRoute(m) == routeAsked, "%s is a query", m)
		}
	}
	assert.Contains(t, r.out, "sendmmsg to the kernel operation not supported\n")
	assert.Contains(t, r.notes, "sendmmsg(2) on a NETLINK_ROUTE socket")
	assert.Equal(t, "address family not supported by protocol", answers["AF_XDP"])
	assert.Contains(t, r.notes, "AF_XDP sockets are not simulated")
}
