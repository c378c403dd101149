//go:build linux && (amd64 || arm64)

package exec

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestCloseIsSeenAfterItsNotification: the kernel tells of a close before it releases the lock of
// the file, and may be interrupted in between.
func TestCloseIsSeenAfterItsNotification(t *testing.T) {
	inotify, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	require.NoError(t, err)
	defer unix.Close(inotify)
	s := &supervisor{inotify: inotify, files: map[uint64]*file{}, watches: map[int]*file{}}
	f, err := s.newFile("link")
	require.NoError(t, err)
	open := func() int {
		fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", f.fd), unix.O_RDWR|unix.O_CLOEXEC, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Flock(fd, unix.LOCK_SH))
		f.open++
		return fd
	}
	one, other := open(), open()
	unix.Close(one)
	s.drain()
	assert.Same(t, f, s.watches[f.wd], "another descriptor is open")
	require.NoError(t, unix.Flock(other, unix.LOCK_UN)) // what its close does last
	s.drain()
	assert.Empty(t, s.watches)
	assert.Empty(t, s.closing)
	unix.Close(other)

	f, err = s.newFile("map")
	require.NoError(t, err)
	one, other = open(), open()
	defer unix.Close(other)
	unix.Close(one)
	s.drain()
	s.closing[f] = time.Now().Add(-closingTime - time.Second)
	s.drain()
	assert.Same(t, f, s.watches[f.wd])
	assert.Empty(t, s.closing, "it is not looked at forever")
	s.drop(f)
}
