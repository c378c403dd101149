//go:build linux && (amd64 || arm64)

package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestAcknowledgementsAreTheKernels compares with what the host's kernel answers to the same
// messages: about a device that does not exist, with and without NETLINK_CAP_ACK. Kernels differ in
// whether they count the bytes that align a message.
func TestAcknowledgementsAreTheKernels(t *testing.T) {
	for _, capped := range []bool{false, true} {
		for _, extra := range []int{0, 4, 8, 200} {
			c, err := converse()
			if err != nil {
				t.Skipf("no NETLINK_ROUTE here: %v", err)
			}
			if capped {
				require.NoError(t, unix.SetsockoptInt(c.fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1))
			}
			body := make([]byte, 16+extra) // struct ifinfomsg
			le.PutUint32(body[4:], 0x7ffffff0)
			msg := c.message(unix.RTM_GETLINK, unix.NLM_F_ACK, body)
			require.NoError(t, unix.Sendto(c.fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
			buf := make([]byte, maxNetlink)
			n, _, err := unix.Recvfrom(c.fd, buf, 0)
			require.NoError(t, err)
			e := unix.Errno(-int32(le.Uint32(buf[16:])))
			require.NotZero(t, e)
			assert.Equal(t, buf[:n], netlinkAck(msg, portOf(c.fd), e, capped), "capped %v, %d bytes more", capped, extra)
			unix.Close(c.fd)
		}
	}
}

func TestAcknowledgementOfSuccessHasTheHeaderAlone(t *testing.T) {
	msg := append([]byte{40, 0, 0, 0, 16, 0, 5, 0, 7, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 24)...)
	r := netlinkAck(msg, 3, 0, false)
	require.Len(t, r, 36)
	assert.Equal(t, uint16(unix.NLM_F_CAPPED), le.Uint16(r[6:]))
	assert.Equal(t, msg[:nlmsgHdrSize], r[20:])
}
