package bpfsys

import (
	"fmt"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/machine"
	"github.com/bpfrun/bpfrun/internal/uapi"
)

// Syscall programs call bpf(2) themselves: the loaders of light skeletons do nothing else. Their
// attributes are in the kernel's memory, and the descriptors they open belong to the process that
// runs them.

// FileTable is implemented by callers whose descriptors can be changed in the middle of a call.
type FileTable interface {
	// Install opens a descriptor of a file. The caller then owns the file's reference.
	Install(f File) (fd int32, errno uapi.Errno)
	// CloseFile closes a descriptor. It returns the file whose reference the system is to drop, nil
	// if the caller does that itself.
	CloseFile(fd int32) (*File, uapi.Errno)
}

// process is the caller of a syscall program that runs on a machine. It implements
// [machine.Syscalls], and [Caller] for the calls the program makes.
type process struct {
	Caller
	s *System
	m *machine.Machine
	// held means that the system's lock is held while the program runs.
	held bool
}

func (p *process) lock() (unlock func()) {
	if p.held {
		return func() {}
	}
	p.s.mu.Lock()
	return p.s.mu.Unlock
}

// Read reads the attributes of a call, which are in the kernel's memory.
func (p *process) Read(addr uint64, b []byte) bool {
	return len(b) == 0 || p.m.Kernel().Mem().Read(addr, b) == nil
}

// Write stores results in the kernel's memory, and logs in the process's, where the kernel expects
// them.
func (p *process) Write(addr uint64, b []byte) bool {
	if p.m.Kernel().IsUserAddress(addr) {
		return p.Caller.Write(addr, b)
	}
	return len(b) == 0 || p.m.Kernel().Mem().Write(addr, b) == nil
}

// Bpf makes a call for the program.
func (p *process) Bpf(cmd uint32, attr uint64, size uint32) (ret int64, what string) {
	defer p.lock()()
	name := uapi.Cmd(cmd).String()
	r := p.s.do(p, cmd, attr, size, 0, 0)
	if r.Note != "" {
		p.s.note("%s", r.Note)
	}
	if r.Errno == 0 && r.File != nil {
		fd, errno := p.open(*r.File)
		if errno == 0 {
			o := r.File.Object
			return int64(fd), fmt.Sprintf("%s: %s, fd %d", name, title(o), fd)
		}
		p.s.put(r.File.Object)
		r.Errno = errno
	}
	if r.Errno != 0 {
		return r.Errno.Neg(), fmt.Sprintf("%s: %v", name, r.Errno)
	}
	return r.Val, name
}

// title names an object for messages: "map counts (array)".
func title(o Object) string {
	text := o.Kind().String()
	if o.Name() != "" {
		text += " " + o.Name()
	}
	switch o := o.(type) {
	case *Map:
		return fmt.Sprintf("%s (%v)", text, o.m.Spec().Type)
	case *Prog:
		return fmt.Sprintf("%s (%v)", text, o.typ)
	}
	return text
}

func (p *process) open(f File) (int32, uapi.Errno) {
	t, ok := p.Caller.(FileTable)
	if !ok {
		p.s.note("a syscall program opened a descriptor, for which its process has no table")
		return 0, uapi.EMFILE
	}
	return t.Install(f)
}

// Close implements bpf_sys_close.
func (p *process) Close(fd uint32) uapi.Errno {
	if t, ok := p.Caller.(FileTable); ok {
		f, errno := t.CloseFile(int32(fd))
		if f != nil && f.Object != nil {
			defer p.lock()()
			p.s.put(f.Object)
		}
		return errno
	}
	return uapi.EBADF
}

// OpenBTF opens the types of a module.
func (p *process) OpenBTF(module *btf.Spec) (uint32, uapi.Errno) {
	defer p.lock()()
	for o := range p.s.byID[KindBTF].All() {
		if b := o.(*BTF); b.kernel && b.spec == module {
			r := p.s.newFile(b, ReadWrite)
			fd, errno := p.open(*r.File)
			if errno != 0 {
				p.s.put(b)
			}
			return uint32(fd), errno
		}
	}
	return 0, uapi.ENOENT
}

// ReadUser reads the memory of the process.
func (p *process) ReadUser(addr uint64, b []byte) bool { return p.Caller.Read(addr, b) }
