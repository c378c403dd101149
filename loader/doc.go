// Package loader reads BPF ELF objects and links them for a target kernel.
//
// [Open] turns the bytes of an object into an [Object]: programs by symbol,
// maps of every notation (BTF-defined, legacy, data sections, struct_ops),
// externs, line information, and the ELF relocations sorted to the functions
// they belong to. It needs no target and executes nothing. [Object.Load] then
// makes a [Linked] object for one [Target]: CO-RE relocations, subprograms
// appended, externs resolved, global variables set. What refers to a map, a
// kernel symbol or a callback stays symbolic ([Ref]); whoever runs the program
// binds it to addresses.
//
// The order of the steps and the layout of the result are libbpf's, so that the
// hashes of a program ([LinkedProgram.Final]) are those of the same program
// loaded by libbpf. Where libbpf refuses an object whose meaning is clear
// (legacy maps, calls between sections, static functions outside .text) this
// package continues.
//
// It does not know map behaviour, program contexts, helpers beyond their
// numbers, or addresses. It never verifies: it reports what the kernel would
// refuse for its structure, and, for poisoned instructions, whether constant
// propagation reaches them ([LinkedProgram.PoisonVerdicts]).
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package loader
