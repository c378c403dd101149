// Package loader reads BPF ELF objects and links them for a target kernel.
//
// [Open] parses an object into an [Object]: programs by symbol, maps in every notation
// (BTF-defined, legacy, data sections, struct_ops), externs, line information, and the ELF
// relocations of each function. It needs no target and executes nothing. [Object.Load] then creates
// a [Linked] object for one [Target]: it applies CO-RE relocations, appends subprograms, resolves
// externs and sets global variables. References to maps, kernel symbols and callbacks stay symbolic
// ([Ref]); the code that runs the program binds them to addresses.
//
// The order of the steps and the layout of the result are libbpf's, so that a program's hash
// ([LinkedProgram.Final]) equals that of the same program loaded by libbpf. Where libbpf refuses an
// object whose meaning is clear (legacy maps, calls between sections, static functions outside
// .text) this package continues.
//
// It does not know map behaviour, program contexts, addresses, or anything about helpers but their
// numbers. It is not a verifier: it reports what the kernel would refuse because of the program's
// structure and, for poisoned instructions, whether constant propagation reaches them
// ([LinkedProgram.PoisonVerdicts]).
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package loader
