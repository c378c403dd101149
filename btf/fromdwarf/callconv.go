package fromdwarf

import "debug/elf"

// convention is the calling convention of a machine, as far as pahole considers it.
type convention struct {
	// slots is the number of parameters passed in registers; 0 if unknown.
	slots int
	// regs are the DWARF numbers of these registers in order; empty if they are not compared.
	regs []int16
	// split: structs of up to two registers' size are passed in two registers; otherwise in memory.
	split bool
}

// conventionOf returns the convention of a machine. Register numbers are those of the ABI's DWARF
// mapping.
func conventionOf(m elf.Machine) convention {
	switch m {
	case elf.EM_X86_64: // rdi, rsi, rdx, rcx, r8, r9 (System V ABI, AMD64 supplement, section 3.2.3)
		return convention{6, []int16{5, 4, 1, 2, 8, 9}, true}
	case elf.EM_AARCH64, elf.EM_ARM: // x0 to x7 (AAPCS64 section 6.4)
		return convention{8, []int16{0, 1, 2, 3, 4, 5, 6, 7}, true}
	case elf.EM_S390: // r2 to r6 (s390x ELF ABI section 1.3.3)
		return convention{5, []int16{2, 3, 4, 5, 6}, false}
	case elf.EM_SPARC, elf.EM_SPARCV9:
		return convention{6, nil, true}
	case elf.EM_ARC_COMPACT, elf.EM_MIPS, elf.EM_PPC, elf.EM_PPC64, elf.EM_RISCV:
		return convention{8, nil, true}
	}
	return convention{split: true}
}

// reg returns the register of a slot, or noReg if it has none or it is not known.
func (c *convention) reg(slot int) int16 {
	if slot < c.slots && slot < len(c.regs) {
		return c.regs[slot]
	}
	return noReg
}
