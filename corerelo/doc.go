// Package corerelo resolves and applies the BPF CO-RE ("compile once, run everywhere") relocations
// of an object against the BTF of a target kernel.
//
// It covers the records of .BTF.ext, access strings, the search for candidates with flavors,
// matching of a local type against a target type, the value of each of the 13 relocation kinds, and
// writing a value into an instruction. The reference is the newest libbpf. Intentional differences
// are documented where they occur: the byte order of bitfield shifts, unsigned enumerators of 2^31
// and more, and a limit on the work that hostile input can cause.
//
// It does not know ELF, programs or autoloading. The loader must pass records in the order of
// .BTF.ext, because the order matters (see Resolver).
//
// Start from Resolver, created per object and target, and its result, Relocation. A relocation
// consists of three values: the local Spec (what the program refers to), the target Spec (its
// counterpart in the kernel) and the Result (the numbers before and after). Relocation.Apply writes
// the Result into instructions.
package corerelo
