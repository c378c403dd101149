package loader

import (
	"github.com/bpfrun/bpfrun/btf"
	"github.com/bpfrun/bpfrun/decode"
)

// Instruction classes and modes (RFC 9669).
const (
	classMask             = 7
	classLDX              = 1
	classST, classSTX     = 2, 3
	classALU, classALU64  = 4, 7
	classJMP, classJMP32  = 5, 6
	opMask, opMov         = 0xf0, 0xb0
	modeMask, modeRegular = 0xe0, 0x60
)

// inMemory reports whether a program reads or writes memory at the address of an undefined symbol.
// To such a program the symbol is a variable; to others it may be a constant, which user space
// writes into the instruction.
func (o *Object) inMemory(e *Extern) bool {
	for _, fn := range o.Functions {
		for _, r := range fn.relocs {
			if r.ext == e && r.insn+2 <= len(fn.Insns) && usesAddress(fn.Insns[r.insn+2:], fn.Insns[r.insn].Dst) {
				return true
			}
		}
	}
	return false
}

// usesAddress looks through instructions, up to a jump, for an access by a register.
func usesAddress(insns []decode.Insn, reg uint8) bool {
	for _, in := range insns {
		memory := in.Code&modeMask >= modeRegular
		switch in.Code & classMask {
		case classLDX:
			if memory && in.Src == reg {
				return true
			}
			if in.Dst == reg {
				return false
			}
		case classST, classSTX:
			if memory && in.Dst == reg {
				return true
			}
		case classALU, classALU64:
			if in.Dst == reg && (in.Code&opMask == opMov || in.Code&classMask == classALU) {
				return false
			}
		default: // a jump, or a load of a constant
			if class := in.Code & classMask; class == classJMP || class == classJMP32 || in.Dst == reg {
				return false
			}
		}
	}
	return false
}

// externHint is what to do about an undefined symbol.
func (o *Object) externHint(e *Extern) string {
	const link = "link the object that defines it (bpftool gen object)"
	switch {
	case o.isFunction(e):
		return link + ", or declare it __ksym if it is a kernel function"
	case o.inMemory(e):
		return link + ", or declare it __ksym or __kconfig; the program accesses it in memory, where --extern writes nothing"
	}
	return link + ", or declare it __ksym or __kconfig; for a constant that user space writes use --extern " + e.Name + "=VALUE"
}

// isFunction reports whether an undefined symbol is a function, by its type.
func (o *Object) isFunction(e *Extern) bool {
	return e.Type != 0 && o.BTF != nil && o.BTF.Kind(e.Type) == btf.KindFuncProto
}
