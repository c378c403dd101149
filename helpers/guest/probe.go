package guest

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/bpfrun/bpfrun/internal/endian"
	"github.com/bpfrun/bpfrun/internal/mem"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

// Prober reads memory that may not be mapped, without faulting. It has no state of its own.
type Prober struct {
	Mem   *mem.Memory
	World World
	// X86 means that the target refuses addresses outside kernel memory
	// (copy_from_kernel_nofault_allowed).
	X86 bool
	// Strict makes reads that the kernel would allow, but whose result is undefined, a fault.
	// Otherwise Warn is called; it may be nil.
	Strict bool
	Warn   func(text string)
	// Overread is called in place of Warn for a read past the end of an object of the kernel; it
	// may be nil.
	Overread func(text string)
	// Overreads reports whether the running program may read past the end of objects of the kernel
	// even with Strict; it may be nil.
	Overreads func() bool
	// Process reads the memory of the process that a program runs for, where no user memory is
	// simulated; it may be nil.
	Process func(addr uint64, p []byte) bool
}

// World is what a Prober needs to know about the simulated kernel.
type World interface {
	IsUserAddress(addr uint64) bool
	// Hash returns a number derived from the seed and the parts.
	Hash(parts ...string) uint64
}

// PageSize returns the page size of the target's user memory in bytes.
const PageSize = 4096

// A Space is a method that reads: [Prober.Kernel], [Prober.User] or [Prober.Any]. It returns 0 or
// the errno of the kernel's nofault copy, and a fault only with Strict.
type Space func(p *Prober, addr uint64, b []byte) (uapi.Errno, *vm.Action)

// Kernel implements copy_from_kernel_nofault.
func (p *Prober) Kernel(addr uint64, b []byte) (uapi.Errno, *vm.Action) {
	if !p.Allowed(addr) {
		return uapi.ERANGE, nil
	}
	if len(b) == 0 {
		return 0, nil // the address is checked all the same
	}
	f := p.Mem.Read(addr, b)
	if f == nil {
		return 0, nil
	}
	return p.nofault(f, addr, b)
}

// UserNofault implements copy_from_user_nofault, which checks the address even if there is nothing
// to copy.
func (p *Prober) UserNofault(addr uint64, b []byte) (uapi.Errno, *vm.Action) {
	if len(b) == 0 && !p.World.IsUserAddress(addr) {
		return uapi.EFAULT, nil
	}
	return p.User(addr, b)
}

// User implements copy_from_user.
func (p *Prober) User(addr uint64, b []byte) (uapi.Errno, *vm.Action) {
	if len(b) == 0 {
		return 0, nil
	}
	if f := p.Mem.ReadUser(addr, b); f != nil && (p.Process == nil || !p.Process(addr, b)) {
		return uapi.EFAULT, nil
	}
	return 0, nil
}

// Any implements bpf_probe_read_compat: user addresses are read as such on architectures that
// separate the address spaces.
func (p *Prober) Any(addr uint64, b []byte) (uapi.Errno, *vm.Action) {
	if p.World.IsUserAddress(addr) {
		return p.User(addr, b)
	}
	return p.Kernel(addr, b)
}

// Allowed implements copy_from_kernel_nofault_allowed, which refuses addresses only on x86
// (arch/x86/mm/maccess.c): user space with its guard page, non-canonical addresses and the vsyscall
// page.
func (p *Prober) Allowed(addr uint64) bool {
	if !p.X86 {
		return true
	}
	if p.Mem.PointerSize() == 4 {
		return !p.World.IsUserAddress(addr)
	}
	const userEnd, vsyscall = 1 << 47, 0xffffffffff600000
	return addr >= userEnd && int64(addr<<16)>>16 == int64(addr) && addr-vsyscall >= PageSize
}

// nofault turns the fault of a kernel read into the helper's result. A read that starts inside an
// object and extends past its end gets other bytes; freed memory may or may not be mapped.
func (p *Prober) nofault(f *mem.Fault, addr uint64, b []byte) (uapi.Errno, *vm.Action) {
	switch {
	case f.Kind == mem.NeverSet:
		return 0, Fault(f)
	case f.Kind == mem.OutOfBounds && f.Region != nil && f.Region.Contains(addr):
		if p.stopsPast(f.Region) || !p.readPast(f.Region, addr, b) {
			return 0, Fault(f)
		}
		return 0, nil
	case f.Kind == mem.UseAfterFree:
		if p.Strict {
			return 0, Fault(f)
		}
		p.warnf("reads %s, which was freed: -EFAULT here, arbitrary bytes on a kernel", f.Region.Describe(addr))
	}
	return uapi.EFAULT, nil
}

// readPast fills b with the rest of the object at addr and, past its end, with bytes derived from
// the seed. It reports whether the object could be read.
func (p *Prober) readPast(r *mem.Region, addr uint64, b []byte) bool {
	end := r.Base + r.Size
	if r.Count > 0 {
		_, off, ok := r.Elem(addr)
		if !ok {
			return false
		}
		end = addr - off + r.ElemSize
	}
	n := end - addr
	if n > uint64(len(b)) || p.Mem.Read(addr, b[:n]) != nil {
		return false
	}
	p.chance(end, b[n:])
	p.warnPast(r, addr, len(b)-int(n))
	return true
}

// LoadPast returns the result of a load through a typed pointer that extends past the end of its
// object, or is after it.
func (p *Prober) LoadPast(r *mem.Region, addr uint64, size int) uint64 {
	var b [8]byte
	if s := b[:size]; !r.Contains(addr) || !p.readPast(r, addr, s) {
		p.chance(addr, s)
		p.warnPast(r, addr, size)
	}
	return endian.Uint(p.Mem.ByteOrder(), b[:size])
}

// chance fills b with arbitrary bytes for an address outside every object.
func (p *Prober) chance(addr uint64, b []byte) {
	var word uint64
	for i := range b {
		at := addr + uint64(i)
		if i == 0 || at%8 == 0 {
			word = p.World.Hash("past an end", strconv.FormatUint(at/8, 16))
		}
		b[i] = byte(word >> (8 * (at % 8)))
	}
}

// stopsPast reports whether a read past the end of an object is a fault.
func (p *Prober) stopsPast(r *mem.Region) bool {
	return p.Strict && (r == nil || r.Kind == mem.UserMem || p.Overreads == nil || !p.Overreads())
}

func (p *Prober) warnPast(r *mem.Region, addr uint64, n int) {
	what := "1 byte"
	if n != 1 {
		what = strconv.Itoa(n) + " bytes"
	}
	text := fmt.Sprintf("reads %s past the end of %s: the bytes there vary", what, r.Describe(addr))
	if r.Kind != mem.UserMem && p.Overread != nil {
		p.Overread(text)
		return
	}
	p.warnf("%s", text)
}

func (p *Prober) warnf(format string, args ...any) {
	if p.Warn != nil {
		p.Warn(fmt.Sprintf(format, args...))
	}
}

// String copies a string with its NUL into buf, truncated to len(buf), and returns the number of
// bytes including the NUL.
func (p *Prober) String(read Space, addr uint64, buf []byte) (int, uapi.Errno, *vm.Action) {
	for i := 0; i < len(buf); {
		// Plain memory is read in pieces, a view (a kernel object) byte by byte, so that nothing
		// after the NUL counts as read.
		n, at := 1, addr+uint64(i)
		if r := p.Mem.Find(at); r != nil && r.View == nil && r.Count == 0 {
			// Not past the page: the next page of user memory may not be mapped.
			n = int(min(r.Base+r.Size-at, uint64(len(buf)-i), PageSize-at%PageSize))
		}
		errno, f := read(p, addr+uint64(i), buf[i:i+n])
		if errno != 0 && i > 0 && !p.World.IsUserAddress(addr) {
			// The string extends past the end of its object: the kernel would continue in the next
			// one.
			if off := p.Mem.Check(addr, uint64(i)+1, false); off != nil && off.Kind == mem.OutOfBounds {
				if p.stopsPast(off.Region) {
					return 0, 0, Fault(off)
				}
				return p.stringPast(off.Region, addr, buf, i), 0, nil
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

// stringPast completes a string whose object ends after buf[:n], with arbitrary bytes up to a NUL.
func (p *Prober) stringPast(r *mem.Region, addr uint64, buf []byte, n int) int {
	p.chance(addr+uint64(n), buf[n:])
	end := len(buf)
	if i := bytes.IndexByte(buf[n:], 0); i >= 0 {
		end = n + i + 1
	}
	buf[end-1] = 0
	p.warnPast(r, addr, end-n)
	return end
}

// Text reads a string of at most len bytes without its NUL; ok is false if it cannot be read.
func (p *Prober) Text(read Space, addr uint64, most int) (text string, ok bool) {
	buf := make([]byte, most)
	n, errno, f := p.String(read, addr, buf)
	if errno != 0 || f != nil {
		return "", false
	}
	return string(buf[:n-1]), true
}
