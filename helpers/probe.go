package helpers

import (
	"bytes"
	"fmt"
	"strconv"

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

// A space reads guest memory without faulting: it returns 0 or the errno of the kernel's nofault copy. Under [Env.Strict] it
// fails with a fault where the kernel's answer depends on what happens to lie there.
type space func(e *Env, addr uint64, p []byte) (uapi.Errno, *vm.Action)

// kernelSpace is copy_from_kernel_nofault.
func kernelSpace(e *Env, addr uint64, p []byte) (uapi.Errno, *vm.Action) {
	if !e.kernelAllowed(addr) {
		return uapi.ERANGE, nil
	}
	if len(p) == 0 {
		return 0, nil // the address is judged all the same
	}
	f := e.Mem.Read(addr, p)
	if f == nil {
		return 0, nil
	}
	return e.nofault(f, addr, p)
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

// nofault turns the fault of a kernel read into the helper's answer. A read that starts inside an object and runs off its end gets
// bytes of something else, freed memory may be there or not.
func (e *Env) nofault(f *mem.Fault, addr uint64, p []byte) (uapi.Errno, *vm.Action) {
	switch {
	case f.Kind == mem.NeverSet:
		return 0, memFault(f)
	case f.Kind == mem.OutOfBounds && f.Region != nil && f.Region.Contains(addr):
		if e.Strict || !e.readPast(f.Region, addr, p) {
			return 0, memFault(f)
		}
		return 0, nil
	case f.Kind == mem.UseAfterFree:
		if e.Strict {
			return 0, memFault(f)
		}
		e.warnf("reads %s, which was freed: -EFAULT here, on a kernel whatever lies there", f.Region.Describe(addr))
	}
	return uapi.EFAULT, nil
}

// readPast fills p with what is left of the object at addr, and after its end with bytes that follow from the seed. It reports whether the object could
// be read.
func (e *Env) readPast(r *mem.Region, addr uint64, p []byte) bool {
	end := r.Base + r.Size
	if r.Count > 0 {
		_, off, ok := r.Elem(addr)
		if !ok {
			return false
		}
		end = addr - off + r.ElemSize
	}
	n := end - addr
	if n > uint64(len(p)) || e.Mem.Read(addr, p[:n]) != nil {
		return false
	}
	e.chance(end, p[n:])
	e.warnPast(r, addr, len(p)-int(n))
	return true
}

// LoadPast is what a load through a typed pointer yields that runs off the end of its object, or is after it.
func (e *Env) LoadPast(r *mem.Region, addr uint64, size int) uint64 {
	var b [8]byte
	if p := b[:size]; !r.Contains(addr) || !e.readPast(r, addr, p) {
		e.chance(addr, p)
		e.warnPast(r, addr, size)
	}
	switch order := e.Mem.ByteOrder(); size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(order.Uint16(b[:]))
	case 4:
		return uint64(order.Uint32(b[:]))
	default:
		return order.Uint64(b[:])
	}
}

// chance fills p with what lies at an address where nothing of this kernel is.
func (e *Env) chance(addr uint64, p []byte) {
	for i := range p {
		at := addr + uint64(i)
		p[i] = byte(e.Kernel.Hash("past an end", strconv.FormatUint(at/8, 16)) >> (8 * (at % 8)))
	}
}

func (e *Env) warnPast(r *mem.Region, addr uint64, n int) {
	what := "1 byte"
	if n != 1 {
		what = strconv.Itoa(n) + " bytes"
	}
	e.warnf("reads %s past the end of %s: what lies there varies", what, r.Describe(addr))
}

func (e *Env) warnf(format string, args ...any) {
	if e.Warn != nil {
		e.Warn(fmt.Sprintf(format, args...))
	}
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
		// nothing after the NUL counts as read.
		n, at := 1, addr+uint64(i)
		if r := e.Mem.Find(at); r != nil && r.View == nil && r.Count == 0 {
			// Not beyond the page: the next one of user memory may be absent.
			n = int(min(r.Base+r.Size-at, uint64(len(buf)-i), pageSize-at%pageSize))
		}
		errno, f := s(e, addr+uint64(i), buf[i:i+n])
		if errno != 0 && i > 0 && !e.Kernel.IsUserAddress(addr) {
			// The string runs off the end of its object: the kernel would continue in the next one.
			if off := e.Mem.Check(addr, uint64(i)+1, false); off != nil && off.Kind == mem.OutOfBounds {
				if e.Strict {
					return 0, 0, memFault(off)
				}
				return e.stringPast(off.Region, addr, buf, i), 0, nil
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

// stringPast ends a string of which buf[:n] were read when its object ended: with what lies after that, up to a NUL.
func (e *Env) stringPast(r *mem.Region, addr uint64, buf []byte, n int) int {
	e.chance(addr+uint64(n), buf[n:])
	end := len(buf)
	if i := bytes.IndexByte(buf[n:], 0); i >= 0 {
		end = n + i + 1
	}
	buf[end-1] = 0
	e.warnPast(r, addr, end-n)
	return end
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
