//go:build linux && (amd64 || arm64)

package exec

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestStatesOfSockets: what a program sees of a socket in a map.
func TestStatesOfSockets(t *testing.T) {
	loopback := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	bind := func(fd int) error { return unix.Bind(fd, loopback) }
	listen := func(fd int) error { return unix.Listen(fd, 1) }
	connect := func(fd int) error { return unix.Connect(fd, &unix.SockaddrInet4{Addr: loopback.Addr, Port: 9}) }
	name := func(fd int) error { return unix.Bind(fd, &unix.SockaddrUnix{Name: "@bpfrun-" + t.Name()}) } // abstract
	for _, tt := range []struct {
		what        string
		family, typ int
		steps       []func(int) error
		state       uint8
		bound       bool
		remote      bool
	}{
		{"TCP", unix.AF_INET, unix.SOCK_STREAM, nil, tcpClose, false, false},
		{"TCP, bound", unix.AF_INET, unix.SOCK_STREAM, []func(int) error{bind}, tcpClose, true, false},
		{"TCP, listening", unix.AF_INET, unix.SOCK_STREAM, []func(int) error{bind, listen}, tcpListen, true, false},
		{"UDP", unix.AF_INET, unix.SOCK_DGRAM, nil, tcpClose, false, false},
		{"UDP, bound", unix.AF_INET, unix.SOCK_DGRAM, []func(int) error{bind}, tcpClose, true, false},
		{"UDP, connected", unix.AF_INET, unix.SOCK_DGRAM, []func(int) error{connect}, tcpEstablished, true, true},
		{"local", unix.AF_UNIX, unix.SOCK_STREAM, nil, tcpClose, false, false},
		{"local, listening", unix.AF_UNIX, unix.SOCK_STREAM, []func(int) error{name, listen}, tcpListen, false, false},
	} {
		t.Run(tt.what, func(t *testing.T) {
			fd, err := unix.Socket(tt.family, tt.typ|unix.SOCK_CLOEXEC, 0)
			require.NoError(t, err)
			defer unix.Close(fd)
			for _, step := range tt.steps {
				require.NoError(t, step(fd))
			}
			i := socketInfo(fd)
			assert.Equal(t, tt.state, i.State)
			assert.Equal(t, tt.bound, i.Bound)
			assert.Equal(t, tt.remote, i.Remote.IsValid() && i.Remote.Port() == 9)
			assert.EqualValues(t, tt.family, i.Family)
			assert.EqualValues(t, tt.typ, i.Type)
		})
	}
}

// TestProcessesOfDescriptors: a pidfd has one, whatever the release calls such a file.
func TestProcessesOfDescriptors(t *testing.T) {
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	assert.EqualValues(t, os.Getpid(), pidOf(fd))
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	assert.Zero(t, pidOf(int(null.Fd())))
	assert.Zero(t, pidOf(-1))
	for link, want := range map[string]bool{"anon_inode:[pidfd]": true, "pidfd:[4711]": true, "anon_inode:bpf-map": false, "/tmp/pidfd:": false, "socket:[4711]": false} {
		assert.Equal(t, want, isPidfd(link), link)
	}
}
