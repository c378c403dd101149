package helpers

import (
	"bytes"

	"github.com/bpfrun/bpfrun/mem"
	"github.com/bpfrun/bpfrun/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var probeHelpers = []row{
	{ID: uapi.FuncProbeRead, Do: probeRead},
	{ID: uapi.FuncProbeReadStr, Do: probeReadStr},
	{ID: uapi.FuncProbeReadKernel, Do: probeReadKernel},
	{ID: uapi.FuncProbeReadKernelStr, Do: probeReadKernelStr},
	{ID: uapi.FuncProbeReadUser, Do: probeReadUser},
	{ID: uapi.FuncProbeReadUserStr, Do: probeReadUserStr},
	{ID: uapi.FuncProbeWriteUser, Do: probeWriteUser},
	{ID: uapi.FuncCopyFromUser, Do: probeReadUser},
	{ID: uapi.FuncCopyFromUserTask, Do: copyFromUserTask,
		Note: "every task shares the simulated user memory"},
}

// A space reads guest memory without faulting: it returns 0 or the errno of the kernel's
// nofault copy. It fails with a fault where the kernel would read past an object's end.
type space func(e *Env, addr uint64, p []byte) (uapi.Errno, *vm.Action)

// kernelSpace is copy_from_kernel_nofault.
func kernelSpace(e *Env, addr uint64, p []byte) (uapi.Errno, *vm.Action) {
	if !e.kernelAllowed(addr) {
		return uapi.ERANGE, nil
	}
	if len(p) == 0 {
		return 0, nil // the address is judged all the same
	}
	return e.nofault(e.Mem.Read(addr, p))
}

// userSpace is copy_from_user_nofault.
func userSpace(e *Env, addr uint64, p []byte) (uapi.Errno, *vm.Action) {
	if len(p) == 0 {
		return 0, nil
	}
	if f := e.Mem.ReadUser(addr, p); f != nil {
		return uapi.EFAULT, nil
	}
	return 0, nil
}

// anySpace is bpf_probe_read_compat: addresses of user space are read as such where the
// architecture keeps both apart.
func anySpace(e *Env, addr uint64, p []byte) (uapi.Errno, *vm.Action) {
	if e.Kernel.IsUserAddress(addr) {
		return userSpace(e, addr, p)
	}
	return kernelSpace(e, addr, p)
}

// nofault turns the fault of a kernel read into the helper's answer. Only a read that
// starts inside an object and runs off its end, or hits freed memory, is the program's fault:
// the kernel would hand out bytes of something else.
func (e *Env) nofault(f *mem.Fault) (uapi.Errno, *vm.Action) {
	switch {
	case f == nil:
		return 0, nil
	case f.Kind == mem.OutOfBounds && f.Region != nil && f.Region.Contains(f.Addr):
		return 0, memFault(f)
	case f.Kind == mem.UseAfterFree, f.Kind == mem.NeverSet:
		return 0, memFault(f)
	}
	return uapi.EFAULT, nil
}

// kernelAllowed is copy_from_kernel_nofault_allowed, which only x86 refuses addresses by
// (arch/x86/mm/maccess.c): user space with its guard page, non-canonical ones and the vsyscall page.
func (e *Env) kernelAllowed(addr uint64) bool {
	if e.Arch != "x86" {
		return true
	}
	if e.Mem.PointerSize() == 4 {
		return !e.Kernel.IsUserAddress(addr)
	}
	const userEnd, vsyscall, page = 1 << 47, 0xffffffffff600000, 4096
	return addr >= userEnd && int64(addr<<16)>>16 == int64(addr) && addr-vsyscall >= page
}

func probe(s space) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		buf := c.Out(0)
		errno, f := s(c.Env, c.Args[2], buf)
		if f != nil {
			return 0, f
		}
		if errno != 0 {
			clear(buf)
		}
		return errnoRet(errno), c.write(c.Args[0], buf)
	}
}

func probeStr(s space) Impl {
	return func(c *Call) (uint64, *vm.Action) {
		buf := c.Out(0)
		if len(buf) == 0 {
			return 0, nil
		}
		n, errno, f := readString(c.Env, s, c.Args[2], buf)
		if f != nil {
			return 0, f
		}
		if errno != 0 {
			clear(buf)
			return errnoRet(errno), c.write(c.Args[0], buf)
		}
		// Bytes after the NUL are left as they were.
		return uint64(n), c.write(c.Args[0], buf[:n])
	}
}

const pageSize = 4096

// readString copies a string with its NUL into buf, cut to len(buf), and returns the
// number of bytes including the NUL.
func readString(e *Env, s space, addr uint64, buf []byte) (int, uapi.Errno, *vm.Action) {
	for i := 0; i < len(buf); {
		// Plain memory is read in pieces; a view (a kernel object) byte by byte, so that
		// nothing behind the NUL counts as read.
		n, at := 1, addr+uint64(i)
		if r := e.Mem.Find(at); r != nil && r.View == nil && r.Count == 0 {
			// Not beyond the page: the next one of user memory may be absent.
			n = int(min(r.Base+r.Size-at, uint64(len(buf)-i), pageSize-at%pageSize))
		}
		errno, f := s(e, addr+uint64(i), buf[i:i+n])
		if errno != 0 && i > 0 && !e.Kernel.IsUserAddress(addr) {
			// The string runs off the end of its object: the kernel would go on in the next one.
			if off := e.Mem.Check(addr, uint64(i)+1, false); off != nil && off.Kind == mem.OutOfBounds {
				return 0, 0, memFault(off)
			}
		}
		if errno != 0 || f != nil {
			return 0, errno, f
		}
		if end := bytes.IndexByte(buf[i:i+n], 0); end >= 0 {
			return i + end + 1, 0, nil
		}
		i += n
	}
	buf[len(buf)-1] = 0
	return len(buf), 0, nil
}

var (
	probeRead          = probe(anySpace)
	probeReadStr       = probeStr(anySpace)
	probeReadKernel    = probe(kernelSpace)
	probeReadKernelStr = probeStr(kernelSpace)
	probeReadUser      = probe(userSpace)
	probeReadUserStr   = probeStr(userSpace)
)

func probeWriteUser(c *Call) (uint64, *vm.Action) {
	data := c.In(1)
	// nmi_uaccess_okay and access_ok failures are -EPERM, a missing page -EFAULT.
	if !c.Mem.IsUser(c.Args[0]) {
		return errnoRet(uapi.EPERM), nil
	}
	if f := c.Mem.WriteUser(c.Args[0], data); f != nil {
		return errnoRet(uapi.EFAULT), nil
	}
	return 0, nil
}

func copyFromUserTask(c *Call) (uint64, *vm.Action) {
	if c.Args[4] != 0 {
		return errnoRet(uapi.EINVAL), nil
	}
	return probeReadUser(c)
}
