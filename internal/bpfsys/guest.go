package bpfsys

import (
	"maps"

	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Guest is a process without a host: syscall programs of another machine make their calls in its
// name. It has descriptors, and the simulated user memory of that machine. It implements [Caller]
// and [FileTable].
type Guest struct {
	m     *machine.Machine
	files map[int32]File
}

// Serve lets the syscall programs of a machine call bpf(2) of this system, which has the same
// target.
func (s *System) Serve(m *machine.Machine) *Guest {
	g := &Guest{m: m, files: map[int32]File{}}
	m.SetSyscalls(&process{s: s, Caller: g, m: m})
	return g
}

// Files returns the open descriptors.
func (g *Guest) Files() map[int32]File { return maps.Clone(g.files) }

// firstFile is the lowest descriptor; those before it are the standard streams.
const firstFile = 3

// maxFiles is the default limit of open descriptors (RLIMIT_NOFILE).
const maxFiles = 1024

// Install opens the lowest free descriptor.
func (g *Guest) Install(f File) (int32, uapi.Errno) {
	for fd := int32(firstFile); fd < maxFiles; fd++ {
		if _, used := g.files[fd]; !used {
			g.files[fd] = f
			return fd, 0
		}
	}
	return 0, uapi.EMFILE
}

// CloseFile closes a descriptor.
func (g *Guest) CloseFile(fd int32) (*File, uapi.Errno) {
	f, ok := g.files[fd]
	if !ok {
		return nil, uapi.EBADF
	}
	delete(g.files, fd)
	return &f, 0
}

// Pin returns a page of simulated user memory.
func (g *Guest) Pin(addr uint64) (Page, bool) {
	p := guestPage{g, addr}
	b := make([]byte, uapi.PageSize)
	return p, p.Read(b) && p.Write(0, b)
}

// guestPage is a page of simulated user memory, which has no end.
type guestPage struct {
	g    *Guest
	addr uint64
}

func (p guestPage) Read(b []byte) bool           { return p.g.Read(p.addr, b) }
func (p guestPage) Write(off int, b []byte) bool { return p.g.Write(p.addr+uint64(off), b) }
func (p guestPage) Close()                       {}

// Read reads simulated user memory.
func (g *Guest) Read(addr uint64, p []byte) bool {
	return len(p) == 0 || g.m.Kernel().Mem().ReadUser(addr, p) == nil
}

// Write stores to simulated user memory.
func (g *Guest) Write(addr uint64, p []byte) bool {
	return len(p) == 0 || g.m.Kernel().Mem().WriteUser(addr, p) == nil
}

// File returns an open descriptor.
func (g *Guest) File(fd int32) File { return g.files[fd] }

// Path returns the path: the process is in the root directory.
func (g *Guest) Path(_ int32, path string) string { return path }

// Interrupted returns false: nothing sends signals.
func (g *Guest) Interrupted() bool { return false }

// IsFile returns false: there are no host files.
func (g *Guest) IsFile(string) (regular, exists bool) { return false, false }

// HasProcess reports whether pid is the process itself.
func (g *Guest) HasProcess(pid uint32) bool { return pid == 1 }

// Netns returns the initial network namespace.
func (g *Guest) Netns() uint32 { return 0 }

// Thread returns the only thread.
func (g *Guest) Thread() (tgid, tid uint32, comm string) { return 1, 1, "loader" }

// FileOf finds no other process.
func (g *Guest) FileOf(uint32, int32) (File, bool) { return File{}, false }

// UserNS returns the initial namespace and all capabilities.
func (g *Guest) UserNS() (ns, capabilities uint64) { return 0, ^uint64(0) }
