// Package decode is the BPF instruction set: one table of instructions (Info, one row per Op) from which instructions are
// decoded, encoded, checked, disassembled and assembled.
//
// It knows RFC 9669 with all conformance groups, legacy packet loads included, ISA version 4, and what Linux has added since:
// load-acquire and store-release, may_goto, addr_space_cast, gotox, and the kinds of LD_IMM64 and call. For each it
// knows the first kernel that accepts it. It knows nothing of ELF, BTF, helper prototypes or register types: Check refuses what
// the kernel refuses for the shape of a program alone.
//
// Start at Insn and its Op method, Info, and Check. A program counter counts slots of eight bytes; LD_IMM64 occupies two, at
// i and i+1.
package decode
