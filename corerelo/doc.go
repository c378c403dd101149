// Package corerelo resolves and applies BPF CO-RE relocations ("compile once,
// run everywhere") of an object against the BTF of a target kernel.
//
// It knows the records of .BTF.ext, access strings, the candidate search with
// flavors, the matching of one local type against one target type, the values
// each of the 13 relocation kinds asks for, and how a value is written into an
// instruction. The reference is the newest libbpf; where this package differs
// on purpose it says so at the place (byte order of bitfield shifts, unsigned
// enumerators of 2^31 and more, and a bound on work for hostile input).
//
// It does not know ELF, programs, autoloading or the order of records: the
// loader feeds records in the order of .BTF.ext, because the order matters (see
// Resolver).
//
// Start from Resolver, made per object and target, and Relocation, its answer.
// A relocation is three explicit values that can be looked at apart: the local
// Spec (what the program means), the target Spec (what that is in the kernel)
// and the Result (the number before and after). Relocation.Apply writes the
// Result into instructions.
package corerelo
