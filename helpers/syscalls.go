package helpers

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/internal/uapi/since"
	"github.com/bpfrun/bpfrun/vm"
)

// Syscalls is the process in whose name a syscall program runs: its bpf(2), descriptors and memory.
// The loader programs of light skeletons create everything with them.
type Syscalls interface {
	// Bpf makes a call with attributes of size bytes at an address of simulated memory. It returns
	// the result or a negative errno, and what the call did ("map counts (array), fd 3").
	Bpf(cmd uint32, attr uint64, size uint32) (ret int64, what string)
	// Close closes a descriptor.
	Close(fd uint32) uapi.Errno
	// OpenBTF opens the types of a module.
	OpenBTF(module *btf.Spec) (fd uint32, errno uapi.Errno)
	// ReadUser reads the process's memory; false means EFAULT.
	ReadUser(addr uint64, p []byte) bool
}

// SetSyscalls sets the process of syscall programs; with nil, they have none, and bpf_sys_bpf is
// refused by name.
func (e *Env) SetSyscalls(s Syscalls) {
	e.syscalls, e.probe.Process = s, nil
	if s != nil {
		e.probe.Process = s.ReadUser
	}
}

var syscallHelpers = []row{
	{ID: uapi.FuncSysBpf, Do: sysBpf, Note: "bpf(2) of the simulated kernel that `run` and `exec` start; elsewhere refused by name"},
	{ID: uapi.FuncSysClose, Do: sysClose},
	{ID: uapi.FuncBtfFindByNameKind, Do: btfFindByNameKind},
}

// sysCommands are the commands of bpf_sys_bpf (kernel/bpf/syscall.c).
var sysCommands = map[uapi.Cmd]since.Rule{
	uapi.CmdMapCreate: since.Always, uapi.CmdMapUpdateElem: since.Always, uapi.CmdMapFreeze: since.Always,
	uapi.CmdProgLoad: since.Always, uapi.CmdBtfLoad: since.Always,
	uapi.CmdMapDeleteElem: since.SysBpfDeletes, uapi.CmdMapGetFdById: since.SysBpfDeletes, uapi.CmdLinkCreate: since.SysBpfLinks, uapi.CmdRawTracepointOpen: since.SysBpfLinks,
}

func sysBpf(c *Call) (uint64, *vm.Action) {
	cmd := uint32(c.Args[0])
	rule, ok := sysCommands[uapi.Cmd(cmd)]
	if !ok || !c.has(rule) {
		return errnoRet(uapi.EINVAL), nil
	}
	if c.syscalls == nil {
		return 0, notSimulated("bpf_sys_bpf: this command starts no simulated kernel for the program to load into: use bpfrun run or bpfrun exec")
	}
	ret, what := c.syscalls.Bpf(cmd, c.Args[1], uint32(c.Args[2]))
	if what != "" {
		c.Run.Events = append(c.Run.Events, Event{Kind: SysBPF, Number: uint64(max(ret, 0)), Detail: what})
	}
	return uint64(ret), nil
}

// sysClose closes a descriptor of the process; without one, no descriptor is open.
func sysClose(c *Call) (uint64, *vm.Action) {
	if c.syscalls == nil {
		return errnoRet(uapi.EBADF), nil
	}
	return errnoRet(c.syscalls.Close(uint32(c.Args[0]))), nil
}

// btfFindByNameKind returns the id of a type of vmlinux or, with a descriptor of its types in the
// upper half, of a module.
func btfFindByNameKind(c *Call) (uint64, *vm.Action) {
	n := c.Args[1] & 0xffffffff
	if c.Args[3] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	name := c.In(0)
	if n <= 1 || name[n-1] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	kind, text := btf.Kind(c.Args[2]&0xff), cString(name)
	if id, ok := c.Kernel.BTF().FindID(kind, text); ok {
		return uint64(id), nil
	}
	for _, m := range c.Kernel.Modules() {
		id, ok := m.FindID(kind, text)
		if !ok || int(id) < c.Kernel.BTF().NumTypes() {
			continue
		}
		if c.syscalls == nil {
			return 0, notSimulated("bpf_btf_find_by_name_kind: " + text + " is a type of a module, for which the program needs a descriptor")
		}
		fd, errno := c.syscalls.OpenBTF(m)
		if errno != 0 {
			return errnoRet(errno), nil
		}
		return uint64(id) | uint64(fd)<<32, nil
	}
	return errnoRet(uapi.ENOENT), nil
}
