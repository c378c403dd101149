package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// TestProgramsOfSockets fires the hook of sockets: their programs run until they are replaced or
// detached, or the socket is closed.
func TestProgramsOfSockets(t *testing.T) {
	spec, err := embedded.Spec()
	require.NoError(t, err)
	open := []uint64{1, 2}
	s, err := bpfsys.New(bpfsys.Config{
		Target: loader.NewTarget(embedded.Name, spec), Machine: machine.Config{Uncovered: true, Unwatched: true}, OpenSockets: func() []uint64 { return open },
	})
	require.NoError(t, err)
	defer s.Close()
	k := &task{s: s, mem: make([]byte, 1<<16), base: base, files: map[int32]bpfsys.File{}, next: 20}
	for fd := range int32(2) {
		k.files[fd+1] = bpfsys.File{Kind: bpfsys.SocketFile, Inode: uint64(fd + 1), Socket: &bpfsys.SocketInfo{Family: 2, Type: 2, Protocol: 17, Reuseport: fd == 0}}
	}
	load := func(typ uapi.ProgType, ret int32) int32 {
		fd, e := k.load(typ, returning(ret))
		require.Zero(t, e)
		return int32(fd)
	}
	results := func(hook string) (out []uint64) {
		fired, err := s.Fire(bpfsys.Event{Hook: hook})
		if err != nil {
			require.ErrorIs(t, err, bpfsys.ErrNoHook)
		}
		for _, f := range fired {
			require.NoError(t, f.Err)
			out = append(out, f.Ret)
		}
		return out
	}
	one, two, group := load(uapi.ProgTypeSocketFilter, 11), load(uapi.ProgTypeSocketFilter, 12), load(uapi.ProgTypeSkReuseport, 1)
	assert.Equal(t, uapi.ENOTSOCK, s.SocketAttach(k, one, one, false))
	assert.Equal(t, uapi.EBADF, s.SocketAttach(k, 1, 99, false))
	assert.Equal(t, uapi.EINVAL, s.SocketAttach(k, 1, group, false), "a program of groups")
	require.Zero(t, s.SocketAttach(k, 1, one, false))
	require.Zero(t, s.SocketAttach(k, 2, one, false))
	assert.Equal(t, []uint64{11, 11}, results("socket"))
	require.Zero(t, s.SocketAttach(k, 1, two, false))
	assert.ElementsMatch(t, []uint64{12, 11}, results("socket"))
	assert.Equal(t, uapi.EINVAL, s.SocketAttach(k, 2, group, true), "it is in no group")
	require.Zero(t, s.SocketAttach(k, 1, group, true))
	assert.Equal(t, []uint64{1}, results("sk_reuseport"))
	assert.True(t, s.SocketDetach(k, 1, false))
	assert.False(t, s.SocketDetach(k, 1, false))
	assert.Equal(t, []uint64{11}, results("socket"))
	open = []uint64{1}
	assert.Empty(t, results("socket"), "the socket was closed")
	assert.True(t, s.SocketDetach(k, 1, true))
}
