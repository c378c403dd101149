package helpers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/kernel/net"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// TestSocketOwners: what a socket belongs to, and whether a file is one.
func TestSocketOwners(t *testing.T) {
	r := newRig(t, newest)
	_, full := r.open("full", net.SockSpec{State: 10, SourcePort: 80})
	_, wait := r.open("wait", net.SockSpec{State: tcpTimeWait, SourcePort: 81, Source: []byte{10, 0, 0, 1}, Dest: []byte{10, 0, 0, 2}})
	assert.Equal(t, r.kernel.CgroupID(), r.ok(uapi.FuncSkCgroupId, full.Addr()))
	assert.Zero(t, r.ok(uapi.FuncSkCgroupId, wait.Addr()), "less than a full socket")
	assert.Equal(t, r.kernel.AncestorCgroupID(0), r.ok(uapi.FuncSkAncestorCgroupId, full.Addr(), 0))
	assert.Zero(t, r.ok(uapi.FuncSkAncestorCgroupId, full.Addr(), 99), "deeper than it is")
	assert.Zero(t, r.ok(uapi.FuncSkAncestorCgroupId, wait.Addr(), 0))
	assert.Zero(t, r.ok(uapi.FuncSkcToMptcpSock, full.Addr()))

	typ, ok := r.kernel.BTF().FindID(btf.KindStruct, "file")
	require.True(t, ok)
	file, err := r.kernel.NewObject("file", typ)
	require.NoError(t, err)
	require.NoError(t, file.SetUint("f_op", r.kernel.SymbolAddr("ext4_file_operations")))
	assert.Zero(t, r.ok(uapi.FuncSockFromFile, file.Addr()))
	require.NoError(t, file.SetUint("f_op", r.kernel.SymbolAddr("socket_file_ops")))
	require.NoError(t, file.SetUint("private_data", 0x1234))
	assert.EqualValues(t, 0x1234, r.ok(uapi.FuncSockFromFile, file.Addr()))
	_, fault := r.call(uapi.FuncSockFromFile, 8)
	require.NotNil(t, fault)
}
