// Package btf reads, writes, walks and prints the BPF Type Format: the type
// information of kernels, kernel modules and BPF objects.
//
// It knows all kinds from VOID to ENUM64 in both byte orders, raw or inside an
// ELF file or compressed, split BTF on top of a base, .BTF.ext with its three
// parts, distilled bases (.BTF.base), and how bytes of a type look as text. It
// does not know instructions, relocations (package corerelo) or what a loader
// does with a section (package loader).
//
// Start from [Spec], which is one parsed BTF, and [Type], which is one decoded
// type. [Parse], [Load] and [LoadBytes] make a Spec; [Builder] makes the bytes
// of one. A Spec is read-only after it was made and safe for concurrent use.
//
// A kernel has more than 100000 types in 5 MB. Parsing makes one pass that
// records where each type starts; a type is decoded when it is first asked for,
// and names are substrings of the one string table.
//
// The rules come from the kernel's Documentation/bpf/btf.rst, section numbers
// in comments are of that document.
package btf
