package bpfsys

import "github.com/bpfrun/bpfrun/uapi"

// Caller is the task that makes a call: its memory and its descriptors. Its methods are called only during a call.
type Caller interface {
	// Read copies len(p) bytes from the caller's memory; false is EFAULT.
	Read(addr uint64, p []byte) bool
	// Write copies p to the caller's memory; false is EFAULT.
	Write(addr uint64, p []byte) bool
	// File describes a descriptor of the caller.
	File(fd int32) File
	// Path makes a path of the call absolute and clean, as the caller sees it.
	Path(dirfd int32, path string) string
	// Interrupted reports whether a signal is pending for the caller.
	Interrupted() bool
	// IsFile reports whether a host path is a regular file that the caller can reach. Exists reports whether the path exists at all.
	IsFile(path string) (regular, exists bool)
	// HasProcess reports whether a process with that id exists.
	HasProcess(pid uint32) bool
	// Thread returns the caller's process and thread ids and its name.
	Thread() (tgid, tid uint32, comm string)
}

// FileKind is what a descriptor refers to.
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
	// Inode identifies the host's cgroups, namespaces and sockets.
	Inode uint64
}

// Result is the outcome of a call: a value or an errno, and for a call that opens a descriptor the new file (the descriptor is
// then the value). The caller owns a reference to the new file's object and drops it with [System.Release] when the last copy of
// the descriptor is closed.
type Result struct {
	Val   int64
	Errno uapi.Errno
	File  *File
	// Note tells the user what was assumed or is not simulated. Usually empty.
	Note string
}

func fail(e uapi.Errno) Result { return Result{Errno: e} }

// newFile returns the result of a call that opens an object, and takes the reference.
func (s *System) newFile(o Object, access uint32) Result {
	s.hold(o)
	return Result{File: &File{Kind: ObjectFile, Object: o, Access: access}}
}

// cstring reads a NUL-terminated string of at most limit bytes, including the NUL. It returns false on EFAULT or when there is no NUL.
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
