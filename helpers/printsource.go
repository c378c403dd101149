package helpers

import (
	"fmt"

	"github.com/bpfrun/bpfrun/helpers/guest"
	"github.com/bpfrun/bpfrun/internal/kernel"
)

// printSource provides formats with the memory that their pointers refer to. It implements
// [printf.Source] and has no state of its own.
type printSource struct {
	probe  *guest.Prober
	kernel *kernel.Kernel
	utf8   bool
}

func (s printSource) KernelString(addr uint64, most int) (string, bool) {
	return s.probe.Text((*guest.Prober).Kernel, addr, most)
}

func (s printSource) UserString(addr uint64, most int) (string, bool) {
	return s.probe.Text((*guest.Prober).User, addr, most)
}

func (s printSource) KernelBytes(addr uint64, b []byte) bool {
	errno, f := s.probe.Kernel(addr, b)
	return errno == 0 && f == nil
}

func (s printSource) Symbol(addr uint64, offset bool) string {
	name, off, ok := s.kernel.SymbolAt(addr)
	switch {
	case !ok:
		return fmt.Sprintf("%#x", addr)
	case offset:
		return fmt.Sprintf("%s+%#x", name, off)
	}
	return name
}

func (s printSource) HashPointer(addr uint64) uint64 { return s.kernel.HashPointer(addr) }

func (s printSource) TakesUTF8() bool { return s.utf8 }

func (s printSource) PointerSize() int { return s.probe.Mem.PointerSize() }
