package bpfsys

import (
	"net/netip"

	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Caller gives access to the memory and descriptors of the task that makes a call. Its methods are
// called only during that call.
type Caller interface {
	// Read copies len(p) bytes from the caller's memory; false means EFAULT.
	Read(addr uint64, p []byte) bool
	// Write copies p to the caller's memory; false means EFAULT.
	Write(addr uint64, p []byte) bool
	// Pin returns the page of the caller's memory at an address, a multiple of [uapi.PageSize]; false
	// means that it is not there, or that the caller may not write to it.
	Pin(addr uint64) (Page, bool)
	// File describes a descriptor of the caller.
	File(fd int32) File
	// FileOf describes a descriptor of another process; ok is false if it is none of those that the
	// simulated kernel knows.
	FileOf(pid uint32, fd int32) (f File, ok bool)
	// Path returns a path argument as an absolute and clean path, as the caller sees it.
	Path(dirfd int32, path string) string
	// Interrupted reports whether a signal is pending for the caller.
	Interrupted() bool
	// IsFile reports whether a host path is a regular file that the caller can reach. Exists
	// reports whether the path exists at all.
	IsFile(path string) (regular, exists bool)
	// HasProcess reports whether a process with the given id exists.
	HasProcess(pid uint32) bool
	// UserNS returns the caller's user namespace, 0 for the initial one of the simulated kernel,
	// and the caller's effective capabilities in it.
	UserNS() (ns, capabilities uint64)
	// Netns returns the caller's network namespace, 0 for the initial one.
	Netns() uint32
	// Thread returns the caller's process and thread ids and its name.
	Thread() (tgid, tid uint32, comm string)
}

// FileKind is the kind of file that a descriptor refers to.
type FileKind uint8

// Kinds of files.
const (
	NoFile     FileKind = iota // not open
	OtherFile                  // a host file that bpf(2) does not know
	ObjectFile                 // an object of this system
	CgroupFile                 // a directory of the host's cgroup file system
	NetnsFile                  // a network namespace
	PidFile                    // a pidfd
	SocketFile                 // a socket
	BPFFSFile                  // a directory of a simulated bpffs
)

// Access modes of a file, with the values of O_ACCMODE.
const (
	ReadWrite uint32 = 2
	ReadOnly  uint32 = 0
	WriteOnly uint32 = 1
)

// File describes an open file: what it refers to, and the access it allows.
type File struct {
	Kind   FileKind
	Object Object // set for an ObjectFile
	Access uint32
	// Inode identifies the host's cgroups, namespaces and sockets; with Dev, the file system, any
	// file of the host.
	Inode, Dev uint64
	Path       string      // of a BPFFSFile, and of a CgroupFile below its mount
	PID, TGID  uint32      // of a PidFile: the thread and its process
	Socket     *SocketInfo // of a SocketFile
}

// SocketInfo describes a socket of the host. State is that of TCP (include/net/tcp_states.h); other
// connected sockets are established too.
type SocketInfo struct {
	Family, Type, Protocol uint16
	State                  uint8
	Local, Remote          netip.AddrPort
	Cookie                 uint64
	// Bound means that packets find it; Reuseport that SO_REUSEPORT is set.
	Bound, Reuseport bool
}

// Result is the outcome of a call: a value or an errno. A call that opens a descriptor returns the
// new file, and the value to return to user space is its descriptor. The caller owns a reference to
// the file's object and drops it with [System.Release] when the last copy of the descriptor is
// closed.
type Result struct {
	Val   int64
	Errno uapi.Errno
	File  *File
	// Note is a message for the user about an assumption or something that is not simulated. It is
	// usually empty.
	Note string
}

func fail(e uapi.Errno) Result { return Result{Errno: e} }

// newFile returns the result of a call that opens an object. It takes a reference to the object.
func (s *System) newFile(o Object, access uint32) Result {
	o.head().open++
	s.hold(o)
	return Result{File: &File{Kind: ObjectFile, Object: o, Access: access}}
}

// cstring reads a NUL-terminated string of at most limit bytes, including the NUL. It returns false
// on EFAULT or if there is no NUL.
func cstring(c Caller, addr uint64, limit int) (string, bool) {
	var out []byte
	for len(out) < limit {
		n := min(limit-len(out), 256, int(4096-(addr+uint64(len(out)))%4096))
		chunk := make([]byte, n)
		if !c.Read(addr+uint64(len(out)), chunk) {
			// Simulated memory may end right after the string.
			if chunk = chunk[:1]; n == 1 || !c.Read(addr+uint64(len(out)), chunk) {
				return "", false
			}
		}
		for i, b := range chunk {
			if b == 0 {
				return string(append(out, chunk[:i]...)), true
			}
		}
		out = append(out, chunk...)
	}
	return string(out), false
}
