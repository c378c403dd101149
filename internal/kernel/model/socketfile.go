package model

import (
	"strconv"
	"strings"

	"github.com/bpfrun/bpfrun/internal/kernel/object"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// socketFile is a default descriptor that is a socket.
type socketFile struct {
	name        string // of the protocol, and of the file
	state, kind uint64
	ops         string
}

// Numbers of struct socket: SS_UNCONNECTED, SS_CONNECTED, SOCK_STREAM, SOCK_DGRAM.
const (
	unconnected = 1
	connected   = 3
	stream      = 1
	datagram    = 2

	socketMode = 0o140777 // S_IFSOCK
)

// socketFiles are the descriptors of a process that are sockets: a listening one, a connection and
// one of UDP.
var socketFiles = map[uint64]socketFile{
	8:  {"TCP", unconnected, stream, "inet_stream_ops"},
	9:  {"TCP", connected, stream, "inet_stream_ops"},
	10: {"UDP", unconnected, datagram, "inet_dgram_ops"},
}

// socketFileOf returns what socket a file is, by its place in a process's table.
func socketFileOf(file *object.Object) (s socketFile, ok bool) {
	if file == nil || file.TypeName() != "file" {
		return s, false
	}
	table, rest, found := strings.Cut(file.Role()[strings.LastIndexByte(file.Role(), '.')+1:], "[")
	fd, err := strconv.ParseUint(strings.TrimSuffix(rest, "]"), 10, 8)
	if !found || err != nil || table != "fd" && table != "fd_array" {
		return s, false
	}
	s, ok = socketFiles[fd]
	return s, ok
}

// fillSocketFile makes a file a socket's, which is allocated with its inode (sock_alloc_file,
// sock_alloc of net/socket.c).
func (m *Model) fillSocketFile(b object.Builder, s socketFile) {
	l := m.LayoutNamed("socket")
	if l == nil || l.Size == 0 || b.Object.Chain("file") > 1 {
		return
	}
	o, err := m.Make(b.Role("private_data"), l, 1, b.Object)
	if err != nil {
		m.Fail(err)
		return
	}
	o.MarkBuiltin()
	b.Ptr("private_data", o)
	k := object.Fill(o)
	k.Num("type", s.kind)
	k.Num("state", s.state)
	if ops := m.Builtin(s.ops, "proto_ops"); ops != nil {
		k.Ptr("ops", ops)
		object.Fill(ops).Num("family", uapi.AFInet)
	}
	b.Num("f_inode", k.As("socket_alloc").AddrOf("vfs_inode"))
	b.Num("f_mapping", k.As("socket_alloc").AddrOf("vfs_inode.i_data"))
	b.Ptr("f_path.mnt", m.mountAt(mountNamed("sockfs")))
	b.Child("f_path.dentry")
	b.Ptr("f_op", m.Builtin("socket_file_ops", "file_operations"))
	b.Num("f_flags", 2) // O_RDWR
	b.Num("f_mode", 3)  // FMODE_READ, FMODE_WRITE
	b.Num("f_pos", 0)
}

// fillSocketDentry makes a dentry that of a socket's file, in no directory (d_alloc_pseudo).
func (m *Model) fillSocketDentry(b object.Builder, file *object.Object, s socketFile) {
	m.nameDentry(b, s.name)
	b.Ptr("d_parent", b.Object)
	b.Num("d_inode", file.Num("f_inode"))
	b.Ptr("d_sb", m.superOf(mountNamed("sockfs")))
	b.Num("d_lockref.count", 1)
	b.Null("d_fsdata d_hash.pprev")
}

// fillSocketInode fills the inode after a socket.
func (m *Model) fillSocketInode(b object.Builder) {
	m.fillAllocatedInode(b, socketMode, b.Within("ino", 1000, 1<<20), "sockfs")
}

// fillAllocatedInode fills an inode that is allocated together with what it is the inode of, in a
// file system that no process sees.
func (m *Model) fillAllocatedInode(b object.Builder, mode, number uint64, fs string) {
	b.Num("vfs_inode.i_mode", mode)
	b.Num("vfs_inode.i_ino", number)
	b.Num("vfs_inode.__i_nlink|vfs_inode.i_nlink", 1)
	b.Num("vfs_inode.i_count.counter", 1)
	b.Ptr("vfs_inode.i_sb", m.superOf(mountNamed(fs)))
	b.Num("vfs_inode.i_mapping", b.AddrOf("vfs_inode.i_data"))
	b.Num("vfs_inode.i_data.host", b.AddrOf("vfs_inode"))
}
