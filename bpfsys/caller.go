package bpfsys

import "github.com/bpfrun/bpfrun/uapi"

// Caller is the task that makes a call: its memory and its descriptors. Methods are called during a call only.
type Caller interface {
	// Read copies len(p) bytes from the caller's memory; false is EFAULT.
	Read(addr uint64, p []byte) bool
	// Write copies p to the caller's memory; false is EFAULT.
	Write(addr uint64, p []byte) bool
	// File returns what a descriptor of the caller is.
	File(fd int32) File
	// Path makes a path of the call absolute and clean, as the caller sees it.
	Path(dirfd int32, path string) string
	// Interrupted reports whether a signal waits for the caller.
	Interrupted() bool
	// IsFile reports whether a path of the host is a regular file that the caller can reach; Exists whether there is anything.
	IsFile(path string) (regular, exists bool)
	// HasProcess reports whether there is a process of that id.
	HasProcess(pid uint32) bool
	// Thread returns the caller's process and thread ids and its name.
	Thread() (tgid, tid uint32, comm string)
}

// FileKind is what a descriptor refers to.
type FileKind uint8

// Kinds of files.
const (
	NoFile     FileKind = iota // not open
	OtherFile                  // a file of the host that is nothing to bpf(2)
	ObjectFile                 // an object of this system
	CgroupFile                 // a directory of the host's cgroup file system
	NetnsFile                  // a network namespace
	PidFile                    // a pidfd
	SocketFile                 // a socket
	BPFFSFile                  // a directory of the simulated bpffs
)

// Access of a file to its object, as O_ACCMODE has it.
const (
	ReadWrite uint32 = 2
	ReadOnly  uint32 = 0
	WriteOnly uint32 = 1
)

// File is an open file: what it refers to, and how it may be used.
type File struct {
	Kind   FileKind
	Object Object // of an ObjectFile
	Access uint32
	// Inode tells cgroups, namespaces and sockets of the host apart.
	Inode uint64
}

// Result is what a call gives: a value or an errno, and the file that gets a new descriptor, which is the value then. The caller owns a reference to the object
// of a new file and gives it back with [System.Release] when the last copy of the descriptor is closed.
type Result struct {
	Val   int64
	Errno uapi.Errno
	File  *File
	// Note is what a user should know of the call: what is not simulated or was assumed. Empty most of the time.
	Note string
}

func fail(e uapi.Errno) Result { return Result{Errno: e} }

// newFile is the result of a call that opens an object. The reference is taken here.
func (s *System) newFile(o Object, access uint32) Result {
	s.hold(o)
	return Result{File: &File{Kind: ObjectFile, Object: o, Access: access}}
}

// cstring reads a NUL-terminated string of at most limit bytes, NUL included; false is EFAULT or no NUL.
func cstring(c Caller, addr uint64, limit int) (string, bool) {
	var out []byte
	for len(out) < limit {
		n := min(limit-len(out), 256, int(4096-(addr+uint64(len(out)))%4096))
		chunk := make([]byte, n)
		if !c.Read(addr+uint64(len(out)), chunk) {
			return "", false
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
