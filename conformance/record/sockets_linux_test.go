package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestSocketsOfTheRecorder: a listening socket, one of UDP, and the two ends of a connection.
func TestSocketsOfTheRecorder(t *testing.T) {
	fds, err := openSockets()
	for _, fd := range fds {
		defer unix.Close(fd)
	}
	require.NoError(t, err)
	require.Len(t, fds, 4)
	for i, want := range []struct{ listens, typ int }{{1, unix.SOCK_STREAM}, {0, unix.SOCK_DGRAM}, {0, unix.SOCK_STREAM}, {0, unix.SOCK_STREAM}} {
		listens, err := unix.GetsockoptInt(fds[i], unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
		require.NoError(t, err)
		typ, err := unix.GetsockoptInt(fds[i], unix.SOL_SOCKET, unix.SO_TYPE)
		require.NoError(t, err)
		assert.Equal(t, want, struct{ listens, typ int }{listens, typ}, "socket %d", i)
	}
	one, err := unix.Getsockname(fds[2])
	require.NoError(t, err)
	other, err := unix.Getpeername(fds[3])
	require.NoError(t, err)
	assert.Equal(t, one, other)
}
