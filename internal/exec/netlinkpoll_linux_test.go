//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

func init() { tools["netlinkpoll"] = netlinkPollTool }

// netlinkPollTool waits for answers with poll(2) before it reads them.
func netlinkPollTool() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	ready := func(wait int) bool {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, wait)
		return n == 1 && err == nil
	}
	send := func(seq byte, typ uint16) error {
		b := header(make([]byte, nlmsgHdrSize), 0, uapi.RouteMessage(typ), unix.NLM_F_REQUEST|unix.NLM_F_ACK, make([]byte, 16))
		b[8] = seq
		return unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	buf := make([]byte, 20)
	for seq, typ := range []uint16{unix.RTM_DELLINK, unix.RTM_DELLINK, unix.RTM_GETLINK} {
		fmt.Print(ready(0), " ")
		if err := send(byte(seq), typ); err != nil {
			return err
		}
	}
	fmt.Println(ready(1000))
	for range 2 {
		peeked, _, err := unix.Recvfrom(fd, buf, unix.MSG_PEEK|unix.MSG_TRUNC)
		n, _, err2 := unix.Recvfrom(fd, buf, 0)
		fmt.Println(peeked, outcomeOf(err), n, outcomeOf(err2), buf[8], ready(0))
	}
	n, _, err := unix.Recvfrom(fd, buf, 0)
	fmt.Println(n, outcomeOf(err), buf[8], int32(le.Uint32(buf[16:])))
	_, _, err = unix.Recvfrom(fd, buf, unix.MSG_DONTWAIT)
	fmt.Println(ready(0), outcomeOf(err))
	return nil
}

// TestAnswersMakeSocketsReady: those that wait here, beside those of the host.
func TestAnswersMakeSocketsReady(t *testing.T) {
	r := start(t, "netlinkpoll", "")
	assert.Equal(t, "false true true true\n52 ok 20 ok 0 true\n52 ok 20 ok 1 true\n20 ok 2 -22\nfalse EAGAIN\n", r.out, r.notes)
}

// TestSocketsThatWereMadeReadyAreLimited: a tool may close each before it reads its answer.
func TestSocketsThatWereMadeReadyAreLimited(t *testing.T) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	require.NoError(t, err)
	defer unix.Close(fd)
	s := &supervisor{poked: map[uint64]bool{}, replies: map[uint64][][]byte{}}
	for ino := range uint64(maxPoked + 2) {
		s.replies[ino] = [][]byte{{}}
		s.pokeAnswered(fd, ino)
		for !unpoke(fd) { // leaves room for the next
		}
		require.True(t, s.poked[ino])
		require.LessOrEqual(t, len(s.poked), maxPoked)
	}
}
