// Package btf reads, writes, walks and prints the BPF Type Format: the type
// information of kernels, kernel modules and BPF objects.
//
// It handles all kinds from VOID to ENUM64 in both byte orders, raw or in an ELF file, split BTF on
// top of a base, all three parts of .BTF.ext, distilled bases (.BTF.base), and printing bytes
// according to their type. It does not handle instructions, relocations (package corerelo) or what
// a loader does with a section (package loader).
//
// Start from [Spec], one parsed BTF, and [Type], one decoded type. [Parse], [Load] and [LoadBytes]
// return a Spec; [Builder] creates new BTF. A Spec is immutable and safe for concurrent use.
//
// A kernel has more than 100000 types in 5 MB. Parsing makes one pass that records where each type
// starts. A type is decoded on first use, and names are substrings of the one string table.
//
// The rules come from the kernel's Documentation/bpf/btf.rst; section numbers in comments refer to
// it.
package btf
