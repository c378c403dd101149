// Package decode implements the BPF instruction set: one table (Info, one row per Op) drives
// decoding, encoding, checking, disassembly and assembly.
//
// It covers RFC 9669 with all conformance groups including legacy packet loads, ISA version 4, and
// what Linux has added since: load-acquire and store-release, may_goto, addr_space_cast, gotox, and
// the kinds of LD_IMM64 and call. For each instruction it records the first kernel that accepts it.
// It does not know ELF, BTF, helper prototypes or register types: Check refuses only what the
// kernel refuses because of a program's structure.
//
// Start from Insn and its Op method, Info, and Check. A program counter counts slots of eight
// bytes; LD_IMM64 occupies two, i and i+1.
package decode
