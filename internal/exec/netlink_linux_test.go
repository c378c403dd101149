//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/uapi"
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

// ask sends a message that asks for an acknowledgement, and returns the messages before it and its
// error.
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
	if err := severalMessages(); err != nil {
		return err
	}
	_, err = unix.Socket(unix.AF_XDP, unix.SOCK_RAW, 0)
	fmt.Println("AF_XDP", err)
	return nil
}

// severalMessages sends messages with one sendmmsg(2), and in one buffer behind a query.
func severalMessages() error {
	c, err := converse()
	if err != nil {
		return err
	}
	answers := func(want int) error {
		buf := make([]byte, maxNetlink)
		for range want {
			n, _, err := unix.Recvfrom(c.fd, buf, 0)
			if err != nil || n < 20 {
				return fmt.Errorf("%d bytes: %w", n, err)
			}
			fmt.Println("answer", le.Uint32(buf[8:]), unix.ErrnoName(unix.Errno(-int32(le.Uint32(buf[16:])))))
		}
		return nil
	}
	var msgs [2][]byte
	var vec [2]unix.Iovec
	headers := make([]byte, 2*mmsghdrSize)
	for i := range msgs {
		msgs[i] = c.message(unix.RTM_DELLINK, unix.NLM_F_ACK, make([]byte, 16))
		vec[i] = unix.Iovec{Base: &msgs[i][0], Len: uint64(len(msgs[i]))}
		le.PutUint64(headers[mmsghdrSize*i+16:], uint64(uintptr(unsafe.Pointer(&vec[i]))))
		le.PutUint64(headers[mmsghdrSize*i+24:], 1)
	}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&msgs[0][0])
	pin.Pin(&msgs[1][0])
	pin.Pin(&vec)
	n, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(c.fd), uintptr(unsafe.Pointer(&headers[0])), 2, 0, 0, 0)
	fmt.Println("sendmmsg sent", n, e, le.Uint32(headers[msghdrSize:]), le.Uint32(headers[mmsghdrSize+msghdrSize:]))
	if err := answers(2); err != nil {
		return err
	}
	both := append(c.message(unix.RTM_SETLINK, 0, make([]byte, 16)), c.message(unix.RTM_DELLINK, unix.NLM_F_ACK, make([]byte, 16))...)
	if err := unix.Sendto(c.fd, both, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	return answers(2)
}

// TestNoRouteMessageChangesTheHost sends a message of every type that the newest kernel has. Those
// that change something are served or refused by name; queries are answered by the host.
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
	assert.Contains(t, r.out, "sendmmsg to the kernel bad address\n")
	assert.Contains(t, r.out, "sendmmsg sent 2 errno 0 32 32\nanswer 1 EPERM\nanswer 2 EPERM\nanswer 3 EINVAL\nanswer 4 EPERM\n")
	assert.Equal(t, "address family not supported by protocol", answers["AF_XDP"])
	assert.Contains(t, r.notes, "AF_XDP sockets are not simulated")
}
