package bpfsys_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/internal/bpfsys"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/loader"
)

// TestClosedSocketsLeaveMaps stores two sockets in each kind of map that keeps them, and closes one.
func TestClosedSocketsLeaveMaps(t *testing.T) {
	spec := newestKernel(t)
	const other = socketFD + 100
	for _, typ := range []uapi.MapType{uapi.MapTypeSockmap, uapi.MapTypeSockhash, uapi.MapTypeReuseportSockarray, uapi.MapTypeSkStorage} {
		t.Run(typ.String(), func(t *testing.T) {
			open := []uint64{socketFD, other}
			k := newCaller(t, spec)
			s, err := bpfsys.New(bpfsys.Config{
				Target:  loader.NewTarget("7.2", spec, loader.WithVersion(7<<16|2<<8)),
				Machine: machine.Config{Uncovered: true, Unwatched: true}, OpenSockets: func() []uint64 { return open },
			})
			require.NoError(t, err)
			defer s.Close()
			k.s = s
			info := *k.files[socketFD].Socket
			info.Cookie = 78
			k.files[other] = bpfsys.File{Kind: bpfsys.SocketFile, Inode: other, Socket: &info}
			m := int64(0)
			if typ == uapi.MapTypeSkStorage {
				fd, r := k.create(typ)
				require.Zero(t, r.errno, r.notes)
				m = fd
			} else {
				m = int64(k.must(k.createMap(typ, 4, 8, 8, 0)))
			}
			key := func(fd int) uint64 {
				if typ == uapi.MapTypeSkStorage {
					return k.fdKey(fd)
				}
				return k.put(le.AppendUint32(nil, uint32(fd%8)))
			}
			get := func(fd int) uapi.Errno { _, e := k.read(m, key(fd)); return e }
			for _, fd := range []int{socketFD, other} {
				require.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, key(fd), k.put(le.AppendUint64(nil, uint64(fd))), 0))
				assert.Zero(t, get(fd))
			}
			open = []uint64{other}
			assert.Zero(t, get(other))
			assert.Equal(t, uapi.ENOENT, get(socketFD), "it is closed")

			open = []uint64{socketFD, other} // another socket, which got the number
			assert.Equal(t, uapi.ENOENT, get(socketFD))
			assert.Zero(t, k.elem(uapi.CmdMapUpdateElem, m, key(socketFD), k.put(le.AppendUint64(nil, socketFD)), uapi.NoExist))
			assert.Zero(t, get(socketFD))
		})
	}
}
