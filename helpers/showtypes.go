package helpers

import (
	"errors"

	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/internal/uapi"
	"github.com/bpfrun/bpfrun/vm"
)

var showHelpers = []row{
	{ID: uapi.FuncSnprintfBtf, Do: snprintfBTF, Note: "as the kernel, by its types"},
	{ID: uapi.FuncSeqPrintfBtf, Do: seqPrintfBTF, Note: "collected as the run's output"},
}

// maxShown limits the text of one call: text that does not fit is generated as well, because its
// length counts.
const maxShown = 64 << 20

// maxErrno is the largest error that an address can encode (IS_ERR of include/linux/err.h); such
// addresses are printed without hashing.
const maxErrno = 4095

// shown is the memory and the text of a helper that prints by type.
type shown struct {
	c     *Call
	put   func(piece string)
	total int
	fault *vm.Action
}

func (s *shown) ReadShown(addr uint64, p []byte) error {
	errno, f := s.c.probe.Kernel(addr, p)
	if f != nil && s.fault == nil {
		s.fault = f
	}
	if f != nil {
		errno = uapi.EFAULT
	}
	if errno != 0 {
		return errno
	}
	return nil
}

func (s *shown) PointerShown(addr uint64) uint64 {
	top := ^uint64(0)
	if s.c.guest.PointerSize() == 4 {
		top = 0xffffffff
	}
	if addr >= top-maxErrno+1 {
		return addr
	}
	return s.c.Kernel.HashPointer(addr)
}

func (s *shown) PutShown(piece string) {
	s.total += len(piece)
	if s.total <= maxShown {
		s.put(piece)
	}
}

// showArgs checks the arguments common to both helpers (bpf_btf_printf_prepare) and reads the
// struct btf_ptr: a pointer, a type id, and unused flags.
func (c *Call) showArgs(ptr, size, flags uint64) (addr uint64, id btf.ID, errno uapi.Errno, f *vm.Action) {
	pointer := c.guest.PointerSize()
	raw, f := c.guest.Read(ptr, size&0xffffffff)
	if f != nil {
		return 0, 0, 0, f
	}
	if btf.ShowFlags(flags)&^btf.ShowAll != 0 || len(raw) != pointer+8 || c.Kernel.BTF() == nil {
		return 0, 0, uapi.EINVAL, nil
	}
	if pointer == 8 {
		addr = c.guest.Order().Uint64(raw)
	} else {
		addr = uint64(c.guest.Order().Uint32(raw))
	}
	n := c.guest.Order().Uint32(raw[pointer:])
	switch {
	case n == 0:
		return 0, 0, uapi.EINVAL, nil
	case n >= uint32(c.Kernel.BTF().NumTypes()):
		return 0, 0, uapi.ENOENT, nil
	}
	return addr, btf.ID(n), 0, nil
}

// show prints an object of the kernel; the result is 0 or an errno.
func (s *shown) show(id btf.ID, addr, flags uint64) (uapi.Errno, *vm.Action) {
	err := s.c.Kernel.BTF().Show(id, addr, btf.ShowFlags(flags), s)
	var errno uapi.Errno
	switch {
	case s.fault != nil:
		return 0, s.fault
	case s.total > maxShown:
		return 0, notSimulated("bpf_snprintf_btf of more than 64 MiB of text")
	case err == nil:
		return 0, nil
	case errors.As(err, &errno):
		return errno, nil
	case errors.Is(err, btf.ErrUnsized):
		return uapi.EINVAL, nil
	}
	return 0, notSimulated(err.Error())
}

// snprintfBTF prints an object by its type into a buffer (bpf_snprintf_btf). The result is the
// length without the NUL, including what did not fit.
func snprintfBTF(c *Call) (uint64, *vm.Action) {
	addr, id, errno, f := c.showArgs(c.Args[2], c.Args[3], c.Args[4])
	if f != nil || errno != 0 {
		return errnoRet(errno), f
	}
	size := c.Args[1] & 0xffffffff
	if f := c.Mem.Check(c.Args[0], size, true); f != nil {
		return 0, memFault(f)
	}
	var text []byte
	printed := false
	s := shown{c: c, put: func(piece string) {
		printed = true
		if room := int(size) - len(text); room > 0 {
			text = append(text, piece[:min(len(piece), room)]...)
		}
	}}
	errno, f = s.show(id, addr, c.Args[4])
	if f != nil {
		return 0, f
	}
	if printed && size > 0 {
		if uint64(len(text)) >= size {
			text = text[:size-1]
		}
		f = c.guest.Write(c.Args[0], append(text, 0))
	}
	if errno != 0 {
		return errnoRet(errno), f
	}
	return uint64(s.total), f
}

// seqPrintfBTF prints an object by its type to an iterator's output (bpf_seq_printf_btf). Text that
// does not fit is not an error of the call.
func seqPrintfBTF(c *Call) (uint64, *vm.Action) {
	addr, id, errno, f := c.showArgs(c.Args[1], c.Args[2], c.Args[3])
	if f != nil || errno != 0 {
		return errnoRet(errno), f
	}
	s := shown{c: c, put: func(piece string) { c.Run.seqPut([]byte(piece)) }}
	errno, f = s.show(id, addr, c.Args[3])
	return errnoRet(errno), f
}
